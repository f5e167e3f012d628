package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Record is a line of a container's log, or a piece of a long one.
type Record struct {
	Time time.Time // when the container runtime got the line
	// Text is valid until the receiver returns. Only the last piece of a line has the newline, if there is one.
	Text       []byte
	Start, End bool // the record begins a line, ends a line
	// Gap tells that lines before this one may be missing: the node has rotated the log while it could not be read.
	Gap bool
}

// Container reads the log of one container of a pod.
type Container struct {
	Streams              Streams
	Namespace, Pod, Name string
	// Terminated is closed by the caller once the container has terminated.
	Terminated <-chan struct{}
	Metrics    *Metrics           // may be nil
	Log        *zap.SugaredLogger // may be nil
}

const (
	// silence is how long a stream may bring nothing before it is opened anew: it may be broken without anybody
	// having told, or be stuck at a rotated file.
	silence = 5 * time.Minute
	// openTimeout is how long opening a stream may take.
	openTimeout = 30 * time.Second
	// drainSilence is how long a stream may bring nothing once its container has terminated. What it has not brought
	// by then, a last reading of the log brings.
	drainSilence = 250 * time.Millisecond
	// lastTries is how long the last reading of a log is tried in vain.
	lastTries = 30 * time.Second
	// refusedTries is the same while the kubelet answers that it has no such log, which it also does for moments
	// while its container runtime restarts.
	refusedTries = 5 * time.Second
)

// Follow delivers the container's log from its start: each line once, in order, until the container has terminated and
// all that it wrote is delivered. Whatever breaks in between is tried again, with growing pauses.
//
// It returns an error if ctx ends, or if the container has terminated and the rest of its log cannot be had.
func (c *Container) Follow(ctx context.Context, deliver func(Record)) error {
	log := cmp.Or(c.Log, zap.NewNop().Sugar())
	f := &follower{deliver: deliver}
	pauses := backoff.NewExponentialBackOff()
	pauses.Multiplier, pauses.MaxInterval = 2, 15*time.Second
	var failing time.Time // since when the last reading has brought nothing
	for streams, quiet := 0, 0; ; {
		last, start := c.terminated(), time.Now()
		got, err := c.read(ctx, f, !last)
		if ctx.Err() != nil {
			return fmt.Errorf("following the log of %s: %w", c, ctx.Err())
		}
		if got.opened {
			streams++
		}
		if got.opened && streams > 1 && !last && c.Metrics != nil {
			c.Metrics.resumed.Inc()
		}
		if got.progress {
			failing, quiet = time.Time{}, 0
		}
		if got.progress || time.Since(start) > pauses.MaxInterval {
			pauses.Reset()
		}
		switch {
		case last && err == nil && got.progress:
			continue // Until nothing new comes.
		case last && err == nil && (got.caughtUp || quiet == 1):
			f.finish()
			return nil
		case last && err == nil:
			quiet++ // The node has rotated the log, or the API server has lost the kubelet.
		case last:
			if failing.IsZero() {
				failing = time.Now()
			}
			if time.Since(failing) >= patience(err) {
				f.finish()
				return fmt.Errorf("reading the rest of the log of %s: %w", c, err)
			}
		}
		pause := pauses.NextBackOff()
		log.Debugw("Log stream ended early", "container", c.String(), "pause", pause, zap.Error(err))
		if c.wait(ctx, pause, !last) {
			pauses.Reset()
		}
	}
}

// String names the container.
func (c *Container) String() string { return c.Namespace + "/" + c.Pod + "/" + c.Name }

// patience is how long a reading that fails with err is worth repeating after the container has terminated.
func patience(err error) time.Duration {
	switch {
	case apierrors.IsNotFound(err): // The pod is gone, and its log with it.
		return 0
	case apierrors.IsBadRequest(err):
		return refusedTries
	}
	return lastTries
}

func (c *Container) terminated() bool {
	select {
	case <-c.Terminated:
		return true
	default:
		return false
	}
}

// wait waits for d, or until ctx ends, or until the container has terminated if that is worth waiting for. It tells
// whether the container has.
func (c *Container) wait(ctx context.Context, d time.Duration, termination bool) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	var terminated <-chan struct{}
	if termination {
		terminated = c.Terminated
	}
	select {
	case <-terminated:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

var errSilent = errors.New("nothing came for too long")

// read opens the log once, where the follower has come to, and reads it to its end.
func (c *Container) read(ctx context.Context, f *follower, follow bool) (outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	guard := newSilenceGuard(openTimeout, func() { cancel(errSilent) })
	if follow {
		afterClosed(ctx, c.Terminated, func() { guard.hurry(drainSilence) })
	}
	guard.wait(true)
	body, err := c.Streams.Open(ctx, Stream{
		Namespace: c.Namespace, Pod: c.Pod, Container: c.Name, Since: f.history.since(), Follow: follow,
	})
	guard.wait(false)
	if err != nil {
		return outcome{}, fmt.Errorf("opening: %w", errors.Join(err, context.Cause(ctx)))
	}
	defer body.Close()
	stop := context.AfterFunc(ctx, func() { body.Close() })
	defer stop()
	guard.setPatience(silence)
	return f.read(guard.reader(body))
}
