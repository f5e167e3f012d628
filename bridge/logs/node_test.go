package logs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"
)

// entry is what a container runtime writes at once: a line, or a part of one.
type entry struct {
	at   time.Time
	text string
}

// fault is what becomes of one stream.
type fault struct {
	open  error // opening it fails
	after int   // after so many bytes …
	err   error // … it ends with this; nil: never
}

// fakeNode is the log of one container as a kubelet serves it: only the newest file after a rotation; timestamps only
// where a line begins; entries, not lines, left out if they are before since; to its end if it follows.
type fakeNode struct {
	mu       sync.Mutex
	file     []entry
	files    int
	faults   []fault
	endsWith bool // streams end when the log is rotated
	again    bool // the next stream that is waiting reads its file again from the start
	done     chan struct{}
	streams  []Stream
	written  strings.Builder
}

func newFakeNode() *fakeNode { return &fakeNode{done: make(chan struct{})} }

func (n *fakeNode) write(at time.Time, texts ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, text := range texts {
		n.file = append(n.file, entry{at, text})
		n.written.WriteString(text)
	}
}

func (n *fakeNode) rotate() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.file = nil
	n.files++
}

func (n *fakeNode) readAgain() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.again = true
}

func (n *fakeNode) fail(faults ...fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = append(n.faults, faults...)
}

// calm leaves no more than so many faults to come.
func (n *fakeNode) calm(faults int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = n.faults[:min(faults, len(n.faults))]
}

func (n *fakeNode) terminate() { close(n.done) }

func (n *fakeNode) opened() []Stream {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]Stream(nil), n.streams...)
}

func (n *fakeNode) container() *Container {
	return &Container{Streams: n, Namespace: "builds", Pod: "pod", Name: "step", Terminated: n.done}
}

func (n *fakeNode) Open(ctx context.Context, which Stream) (io.ReadCloser, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.streams = append(n.streams, which)
	var f fault
	if len(n.faults) > 0 {
		f, n.faults = n.faults[0], n.faults[1:]
	}
	if f.open != nil {
		return nil, f.open
	}
	r, w := io.Pipe()
	go n.serve(ctx, which, f, w)
	return r, nil
}

func (n *fakeNode) rereads() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	again := n.again
	n.again = false
	return again
}

// poll is how often a fake kubelet looks for new entries.
const poll = 50 * time.Millisecond

func (n *fakeNode) serve(ctx context.Context, which Stream, f fault, w *io.PipeWriter) {
	n.mu.Lock()
	file, files := n.file, n.files
	n.mu.Unlock()
	left, isNewLine := f.after, true
	for i := 0; ; {
		ended := false
		select {
		case <-n.done:
			ended = true
		default:
		}
		n.mu.Lock()
		if n.files == files {
			file = n.file
		}
		rotated := n.files != files
		n.mu.Unlock()

		var out bytes.Buffer
		for ; i < len(file); i++ {
			e := file[i]
			if !e.at.Before(which.Since) {
				if isNewLine {
					out.WriteString(e.at.Format("2006-01-02T15:04:05.000000000Z07:00") + " ")
				}
				out.WriteString(e.text)
			}
			isNewLine = strings.HasSuffix(e.text, "\n")
		}
		b := out.Bytes()
		if f.err != nil && len(b) >= left {
			_, _ = w.Write(b[:left])
			if errors.Is(f.err, io.EOF) {
				_ = w.Close()
			} else {
				_ = w.CloseWithError(f.err)
			}
			return
		}
		left -= len(b)
		if len(b) > 0 {
			if _, err := w.Write(b); err != nil {
				return
			}
		}
		switch {
		case isNewLine && n.rereads():
			i = 0
		case rotated && n.endsWith:
			_ = w.Close()
			return
		case rotated:
			n.mu.Lock()
			file, files, i, isNewLine = n.file, n.files, 0, true
			n.mu.Unlock()
			continue
		case ended || !which.Follow:
			_ = w.Close()
			return
		}
		select {
		case <-ctx.Done():
			_ = w.CloseWithError(ctx.Err())
			return
		case <-time.After(poll):
		}
	}
}
