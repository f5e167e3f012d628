package logs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"time"
)

// pieceSize is the length above which a line is delivered in pieces. Container runtimes cut lines at 16 KiB; the
// kubelet joins them again (since Kubernetes 1.26 with one timestamp, that of the first part), so lines of any length
// arrive.
const pieceSize = 16 << 10

// follower delivers the lines of one log from the streams that are read one after the other.
type follower struct {
	deliver func(Record)
	history history
	in      *bufio.Reader
	broken  bool // the last stream ended with an error

	// long is a line that was delivered in part when its stream broke, or is being delivered in pieces.
	long *longLine
	// rest is the beginning of a line whose end the last stream did not bring. It comes again if there is a next
	// stream.
	rest *Record
}

// longLine is a line that is delivered in pieces.
type longLine struct {
	mark mark
	time time.Time
	sent int // bytes that were delivered
}

var hashSeed = maphash.MakeSeed()

// errKubelet tells that a stream had words of the kubelet in it, which came instead of the rest of the log.
var errKubelet = errors.New("the kubelet broke off")

// outcome tells what a stream has brought.
type outcome struct {
	opened   bool // it could be opened
	progress bool // something was new
	// caughtUp tells that it came as far as the streams before it. When nothing else is known about why it ended, this
	// and no progress tell that the log has no more: an API server ends its answer as if all was well when it loses
	// the kubelet in the middle.
	caughtUp bool
}

// errPuzzled tells that a stream went back in time, and that nothing was delivered from there on.
var errPuzzled = errors.New("timestamps go back")

// errCut tells that a stream ended among lines that are known, as if that were the end of the log.
var errCut = errors.New("the stream was cut short")

// read delivers what is new in a stream. The error is nil if the stream came to its end.
func (f *follower) read(stream io.Reader) (result outcome, err error) {
	if f.in == nil {
		f.in = bufio.NewReaderSize(stream, pieceSize)
	} else {
		f.in.Reset(stream)
	}
	s := reading{follower: f, resumed: !f.history.since().IsZero(), seen: f.history.seen()}
	f.history.puzzled = false
	// A kubelet may end a stream where it rotates the log; then the new file begins with the next line, and all is
	// well.
	s.gap = f.broken && f.history.lines > 0
	for err == nil {
		var piece []byte
		piece, err = f.in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		s.piece(piece, err)
		if f.history.puzzled {
			err = errPuzzled
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err == nil && s.words != "" {
		err = fmt.Errorf("%w: %s", errKubelet, s.words)
	}
	caughtUp := s.caughtUp || (f.history.lines == 0 && s.lines == 0)
	if err == nil && s.seen.matched && !caughtUp {
		err = errCut
	}
	f.broken = err != nil
	return outcome{opened: true, progress: s.progress, caughtUp: caughtUp}, err
}

// finish delivers the end of a line that no newline ended. The log is over.
func (f *follower) finish() {
	switch {
	case f.rest != nil:
		f.deliver(*f.rest)
	case f.long != nil:
		f.deliver(Record{Time: f.long.time, End: true})
	}
	f.rest, f.long = nil, nil
}

// reading is the reading of one stream.
type reading struct {
	*follower
	seen      *seen
	resumed   bool   // the stream begins in the middle of the log
	lines     int    // lines that have begun
	inLine    bool   // the last piece did not end its line
	skip      bool   // the current line is not to be delivered
	isLast    bool   // it is the last one that is known
	afterLast bool   // the current line was, which is the next one's to know
	current   mark   // the current line's
	known     int    // bytes of the current line that are not to be delivered again
	words     string // what the kubelet said instead of a line
	gap       bool   // lines may be missing before the first new one, unless a known line comes first
	progress  bool
	caughtUp  bool // the last line that is known, or what is known of it, has come
}

// piece takes what the stream brought up to the next newline, or as much of it as the buffer takes. An error tells that
// the stream ended behind it, without a newline.
func (s *reading) piece(piece []byte, err error) {
	if len(piece) == 0 {
		return
	}
	starts, ends := !s.inLine, piece[len(piece)-1] == '\n'
	s.inLine = !ends
	var stamp time.Time
	if starts {
		var text []byte
		var ok bool
		stamp, text, ok = cutStamp(piece)
		s.lines++
		s.skip, s.isLast, s.known = false, false, 0
		switch {
		case !ok:
			s.noLine(piece, err)
		case err != nil:
			s.unfinished(stamp, text)
		default:
			s.line(stamp, text)
		}
		piece = text
	}
	if s.skip {
		s.caughtUp = s.caughtUp || (ends && s.isLast)
		return
	}
	n := min(s.known, len(piece))
	s.known -= n
	s.caughtUp = s.caughtUp || s.known == 0
	s.send(Record{Time: stamp, Text: piece[n:], Start: starts && s.long == nil, End: ends})
}

// noLine takes a line that has no timestamp. In a stream that begins in the middle of the log, the first line may be
// the end of one that began before: it has been delivered. Else it is what the kubelet, or something on the way to it,
// has to say; or not even the timestamp has come whole.
func (s *reading) noLine(piece []byte, err error) {
	s.skip = true
	if err == nil || errors.Is(err, io.EOF) {
		s.words = string(bytes.TrimSpace(piece[:min(len(piece), 200)]))
	}
}

// unfinished takes the start of a line at which the stream ended. If there is another stream, it brings the whole line.
func (s *reading) unfinished(stamp time.Time, text []byte) {
	s.skip = true
	if len(text) == 0 || s.long != nil {
		return
	}
	// The piece may also be of a line that is known. It is new if it comes after those.
	if s.seen.done || s.caughtUp || s.history.lines == 0 || stamp.UnixNano() > s.history.newest {
		s.progress = s.progress || s.rest == nil || !bytes.Equal(s.rest.Text, text)
		s.rest = &Record{Time: stamp, Text: bytes.Clone(text), Start: true, End: true}
	}
}

// line takes the start of a line, or all of it.
func (s *reading) line(stamp time.Time, text []byte) {
	if s.resumed && s.lines == 2 {
		s.words = "" // The first line was the end of an earlier one.
	}
	m := mark{stamp.UnixNano(), maphash.Bytes(hashSeed, text)}
	had, afterLast := s.seen.has(m), s.afterLast
	s.afterLast = had && m == s.history.last
	switch {
	case had && s.long != nil && m == s.long.mark:
		s.known = s.long.sent
		return
	case had:
		s.skip, s.isLast = true, m == s.history.last
		return
	case s.history.knows(m), s.history.goesBack(m) && !afterLast:
		// A new stream tells: if there, too, the line follows the last one that is known, it is new.
		s.skip, s.history.puzzled = true, true
		return
	case s.long != nil: // Its end is gone.
		s.deliver(Record{Time: s.long.time, Text: []byte{'\n'}, End: true})
		s.long = nil
	}
	s.history.add(m)
	s.current = m
	s.rest = nil
}

// send delivers a record of a new line, or of the part of a line that is new.
func (s *reading) send(r Record) {
	switch {
	case r.Start:
		r.Gap = s.gap && !s.seen.matched
		s.gap = false
		if !r.End {
			s.long = &longLine{mark: s.current, time: r.Time}
		}
	case s.long != nil:
		r.Time = s.long.time
	}
	if s.long != nil {
		s.long.sent += len(r.Text)
	}
	if r.End {
		s.long = nil
	}
	if len(r.Text) > 0 {
		s.progress = true
		s.deliver(r)
	}
}

// cutStamp cuts a line into its timestamp and its text.
func cutStamp(line []byte) (time.Time, []byte, bool) {
	stamp, text, ok := bytes.Cut(line, []byte{' '})
	var t time.Time
	if !ok || t.UnmarshalText(stamp) != nil {
		return time.Time{}, nil, false
	}
	return t, text, true
}
