package logs

import "strings"

// tail holds the last part of a text in lines, within bounds of bytes and of lines: what is above them is left out at
// the front. Memory follows what it holds.
type tail struct {
	maxBytes, maxLines int

	text  ring[byte]
	lines ring[line] // the last one may still be growing
	lost  lost
}

// line is one line of a text that is kept elsewhere.
type line struct {
	size  int32 // bytes that are held of it
	sec   int32 // seconds since the step started, when it began
	ended bool  // its newline has come
	cut   bool  // its first bytes are left out
}

// lost counts what was left out.
type lost struct {
	bytes int64
	lines int64 // lines of which nothing is held any more
}

// bound sets the bounds, which are no promise to the lines that are held already: it takes a write to keep them.
func (t *tail) bound(bytes, lines int) {
	t.maxBytes, t.maxLines = bytes, max(lines, 1)
	t.text.most, t.lines.most = bytes, lines+1
}

// write adds a piece of a line; ended tells that the line ends with it.
func (t *tail) write(piece []byte, sec int64, ended bool) {
	if n := t.lines.size; n == 0 || t.lines.at(n-1).ended {
		t.lines.push(line{sec: int32(sec)})
	}
	if over := len(piece) - t.maxBytes; over > 0 {
		t.lost.bytes += int64(over)
		t.lines.at(t.lines.size - 1).cut = true
		piece = piece[over:]
	}
	for over := t.text.size + len(piece) - t.maxBytes; over > 0; over = t.text.size + len(piece) - t.maxBytes {
		t.drop(over)
	}
	for t.lines.size > t.maxLines {
		t.drop(int(t.lines.at(0).size))
	}
	t.text.push(piece...)
	last := t.lines.at(t.lines.size - 1)
	last.size += int32(len(piece))
	last.ended = ended
}

// drop leaves out up to n bytes of the first line, and the line itself once nothing of it is left.
func (t *tail) drop(n int) {
	first := t.lines.at(0)
	n = min(n, int(first.size))
	t.text.drop(n)
	t.lost.bytes += int64(n)
	first.size -= int32(n)
	first.cut = first.cut || n > 0
	if first.size == 0 && t.lines.size > 1 {
		t.lost.lines++
		t.lines.drop(1)
	}
}

// ended returns the number of lines that have ended, and the size of their texts.
func (t *tail) ended() (lines, size int) {
	lines, size = t.lines.size, t.text.size
	if last := t.lines.size - 1; last >= 0 && !t.lines.at(last).ended {
		lines--
		size -= int(t.lines.at(last).size)
	}
	return lines, size
}

// take removes the first lines, whose texts are of that size in all. It appends the lines to a slice, and their texts
// to b.
func (t *tail) take(lines, size int, to []line, b *strings.Builder) []line {
	first, rest := t.text.first(size)
	b.Write(first)
	b.Write(rest)
	t.text.drop(size)
	firstLines, restLines := t.lines.first(lines)
	to = append(append(to, firstLines...), restLines...)
	t.lines.drop(lines)
	return to
}
