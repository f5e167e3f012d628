package logs

import (
	"context"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	// liveInterval is the time between two batches of live lines; after failures it grows.
	liveInterval = 500 * time.Millisecond
	// liveDelay is how long a line waits for others after a time without any.
	liveDelay = 100 * time.Millisecond
	// batchTimeout is how long Drone may take for a batch, closeTimeout how long once the step is over.
	batchTimeout = 10 * time.Second
	closeTimeout = time.Second

	// liveLines and liveBytes bound what waits for the next batch; above, the earliest lines are left out. Drone itself
	// keeps no more than 5000 lines for those who open a running step.
	liveLines = 5000
	liveBytes = 1 << 20
	// thinLines and thinBytes are the bounds for a log that is above its limit: the view goes on, but in samples.
	thinLines = 100
	thinBytes = 64 << 10
	// A batch of this size does not wait for the interval.
	largeLines = 1000
	largeBytes = 256 << 10
)

// live shows a log while it is written: it sends its lines to Drone in batches, as well as that goes. What Drone does
// not take is lost for the live view only.
type live struct {
	send    func(context.Context, []*Line) error
	metrics *Metrics
	log     *zap.SugaredLogger
	ctx     context.Context // of the batches; ends the live view
	cancel  context.CancelFunc

	// mu guards what follows. It is the relay's: what a batch has in it and where the relay is go together.
	mu       *sync.Mutex
	changed  *sync.Cond // sending has ended
	tail     tail       // lines that wait
	next     int        // position of the first of them
	oldest   time.Time  // when the container wrote it
	reached  Cursor     // where they end
	shown    Cursor     // where those end that were sent
	timer    *time.Timer
	due      time.Time // when the timer ends
	sending  bool
	closed   bool
	last     time.Time // when the last batch was sent
	failures int       // since the last batch that Drone took
}

func newLive(ctx context.Context, mu *sync.Mutex, send func(context.Context, []*Line) error, c Config) *live {
	l := &live{
		send: send, metrics: c.Metrics, log: c.Log,
		mu: mu, changed: sync.NewCond(mu), shown: c.Cursor,
	}
	l.tail.bound(liveBytes, liveLines)
	l.ctx, l.cancel = context.WithCancel(ctx)
	return l
}

// write adds a piece of a line. It, reach, skip and resume are called with mu held.
func (l *live) write(piece []byte, sec int64, ended, thin bool) {
	if thin {
		l.tail.bound(thinBytes, thinLines)
	}
	l.tail.write(piece, sec, ended)
}

// reach tells that everything up to a cursor has been written, and when the container wrote the last of it.
func (l *live) reach(c Cursor, at time.Time) {
	l.reached = c
	if l.oldest.IsZero() {
		l.oldest = at
	}
	l.schedule()
}

// skip tells that everything up to a cursor has been written and is not to be sent, since an earlier process sent it.
func (l *live) skip(c Cursor) {
	lines, size := l.tail.ended()
	l.tail.text.drop(size)
	l.tail.lines.drop(lines)
	l.next += lines + int(l.tail.lost.lines)
	l.tail.lost = lost{}
	l.reached = c
}

// resume tells the position that an earlier process had come to.
func (l *live) resume(next int) { l.next = max(l.next, next) }

// schedule sets the timer for the next batch.
func (l *live) schedule() {
	if l.sending || l.closed || l.ctx.Err() != nil || !l.waiting() {
		return
	}
	now := time.Now()
	due := l.last.Add(liveInterval << min(l.failures, 5))
	if earliest := now.Add(liveDelay); due.Before(earliest) {
		due = earliest
	}
	if l.failures == 0 && (l.tail.lines.size > largeLines || l.tail.text.size > largeBytes) {
		due = now
	}
	switch {
	case l.timer == nil:
		l.timer = time.AfterFunc(due.Sub(now), l.flush)
	case due.Before(l.due):
		l.timer.Reset(due.Sub(now))
	default:
		return
	}
	l.due = due
}

// waiting tells whether a line is there to be sent.
func (l *live) waiting() bool { return l.tail.lines.size > 0 && l.tail.lines.at(0).ended }

// flush sends what waits.
func (l *live) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = nil
	if l.sending {
		return // A timer that was late to be stopped.
	}
	lines, oldest, reached := l.take()
	if len(lines) == 0 || l.ctx.Err() != nil {
		return
	}
	l.sending = true
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(l.ctx, batchTimeout)
	err := l.send(ctx, lines)
	cancel()
	l.mu.Lock()
	l.sending = false
	l.changed.Broadcast()
	l.last = time.Now()
	if err == nil || l.ctx.Err() == nil {
		l.shown = reached // Unless this process is about to end: another one shall try again.
	}
	if err != nil {
		l.failures++
		l.metrics.lostBatches.Inc()
		l.log.Debugw("Drone did not take a batch of live log lines", "lines", len(lines), zap.Error(err))
	} else {
		l.failures = 0
		if !oldest.IsZero() {
			l.metrics.lag.Observe(max(0, time.Since(oldest).Seconds()))
		}
	}
	l.schedule()
}

// take removes the lines that wait, and returns them with the time of the first and the cursor behind the last.
func (l *live) take() ([]*Line, time.Time, Cursor) {
	var text strings.Builder
	n, size := l.tail.ended()
	text.Grow(size)
	waiting := l.tail.take(n, size, make([]line, 0, n), &text)
	left := int(l.tail.lost.lines)
	l.tail.lost = lost{}
	l.next += left
	lines := newLister(text.String(), n+1)
	lines.next = l.next
	if left > 0 {
		l.metrics.leftOutLive.Add(float64(left))
		lines.next--
		lines.note("%d lines left out here while the step runs", left)
	}
	lines.add(waiting...)
	l.next += n
	oldest, reached := l.oldest, l.reached
	l.oldest, reached.Next = time.Time{}, l.next
	return lines.lines, oldest, reached
}

// close sends the last lines, unless Drone is too slow, and ends the live view.
func (l *live) close() {
	l.mu.Lock()
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}
	tooSlow := time.AfterFunc(closeTimeout, l.cancel)
	defer tooSlow.Stop()
	l.wait()
	l.mu.Unlock()
	l.flush()
	l.mu.Lock()
	l.wait()
	l.mu.Unlock()
	l.cancel()
}

func (l *live) wait() {
	for l.sending {
		l.changed.Wait()
	}
}
