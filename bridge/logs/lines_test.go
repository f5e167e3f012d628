package logs

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestPieces(t *testing.T) {
	type piece struct {
		text  string
		ended bool
	}
	tests := []struct {
		in   string
		want []piece
	}{
		{"", nil},
		{"a", []piece{{"a", false}}},
		{"a\n", []piece{{"a\n", true}}},
		{"\n\nb", []piece{{"\n", true}, {"\n", true}, {"b", false}}},
		{"10%\r20%\rdone\n", []piece{{"10%\r20%\rdone\n", true}}},
	}
	for _, test := range tests {
		var got []piece
		for text, ended := range pieces([]byte(test.in)) {
			got = append(got, piece{string(text), ended})
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(piece{})); diff != "" {
			t.Errorf("pieces(%q) (-want +got):\n%s", test.in, diff)
		}
	}
}

func TestNoteIsOneLine(t *testing.T) {
	got := noteLine("0/2 nodes are available:\n\t2 Insufficient cpu. ")
	if want := "[runner] 0/2 nodes are available: 2 Insufficient cpu.\n"; got != want {
		t.Errorf("noteLine = %q, want %q", got, want)
	}
	got = noteLine(strings.Repeat("ä", maxNote))
	if want := "[runner] " + strings.Repeat("ä", maxNote/2) + "…\n"; got != want {
		t.Errorf("noteLine of a long text = %q, want %q", got, want)
	}
}

// storeLines writes text, cut into pieces of at most n bytes, to a store.
func storeLines(limit Limit, text string, n int) []*Line {
	s := newStore(limit)
	for line, ended := range pieces([]byte(text)) {
		for len(line) > n {
			s.write(line[:n], 0, false)
			line = line[n:]
		}
		s.write(line, 0, ended)
	}
	return s.take()
}

func texts(lines []*Line) []string {
	all := []string{}
	for _, line := range lines {
		all = append(all, line.Message)
	}
	return all
}

func TestLinesKeepHeadAndTailAboveTheLimit(t *testing.T) {
	note := func(size, counts, limit string) string {
		return "[runner] " + size + " (" + counts + ") left out here: the log is above the limit of " + limit + " lines\n"
	}
	tests := []struct {
		name  string
		limit Limit
		in    string
		want  []string
	}{
		{"nothing", Limit{}, "", []string{}},
		{"far below", Limit{}, "a\nb\nc", []string{"a\n", "b\n", "c"}},
		{"exactly at the limit", Limit{Bytes: 8}, "a\nb\nc\nd\n", []string{"a\n", "b\n", "c\n", "d\n"}},
		{"at the limit in one line", Limit{Bytes: 8}, "abcdefg\n", []string{"abcdefg\n"}},
		{"at the limit with a line across", Limit{Bytes: 8}, "a\nbcde\n\n", []string{"a\n", "bcde\n", "\n"}},
		{"above", Limit{Bytes: 8}, "a\nb\nc\nd\ne\nf\n", []string{
			"a\n", "b\n", note("4B", "4 bytes, 2 lines", "8B and 200000"), "e\n", "f\n"}},
		{"a line that is cut in the head", Limit{Bytes: 8}, "a\nbcd\ne\nf\ng\nh\n", []string{
			"a\n", "bc…\n", note("6B", "6 bytes, 3 lines", "8B and 200000"), "g\n", "h\n"}},
		{"a line that is cut in the tail", Limit{Bytes: 8}, "a\nb\nc\nd\nefg\n", []string{
			"a\n", "b\n", note("4B", "4 bytes, 2 lines", "8B and 200000"), "efg\n"}},
		{"a line that is cut at both ends", Limit{Bytes: 8}, "abcdefghijklm\n", []string{
			"abcd…\n", note("6B", "6 bytes, 0 lines", "8B and 200000"), "…klm\n"}},
		{"a long line at the end", Limit{Bytes: 8}, "a\nb\nc\nd\nefghijkl\n", []string{
			"a\n", "b\n", note("9B", "9 bytes, 2 lines", "8B and 200000"), "…jkl\n"}},
		{"too many lines", Limit{Lines: 4}, "\n\n\nd\ne\nf\n", []string{
			"\n", "\n", note("3B", "3 bytes, 2 lines", "5MiB and 4"), "e\n", "f\n"}},
		{"characters are not cut", Limit{Bytes: 8}, "äöüäöüäöü\n", []string{
			"äö…\n", note("11B", "11 bytes, 0 lines", "8B and 200000"), "…ü\n"}},
		{"no UTF-8", Limit{}, "a\xff\xfeb\x00\n\xc3\n", []string{"a\uFFFDb\x00\n", "\uFFFD\n"}},
		{"a progress bar", Limit{}, "10%\r20%\r\x1b[2Kdone\n", []string{"10%\r20%\r\x1b[2Kdone\n"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 100} {
				lines := storeLines(test.limit, test.in, n)
				if diff := cmp.Diff(test.want, texts(lines)); diff != "" {
					t.Errorf("in pieces of %d: (-want +got):\n%s", n, diff)
				}
				for i, line := range lines {
					if line.Number != i {
						t.Errorf("line %d has position %d", i, line.Number)
					}
				}
			}
		})
	}
}

// TestLinesHaveNoLimitOfTheirOwn has lines of 1 MB and of 8 MiB, which is above the limit for the log.
func TestLinesHaveNoLimitOfTheirOwn(t *testing.T) {
	long := strings.Repeat("x", 1e6) + "\n"
	if got := texts(storeLines(Limit{}, "a\n"+long+"b\n", pieceSize)); !cmp.Equal(got, []string{"a\n", long, "b\n"}) {
		t.Errorf("a line of 1 MB came as %d lines", len(got))
	}
	got := texts(storeLines(Limit{}, "a\n"+strings.Repeat("x", 8<<20)+"\nb\n", pieceSize))
	if len(got) != 5 || !strings.Contains(got[2], "left out") {
		t.Fatalf("a line of 8 MiB came as %d lines", len(got))
	}
	if size := len(got[1]) + len(got[3]); size < 5<<20-100 || size > 5<<20+100 {
		t.Errorf("%d bytes are kept of a line of 8 MiB, want about 5 MiB", size)
	}
}

// FuzzStore compares a store with the text that it was given.
func FuzzStore(f *testing.F) {
	f.Add("a\nb\nc\nd\ne\n", 6, 4, 2)
	f.Add("abcdefghijklmnop", 6, 4, 3)
	f.Add("a\xffb\xc3", 100, 100, 1)
	f.Fuzz(func(t *testing.T, text string, bytes, count, n int) {
		if strings.Contains(text, notePrefix) {
			t.Skip()
		}
		bytes, count, n = abs(bytes)%64+1, abs(count)%32+2, abs(n)%9+1
		lines := storeLines(Limit{Bytes: bytes, Lines: count}, text, n)
		if _, err := json.Marshal(lines); err != nil {
			t.Fatal(err)
		}
		cut, size := false, 0
		for i, line := range lines {
			if line.Number != i {
				t.Errorf("line %d has position %d", i, line.Number)
			}
			if !utf8.ValidString(line.Message) || line.Message == "" {
				t.Errorf("line %d is %q", i, line.Message)
			}
			if strings.HasPrefix(line.Message, notePrefix) {
				cut = true
				continue
			}
			size += len(line.Message)
		}
		if len(lines) > count+2 {
			t.Errorf("%d lines, want at most %d, one more for a line with a cut in it, and the note", len(lines), count)
		}
		if all := joinedRuns(text); len(text) <= bytes && len(slices.Collect(strings.Lines(text))) <= count {
			if got := strings.Join(texts(lines), ""); got != all {
				t.Errorf("%q, which is within the limit, came as %q", all, got)
			}
		} else if !cut {
			t.Errorf("%q, which is above the limit, came as %q without a note", text, texts(lines))
		}
		if size > 3*bytes+8 { // Each byte may become three of U+FFFD; and a cut has an ellipsis.
			t.Errorf("%d bytes are kept of a text, want at most %d", size, bytes)
		}
	})
}

// joinedRuns is text with what is no UTF-8 replaced, line by line.
func joinedRuns(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.ToValidUTF8(line, "\uFFFD"))
	}
	return b.String()
}

func abs(n int) int {
	return n & int(^uint(0)>>1)
}
