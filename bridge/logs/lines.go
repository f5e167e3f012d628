package logs

import (
	"bytes"
	"fmt"
	"iter"
	"strings"

	api "github.com/drone/drone-go/drone"
)

// Line is one line of a Drone log: its position from 0, its text with the newline that ended it, and its time in whole
// seconds since the step started.
type Line = api.Line

// pieces cuts bytes behind each newline. The second value tells whether a newline ended the piece; only the last piece
// may go without.
func pieces(b []byte) iter.Seq2[[]byte, bool] {
	return func(yield func([]byte, bool) bool) {
		for len(b) > 0 {
			n := bytes.IndexByte(b, '\n') + 1
			ended := n > 0
			if !ended {
				n = len(b)
			}
			if !yield(b[:n], ended) {
				return
			}
			b = b[n:]
		}
	}
}

// cutRune stands for bytes that are no UTF-8, and so for what a cut has left of a character.
const cutRune = "\uFFFD"

// printable is text as a JSON string can carry it: each run of bytes that is no UTF-8 becomes one U+FFFD.
func printable(text string) string {
	return strings.ToValidUTF8(text, cutRune)
}

// notePrefix begins the runner's own lines in a step's log.
const notePrefix = "[runner] "

// maxNote bounds the bytes of a note.
const maxNote = 1000

// noteLine is the text of one of the runner's own lines. Whatever the note is, it is one line and not long.
func noteLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxNote {
		text = strings.ToValidUTF8(text[:maxNote], "") + "…"
	}
	return notePrefix + text + "\n"
}

// lister makes Drone's lines from lines whose texts follow one another in one string, which they share.
type lister struct {
	text  string
	raw   string // the last line's text, as it was
	next  int    // number of the next line
	all   []Line
	lines []*Line
}

// newLister makes a lister for about n lines.
func newLister(text string, n int) *lister {
	return &lister{text: text, all: make([]Line, 0, n), lines: make([]*Line, 0, n)}
}

// add appends the lines whose texts come next. A line whose first bytes are left out begins with an ellipsis.
func (l *lister) add(lines ...line) {
	for _, line := range lines {
		l.raw, l.text = l.text[:line.size], l.text[line.size:]
		text := printable(l.raw)
		if line.cut {
			text = "…" + strings.TrimPrefix(text, cutRune)
		}
		l.append(text, int64(line.sec))
	}
}

// extendLast appends the text that comes next to the last line.
func (l *lister) extendLast(line line) {
	last := l.lines[len(l.lines)-1]
	last.Message = printable(l.raw + l.text[:line.size])
	l.text = l.text[line.size:]
}

// cutLast ends the last line with an ellipsis if nothing else ended it, since its last bytes are left out.
func (l *lister) cutLast() {
	if n := len(l.lines); n > 0 && !strings.HasSuffix(l.lines[n-1].Message, "\n") {
		l.lines[n-1].Message = strings.TrimSuffix(l.lines[n-1].Message, cutRune) + "…\n"
	}
}

// note appends one of the runner's own lines, at the time of the line before it.
func (l *lister) note(format string, args ...any) {
	var sec int64
	if n := len(l.lines); n > 0 {
		sec = l.lines[n-1].Timestamp
	}
	l.append(noteLine(fmt.Sprintf(format, args...)), sec)
}

func (l *lister) append(text string, sec int64) {
	if len(l.all) == cap(l.all) {
		l.all = make([]Line, 0, 16) // The lines so far stay where they are; l.lines points to them.
	}
	l.all = append(l.all, Line{Number: l.next, Message: text, Timestamp: sec})
	l.lines = append(l.lines, &l.all[len(l.all)-1])
	l.next++
}
