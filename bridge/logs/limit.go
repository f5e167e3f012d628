package logs

import (
	"strings"

	"github.com/docker/go-units"
)

// Limit bounds what is kept of a step's log. The first and the last half are kept, with a note between them; what is in
// the middle is left out. Drone's own runners keep the last 5 MiB.
type Limit struct {
	// Bytes of text; 0 stands for 5 MiB.
	Bytes int
	// Lines; 0 stands for 200,000. Drone stores a line as some 40 bytes of JSON beside its text, in a column of 16 MiB
	// on MySQL, so a log of nearly empty lines reaches the end of that column before it reaches 5 MiB of text.
	Lines int
}

func (l Limit) withDefaults() Limit {
	if l.Bytes <= 0 {
		l.Bytes = 5 << 20
	}
	if l.Lines <= 0 {
		l.Lines = 200_000
	}
	return l
}

// store keeps a log within its limit: the head as it came, then the tail. Memory follows the size of the log.
type store struct {
	limit Limit
	head  *strings.Builder
	lines []line // of head
	full  bool   // the head is full, the rest goes to the tail
	split bool   // the first line of the tail began in the head
	tail  tail
}

func newStore(limit Limit) *store {
	return &store{limit: limit.withDefaults(), head: new(strings.Builder)}
}

// write adds a piece of a line; ended tells that the line ends with it.
func (s *store) write(piece []byte, sec int64, ended bool) {
	if !s.full {
		piece = s.writeHead(piece, sec, ended)
		if len(piece) == 0 {
			return
		}
	}
	s.tail.write(piece, sec, ended)
}

// writeHead adds as much of the piece as fits into the head, and returns the rest.
func (s *store) writeHead(piece []byte, sec int64, ended bool) []byte {
	growing := len(s.lines) > 0 && !s.lines[len(s.lines)-1].ended
	room := s.limit.Bytes/2 - s.head.Len()
	if growing || (len(s.lines) < s.limit.Lines/2 && room > 0) {
		if !growing {
			s.lines = append(s.lines, line{sec: int32(sec)})
		}
		n := min(len(piece), room)
		last := &s.lines[len(s.lines)-1]
		s.growHead(n)
		s.head.Write(piece[:n])
		last.size += int32(n)
		if piece = piece[n:]; len(piece) == 0 {
			last.ended = ended
			return nil
		}
		s.split = true
	}
	s.full = true
	lines := s.limit.Lines - len(s.lines)
	if s.split {
		lines++ // The tail's first line is counted already.
	}
	s.tail.bound(s.limit.Bytes-s.head.Len(), lines)
	return piece
}

// growHead makes room for n bytes more, and no more room than the head may take. A builder by itself would.
func (s *store) growHead(n int) {
	if need := s.head.Len() + n; need > s.head.Cap() {
		grown := new(strings.Builder)
		grown.Grow(min(max(2*need, 512), max(s.limit.Bytes/2, need)))
		grown.WriteString(s.head.String())
		s.head = grown
	}
}

// take returns the log as Drone has it, and empties the store. Lines are numbered from 0 without gaps.
func (s *store) take() []*Line {
	limit, head, headLines, lost := s.limit, s.head.String(), s.lines, s.tail.lost
	var tail strings.Builder
	tail.Grow(s.tail.text.size)
	tailLines := s.tail.take(s.tail.lines.size, s.tail.text.size, nil, &tail)
	split := s.split
	*s = *newStore(limit)

	l := newLister(head, len(headLines)+len(tailLines)+1)
	l.add(headLines...)
	l.text = tail.String()
	switch {
	case lost.bytes > 0:
		l.cutLast()
		l.note("%s (%d bytes, %d lines) left out here: the log is above the limit of %s and %d lines",
			units.BytesSize(float64(lost.bytes)), lost.bytes, lost.lines, units.BytesSize(float64(limit.Bytes)), limit.Lines)
	case split:
		l.extendLast(tailLines[0])
		tailLines = tailLines[1:]
	}
	l.add(tailLines...)
	return l.lines
}
