package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"

	api "github.com/drone/drone-go/drone"
)

// Batch sends lines to those who watch a running step. They are numbered from 0 and carry whole seconds since the step
// began; the text keeps its newline. The server keeps the last 5000 lines, in memory.
//
// A batch is not repeated when its outcome is unknown, so that no line shows twice; the log that is uploaded in the
// end is complete in any case. The error is ErrNoStream before the step was reported running, after it was reported
// done, and after the server was restarted.
func (c *Client) Batch(ctx context.Context, stepID int64, lines []*api.Line) error {
	if len(lines) == 0 {
		return nil
	}
	body, err := encode(lines)
	if err != nil {
		return err
	}
	return c.retry(ctx, CallBatch, policy{limit: c.o.RetryFor}, func() error {
		return c.do(ctx, request{call: CallBatch, id: stepID, method: http.MethodPost,
			path: fmt.Sprintf("step/%d/logs/batch", stepID), body: body, timeout: callTimeout})
	})
}

// Lines is a log, in order. It may be read several times over. An error ends it, and an upload with it.
type Lines = iter.Seq2[*api.Line, error]

// LinesOf returns the log that consists of these lines.
func LinesOf(lines []*api.Line) Lines {
	return func(yield func(*api.Line, error) bool) {
		for _, line := range lines {
			if !yield(line, nil) {
				return
			}
		}
	}
}

// Upload stores the whole log of a step, even an empty one, and reads it line by line while it sends. Servers that
// keep logs in their database take one for each step: the error is ErrExists if there was one before this call.
func (c *Client) Upload(ctx context.Context, stepID int64, lines Lines) error {
	lost := false
	return c.retry(ctx, CallUpload, policy{lost: true, limit: c.o.RetryFor}, func() error {
		err := c.do(ctx, request{call: CallUpload, id: stepID, method: http.MethodPost,
			path: fmt.Sprintf("step/%d/logs/upload", stepID), body: &lineBody{lines: lines}, timeout: uploadTimeout})
		if lost && errors.Is(err, ErrExists) {
			return nil
		}
		lost = lost || err != nil && OutcomeOf(err) == Unknown
		return err
	})
}

// UploadCard stores the card of a step. Servers before 2.5 do not know cards: the error is ErrNotFound.
func (c *Client) UploadCard(ctx context.Context, stepID int64, card *api.CardInput) error {
	body, err := encode(card)
	if err != nil {
		return err
	}
	return c.retry(ctx, CallUploadCard, policy{lost: true, limit: c.o.RetryFor}, func() error {
		return c.do(ctx, request{call: CallUploadCard, id: stepID, method: http.MethodPost,
			path: fmt.Sprintf("step/%d/card", stepID), body: body, timeout: callTimeout})
	})
}

// lineBody encodes a log while it is sent, so that it need not be in memory.
type lineBody struct {
	lines  Lines
	ended  chan struct{}
	failed error
}

func (b *lineBody) size() int64 { return -1 }

func (b *lineBody) open() io.ReadCloser {
	b.ended = make(chan struct{})
	r, w := io.Pipe()
	go func() {
		defer close(b.ended)
		// The reading end gets an error in place of an end, so the server never takes half a log for a whole one.
		w.CloseWithError(b.write(w))
	}()
	return r
}

func (b *lineBody) write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	before := "["
	for line, err := range b.lines {
		if err != nil {
			b.failed = err
			return err
		}
		if _, err := io.WriteString(w, before); err != nil {
			return err
		}
		if err := e.Encode(line); err != nil {
			return err
		}
		before = ","
	}
	if before == "[" {
		_, err := io.WriteString(w, "[]")
		return err
	}
	_, err := io.WriteString(w, "]")
	return err
}

func (b *lineBody) err() error {
	<-b.ended
	return b.failed
}
