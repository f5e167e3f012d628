package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// maxAnswer bounds an answer that is read. The largest is Details, with the configuration file in base64.
	maxAnswer = 64 << 20
	// maxMessage bounds the text of an error that is kept.
	maxMessage = 4 << 10

	// maxRetryAfter bounds how long the server can make us wait before the next try.
	maxRetryAfter = time.Minute

	// callTimeout is how long an ordinary call may take.
	callTimeout = time.Minute
	// detailsTimeout is longer: the server fetches the configuration file and asks its extensions, a minute each.
	detailsTimeout = 3 * time.Minute
	// uploadTimeout is for logs of many megabytes.
	uploadTimeout = 10 * time.Minute
	// pollTimeout is far beyond the 30 seconds after which the server ends a poll. Only a connection that has died
	// without a word comes to it: to give up a poll that is still served can stall the queue of servers before 2.19.
	pollTimeout = 3 * time.Minute
)

// request is one call that is to be made, perhaps several times.
type request struct {
	call    Call
	id      int64
	method  string
	path    string
	page    bool // The path is one of those for people, from the root, and the call is made without the secret.
	query   url.Values
	body    body // nil for none
	out     any  // What the answer is decoded into; nil if the answer is to be empty.
	timeout time.Duration
}

// do makes the call once. The error is an *Error.
func (c *Client) do(ctx context.Context, r request) error {
	start := time.Now()
	e := c.exchange(ctx, r)
	if e == nil {
		c.o.Metrics.done(r.call, nil, time.Since(start))
		return nil
	}
	e.Call, e.ID = r.call, r.id
	c.o.Metrics.done(r.call, e, time.Since(start))
	return e
}

// exchange sends the request and reads the answer.
func (c *Client) exchange(ctx context.Context, r request) *Error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout, fmt.Errorf("no answer within %s", r.timeout))
	defer cancel()
	// As long as there is no connection, nothing can have been sent.
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})

	req, err := c.newRequest(ctx, r)
	if err != nil {
		return &Error{Outcome: Refused, Err: err}
	}
	var content io.ReadCloser
	if r.body != nil {
		content = r.body.open()
		req.Body, req.ContentLength = content, r.body.size()
	}
	record := c.record(req, r.body)
	res, err := c.http.Do(req)
	if r.body != nil {
		content.Close()
		if failed := r.body.err(); failed != nil {
			// The server got a body without an end, which it does not keep.
			err = failed
			if res != nil {
				res.Body.Close()
			}
			record(nil, nil, err)
			return &Error{Outcome: Refused, Err: err}
		}
	}
	if err != nil {
		record(nil, nil, err)
		e := &Error{Err: cause(ctx, err)}
		if !connected.Load() {
			e.Outcome = NotApplied
		}
		return e
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	record(res, answer, err)
	if err != nil {
		return &Error{Status: res.StatusCode, Err: fmt.Errorf("reading the answer: %w", cause(ctx, err))}
	}
	return read(r, res, answer)
}

func (c *Client) newRequest(ctx context.Context, r request) (*http.Request, error) {
	to := c.base.JoinPath(r.path)
	if r.page {
		to = c.root.JoinPath(r.path)
	}
	to.RawQuery = r.query.Encode()
	req, err := http.NewRequestWithContext(ctx, r.method, to.String(), nil)
	if err != nil {
		return nil, err
	}
	if !r.page {
		req.Header.Set("X-Drone-Token", c.o.Secret)
	}
	req.Header.Set("User-Agent", c.o.UserAgent)
	req.Header.Set("Accept", "application/json")
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// read makes sense of an answer.
func read(r request, res *http.Response, answer []byte) *Error {
	e := &Error{Status: res.StatusCode}
	switch {
	case res.StatusCode != http.StatusOK:
		e.Message = message(answer)
		e.Outcome, e.Err = judge(r.call, res.StatusCode, e.Message)
		if errors.Is(e.Err, errRedirect) {
			e.Message = res.Header.Get("Location")
		}
		if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s > 0 {
			e.retryAfter = min(time.Duration(s)*time.Second, maxRetryAfter)
		}
	case len(answer) > maxAnswer:
		e.Err = fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	case r.out == nil && len(answer) > 0:
		// Something in between answers in the server's name. To take that for a yes could stop a build.
		e.Err = fmt.Errorf("%w (%s)", errStranger, res.Header.Get("Content-Type"))
	case r.out == nil:
		return nil
	default:
		err := json.Unmarshal(answer, r.out)
		if err == nil {
			return nil
		}
		e.Err = fmt.Errorf("%w (%s): %w", errStranger, res.Header.Get("Content-Type"), err)
	}
	return e
}

// cause returns why the context ended, if it did, and else err without the address that is in it.
func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil {
		return c
	}
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}

// message is the text of an answer, within bounds.
func message(answer []byte) string {
	return strings.TrimSpace(strings.ToValidUTF8(string(answer[:min(len(answer), maxMessage)]), ""))
}

// body is what a request sends. It can be opened again for another try.
type body interface {
	open() io.ReadCloser
	size() int64 // -1 if it is not known.
	err() error  // Why the body last opened and closed could not be made, if so.
}

// jsonBody is a body held in memory.
type jsonBody []byte

// encode returns v in JSON, without the escapes that protect HTML.
func encode(v any) (jsonBody, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

func (b jsonBody) open() io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }
func (b jsonBody) size() int64         { return int64(len(b)) }
func (b jsonBody) err() error          { return nil }
