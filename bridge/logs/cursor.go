package logs

import (
	"math"
	"time"
)

// Cursor tells how far the live view of a step's log has come. It is small and has a JSON form, to be kept where
// another process finds it when this one dies. With it that process shows no line live twice; the lines themselves it
// reads again. A cursor that is a little old costs some lines shown twice, and only live.
type Cursor struct {
	// Container is the number, from 0, of the container that is being followed: a step that is run again has several.
	Container int `json:"container,omitempty"`
	// First and Last are the earliest and the latest timestamp of that container's lines so far, AtLast the number of
	// lines that carry the latter.
	First  time.Time `json:"first,omitzero"`
	Last   time.Time `json:"last,omitzero"`
	AtLast int       `json:"atLast,omitempty"`
	// Lines and Bytes of the container so far, as it wrote them.
	Lines int64 `json:"lines,omitempty"`
	Bytes int64 `json:"bytes,omitempty"`
	// Next is the position of the next live line.
	Next int `json:"next,omitempty"`
	// Notes are the runner's own lines so far.
	Notes []Note `json:"notes,omitempty"`
}

// Note is one of the runner's own lines in a step's log.
type Note struct {
	Text string `json:"text"`
	Sec  int64  `json:"sec,omitempty"` // seconds since the step started
	// Container and After tell its place: behind so many lines of that container.
	Container int   `json:"container,omitempty"`
	After     int64 `json:"after,omitempty"`
}

// maxNotes bounds the notes in a cursor, by the bytes of their texts. The first ones are forgotten first.
const maxNotes = 2 << 10

// line counts a line of the container.
func (c *Cursor) line(at time.Time) {
	if c.Lines == 0 {
		c.First = at
	}
	c.Lines++
	if at.After(c.Last) {
		c.Last, c.AtLast = at, 0
	}
	if at.Equal(c.Last) {
		c.AtLast++
	}
}

// note adds one of the runner's own lines. Copies of the cursor do not change.
func (c *Cursor) note(n Note) {
	n.Container, n.After = c.Container, c.Lines
	kept, size := c.Notes, len(n.Text)
	for i := len(kept); i > 0; i-- {
		if size += len(kept[i-1].Text); size > maxNotes {
			kept = kept[i:]
			break
		}
	}
	c.Notes = append(kept[:len(kept):len(kept)], n)
}

// nextContainer begins with another container.
func (c *Cursor) nextContainer() {
	*c = Cursor{Container: c.Container + 1, Next: c.Next, Notes: c.Notes}
}

// seen recognises the lines of a container, read from its start, that the cursor covers: by their number if the start
// of the log is still there, by their timestamps if the node has rotated it.
func (c *Cursor) seen(container int) *seen {
	switch {
	case container > c.Container || (container == c.Container && c.Lines == 0):
		return &seen{done: true}
	case container < c.Container:
		return &seen{base: math.MaxInt64} // All of them.
	}
	return &seen{first: mark{at: c.First.UnixNano()}, lines: c.Lines, base: c.Last.UnixNano(), atBase: c.AtLast}
}
