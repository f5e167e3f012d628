package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// quickPoll is how fast a poll can be over and still have been one. Whatever answers 204 at once must not make us ask
// in a tight loop.
const quickPoll = 10 * time.Millisecond

var errQuickPoll = fmt.Errorf("a poll that ended within %s", quickPoll)

// Request waits for a stage that matches the filter. It asks again at once when a poll ends without one, and after a
// growing wait when a poll fails; it returns early only when the context ends or the server refuses to be asked.
//
// The context should end only when the runner shuts down: servers before 2.19 can lose their queue when a poll is
// broken off just as a stage is handed out. A stage that was handed out but not accepted is offered again.
func (c *Client) Request(ctx context.Context, filter Filter) (*Stage, error) {
	body, err := encode(filter)
	if err != nil {
		return nil, err
	}
	for {
		stage := new(Stage)
		err := c.poll(ctx, request{call: CallRequest, method: http.MethodPost, path: "stage", body: body, out: stage})
		if err == nil {
			return stage, nil
		}
		if !errors.Is(err, errNothing) {
			return nil, err
		}
	}
}

// Watch waits until the server says that the build was cancelled, and then returns nil. It returns an error only when
// the context ends or the server refuses to be asked.
//
// The server tells only those who are connected when the build is cancelled. From the first poll on, Watch always
// has one open, as long as there is a connection; for the time before, and after a broken one, ask Details.
func (c *Client) Watch(ctx context.Context, buildID int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	const most = 2
	ended := make(chan error, most)
	open := 0
	begin := func() {
		open++
		go func() {
			ended <- c.poll(ctx, request{call: CallWatch, id: buildID, method: http.MethodPost,
				path: fmt.Sprintf("build/%d/watch", buildID)})
		}()
	}
	next := time.NewTicker(c.o.WatchEvery)
	defer next.Stop()
	begin()
	for {
		select {
		case err := <-ended:
			open--
			if !errors.Is(err, errNothing) {
				return err
			}
			if open == 0 {
				begin()
				next.Reset(c.o.WatchEvery)
			}
		case <-next.C:
			if open < most {
				begin()
			}
		}
	}
}

// poll makes one long poll, through all failures to make it. Its error is errNothing when the poll has passed in vain.
func (c *Client) poll(ctx context.Context, r request) error {
	r.timeout = pollTimeout
	return c.retry(ctx, r.call, policy{lost: true}, func() error {
		start := time.Now()
		err := c.do(ctx, r)
		if errors.Is(err, errNothing) && time.Since(start) < quickPoll {
			return &Error{Call: r.call, ID: r.id, Err: errQuickPoll}
		}
		return err
	})
}
