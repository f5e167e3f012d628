package dronetest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	api "github.com/drone/drone-go/drone"
)

// Options vary the server. The zero value is a recent server with its database for logs.
type Options struct {
	// Secret is the shared secret, default "secret".
	Secret string

	// NoSecret is a server without a shared secret, which refuses all runners.
	NoSecret bool

	// Poll is how long a long poll lasts, default 30 s.
	Poll time.Duration

	// Old is a server of the 2.0 series: it does not know a step's image, dependencies, schema and whether it is
	// detached, nor cards, and leaves a stage as it is when Details fails.
	Old bool

	// LogBucket is a server that keeps logs in a bucket, where an upload replaces what was there.
	LogBucket bool
}

// Server is a Drone server. All methods can be called at any time, those of a test and those that its hooks call.
type Server struct {
	o    Options
	http *httptest.Server
	stop chan struct{}

	mu      sync.Mutex
	changed chan struct{} // Closed and replaced with each change.
	db      database
	queue   queue
	watches map[chan struct{}]int64 // Build ids. Closed when the build is cancelled.
	streams map[int64]bool          // Live logs, by step.
	faults  []*fault
	hooks   []hook
	calls   []*Call
}

// New starts a server on the loopback interface, and stops it when the test has ended.
func New(tb testing.TB, o Options) *Server {
	if o.Secret == "" {
		o.Secret = "secret"
	}
	if o.Poll == 0 {
		o.Poll = 30 * time.Second
	}
	s := &Server{
		o:       o,
		stop:    make(chan struct{}),
		changed: make(chan struct{}),
		db:      newDatabase(),
		watches: map[chan struct{}]int64{},
		streams: map[int64]bool{},
	}
	s.http = httptest.NewServer(s.routes())
	go s.everyMinute()
	tb.Cleanup(func() {
		close(s.stop)
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// URL is the address of the server, scheme://host:port.
func (s *Server) URL() string { return s.http.URL }

// Secret is the shared secret.
func (s *Server) Secret() string { return s.o.Secret }

// Restart does what a restart of the server's process does: all connections break, and what was in memory is gone,
// which is the live logs and who waits for what.
func (s *Server) Restart() {
	s.http.CloseClientConnections()
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.streams)
	clear(s.watches)
	s.queue = queue{}
	s.notify()
}

// Wait waits until the condition holds. It is looked at anew after each change on the server.
func (s *Server) Wait(ctx context.Context, condition func() bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if condition() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// notify wakes those who Wait. The caller holds the lock.
func (s *Server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// everyMinute looks through the queue, as the real server does for stages that were held back by a limit.
func (s *Server) everyMinute() {
	t := time.NewTicker(time.Minute)
	defer t.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-t.C:
			s.mu.Lock()
			s.offer()
			s.mu.Unlock()
		}
	}
}

// Method is what a runner calls.
type Method string

// The methods.
const (
	Ping        Method = "ping"
	Request     Method = "request"
	Accept      Method = "accept"
	Details     Method = "details"
	UpdateStage Method = "update stage"
	UpdateStep  Method = "update step"
	Watch       Method = "watch"
	Batch       Method = "log batch"
	Upload      Method = "log upload"
	UploadCard  Method = "card"
	Page        Method = "page"
)

func (s *Server) routes() http.Handler {
	m := http.NewServeMux()
	route := func(pattern string, method Method, f handler) { m.Handle(pattern, s.handle(method, f)) }
	route("POST /rpc/v2/ping", Ping, s.ping)
	route("POST /rpc/v2/stage", Request, s.request)
	route("POST /rpc/v2/stage/{id}", Accept, s.accept)
	route("GET /rpc/v2/stage/{id}", Details, s.details)
	route("PUT /rpc/v2/stage/{id}", UpdateStage, s.updateStage)
	route("PUT /rpc/v2/step/{id}", UpdateStep, s.updateStep)
	route("POST /rpc/v2/build/{id}/watch", Watch, s.watch)
	route("POST /rpc/v2/step/{id}/logs/batch", Batch, s.batch)
	route("POST /rpc/v2/step/{id}/logs/upload", Upload, s.upload)
	m.HandleFunc("GET /api/repos/{owner}/{name}/builds/{number}", s.page)
	if !s.o.Old {
		route("POST /rpc/v2/step/{id}/card", UploadCard, s.card)
	}
	return m
}

// handler carries out a call.
type handler func(ctx context.Context, c Call) answer

// answer is a status and a body.
type answer struct {
	status int
	body   []byte
}

// handle wraps a handler in authorization, the record of calls, hooks and faults.
func (s *Server) handle(method Method, f handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.o.NoSecret:
			w.WriteHeader(http.StatusForbidden)
			return
		case r.Header.Get("X-Drone-Token") != s.o.Secret:
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			// The server's own reading fails in the same way, before anything is done.
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
		call := s.begin(Call{Method: method, ID: id, Machine: r.URL.Query().Get("machine"), Body: body, Header: r.Header})
		a, drop := s.serve(r.Context(), call, f)
		s.write(w, r, call, a, drop)
	})
}

// write answers a call, or breaks its connection.
func (s *Server) write(w http.ResponseWriter, r *http.Request, c *Call, a answer, drop bool) {
	if aborted := r.Context().Err() != nil; drop || aborted {
		s.end(c, answer{}, aborted)
		panic(http.ErrAbortHandler)
	}
	s.end(c, a, false)
	w.WriteHeader(a.status)
	if a.status != http.StatusNoContent {
		_, _ = w.Write(a.body)
	}
}

// fail turns an error into the answer that the server gives.
func fail(err error) answer {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		status = http.StatusNoContent
	case err == errOptimisticLock:
		status = http.StatusConflict
	}
	return answer{status, []byte(err.Error())}
}

// done is what the server takes for the end of a stage, step or build.
func done(status string) bool {
	switch status {
	case api.StatusWaiting, api.StatusPending, api.StatusRunning, api.StatusBlocked:
		return false
	}
	return true
}
