package logs

import (
	"slices"
	"time"
)

// mark tells one line of a container's log from the others: its timestamp in nanoseconds and a hash of its beginning.
type mark struct {
	at  int64
	sum uint64
}

// history remembers which lines of a log have been read, so that after a broken stream no line comes twice and none is
// left out. Kubernetes can start a log at a whole second only, many lines may carry one timestamp, and lines of the two
// output streams may be written in another order than they were stamped: so the marks of the last lines are kept, and
// for what was before them the latest timestamp and how many lines carry it.
type history struct {
	lines  int64
	last   mark
	recent []mark // a ring once it is full
	next   int    // where in the ring the next mark goes
	base   int64  // the latest timestamp that is not in recent any more
	atBase int    // number of lines with that timestamp that are not in recent

	newest  int64 // the latest timestamp since the node's clock was set back, if it ever was
	highest int64 // the latest timestamp of all
	setBack bool  // the node's clock was set back: timestamps tell little from there on
	// puzzled tells that the last stream brought a line that may not be the next one of the log. Either the node's
	// clock was set back, or the kubelet has begun to read a file again, as it does when it has fallen behind by two
	// rotations. Another stream tells.
	puzzled bool
}

const (
	// recentLines is the number of lines whose marks are kept.
	recentLines = 1024
	// disorder is how far timestamps may go back from one line to the next without being suspect.
	disorder = time.Second
)

// add remembers the line that comes next in the log.
func (h *history) add(m mark) {
	switch {
	case h.lines == 0:
		h.newest, h.highest = m.at, m.at
	case h.goesBack(m):
		h.setBack, h.newest = true, m.at
	}
	h.lines++
	h.last = m
	h.newest, h.highest = max(h.newest, m.at), max(h.highest, m.at)
	if len(h.recent) < recentLines {
		h.recent = append(h.recent, m)
		return
	}
	old := h.recent[h.next]
	h.recent[h.next] = m
	h.next = (h.next + 1) % recentLines
	if old.at > h.base {
		h.base, h.atBase = old.at, 0
	}
	if old.at == h.base {
		h.atBase++
	}
}

// goesBack tells whether a line's timestamp is too far before that of an earlier line.
func (h *history) goesBack(m mark) bool { return h.lines > 0 && m.at < h.newest-int64(disorder) }

// knows tells whether a line that should be new is not. A line with the latest timestamp may be repeated by right.
func (h *history) knows(m mark) bool {
	return (h.setBack || m.at < h.newest) && slices.Contains(h.recent, m)
}

// since is where to start reading so that no new line is left out; the zero time for the start of the log. A kubelet
// that is told a time hides earlier lines, even those that it gets later.
func (h *history) since() time.Time {
	if h.lines == 0 || h.setBack || h.puzzled {
		return time.Time{}
	}
	return time.Unix(0, h.newest).Add(-disorder).Truncate(time.Second).UTC()
}

// seen is a filter for the lines of a stream that starts at since.
func (h *history) seen() *seen {
	times := make(map[mark]int, len(h.recent))
	for _, m := range h.recent {
		times[m]++
	}
	if h.setBack || h.puzzled {
		return &seen{upTo: h.last, times: times[h.last], base: h.highest + 1}
	}
	return &seen{marks: times, base: h.base, atBase: h.atBase}
}

// seen recognises the lines of a log that had been read before. They are the first of the stream: from the first new
// line on, everything is new.
type seen struct {
	base int64 // all lines before this timestamp had been read, …

	marks  map[mark]int // … these lines, so many times each, …
	atBase int          // … and so many of this timestamp

	upTo  mark // everything up to this line …
	times int  // … when it has come so many times

	first mark  // if the stream starts with this line …
	lines int64 // … then so many lines had been read

	started, done bool
	// rotated tells that the stream did not start with first: the node has a newer file.
	rotated bool
	// matched tells that some line of the stream was known.
	matched bool
}

// has tells whether a line had been read. It must be asked for each line once, in order.
func (s *seen) has(m mark) bool {
	if s.done {
		return false
	}
	if !s.started && s.lines > 0 && m != s.first {
		s.lines, s.rotated = 0, true
	}
	s.started = true
	switch {
	case s.lines > 0:
		s.lines--
		s.done = s.lines == 0
	case s.times > 0 && m == s.upTo:
		s.times--
		s.done = s.times == 0
	case s.times > 0 && m.at < s.base:
		return true // It may be known, or not; the one that tells is still to come.
	case s.marks[m] > 0:
		s.marks[m]--
	case m.at == s.base && s.atBase > 0:
		s.atBase--
	case m.at < s.base:
	default:
		s.done, s.marks = true, nil
		return false
	}
	s.matched = true
	return true
}
