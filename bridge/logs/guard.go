package logs

import (
	"context"
	"io"
	"sync"
	"time"
)

// silenceGuard calls a function when a wait takes too long. Waits follow one another.
type silenceGuard struct {
	mu       sync.Mutex
	timer    *time.Timer
	waiting  bool
	patience time.Duration // for each wait
	hurried  bool          // patience is final
}

func newSilenceGuard(patience time.Duration, expired func()) *silenceGuard {
	g := &silenceGuard{patience: patience, timer: time.AfterFunc(patience, expired)}
	g.timer.Stop()
	return g
}

// wait tells that a wait begins or ends.
func (g *silenceGuard) wait(waiting bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = waiting
	g.restart()
}

// setPatience changes the patience for the next waits.
func (g *silenceGuard) setPatience(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.hurried {
		g.patience = d
	}
}

// hurry changes the patience once and for all, for the wait at hand, too.
func (g *silenceGuard) hurry(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.patience, g.hurried = d, true
	g.restart()
}

func (g *silenceGuard) restart() {
	if g.waiting {
		g.timer.Reset(g.patience)
	} else {
		g.timer.Stop()
	}
}

// reader waits for each read of r.
func (g *silenceGuard) reader(r io.Reader) io.Reader { return guardedReader{g, r} }

type guardedReader struct {
	guard *silenceGuard
	r     io.Reader
}

func (r guardedReader) Read(p []byte) (int, error) {
	r.guard.wait(true)
	defer r.guard.wait(false)
	return r.r.Read(p)
}

// afterClosed calls f once ch is closed, unless ctx ends before.
func afterClosed(ctx context.Context, ch <-chan struct{}, f func()) {
	go func() {
		select {
		case <-ch:
			f()
		case <-ctx.Done():
		}
	}()
}
