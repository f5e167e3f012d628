package rpc

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// policy says when a failed call is made again. One that was certainly not applied always is.
type policy struct {
	lost  bool          // Also after a try of unknown outcome.
	limit time.Duration // For how long; 0 for as long as the context lasts.
}

// retry makes a call until it succeeds, or fails in a way that p does not repeat. Once the outcome of a try was
// unknown, the whole is never NotApplied, whatever befell later tries.
func (c *Client) retry(ctx context.Context, call Call, p policy, try func() error) error {
	var last error
	lost := false
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		if last = try(); last == nil {
			return struct{}{}, nil
		}
		outcome := OutcomeOf(last)
		lost = lost || outcome == Unknown
		if outcome == NotApplied || outcome == Unknown && p.lost && !errors.Is(last, errNothing) {
			return struct{}{}, last
		}
		return struct{}{}, backoff.Permanent(last)
	},
		backoff.WithBackOff(c.o.BackOff()),
		backoff.WithMaxElapsedTime(p.limit),
		backoff.WithNotify(func(err error, wait time.Duration) {
			c.o.Metrics.retried(call)
			if c.o.OnRetry != nil {
				c.o.OnRetry(call, err, wait)
			}
		}))
	found := (*Error)(nil)
	if err == nil || !errors.As(last, &found) {
		return err
	}
	e := *found
	if !errors.As(err, new(*Error)) { // The context ended between two tries.
		e.Err = errors.Join(err, e.Err)
	}
	if lost && e.Outcome == NotApplied {
		e.Outcome = Unknown
	}
	return &e
}
