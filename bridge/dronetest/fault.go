package dronetest

import (
	"context"
	"net/http"
	"slices"
	"time"
)

// Call is one call of a runner.
type Call struct {
	Seq     int // Counts from 1, in the order of arrival.
	Method  Method
	ID      int64 // Of the stage, step or build in the address.
	Machine string
	Header  http.Header
	Body    []byte

	Applied int    // How often it was carried out: 1, unless a fault made it otherwise.
	Status  int    // Of the answer that the runner got; 0 for none, or none yet.
	Answer  []byte // The body of that answer.
	Aborted bool   // The runner did not wait for the answer.
	Over    bool   // The call has been answered or dropped.
}

// Calls returns all calls so far, in the order of arrival.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var calls []Call
	for _, c := range s.calls {
		calls = append(calls, *c)
	}
	return calls
}

// CallsTo returns the calls of one method.
func (s *Server) CallsTo(m Method) []Call {
	return slices.DeleteFunc(s.Calls(), func(c Call) bool { return c.Method != m })
}

// Drop says whether and when a connection breaks.
type Drop int

const (
	// DropNothing leaves the connection alone.
	DropNothing Drop = iota
	// DropCall breaks the connection before the call is carried out.
	DropCall
	// DropAnswer breaks the connection after the call is carried out.
	DropAnswer
)

// Fault is what happens to calls beside or instead of what should.
type Fault struct {
	On    Method          // Only this method; all if empty.
	ID    int64           // Only this stage, step or build; all if 0.
	When  func(Call) bool // Only if it holds, if set.
	Skip  int             // Lets so many such calls pass before.
	Times int             // For so many calls, 1 if 0, without end if negative.

	Delay       time.Duration // Waits before the call is carried out.
	Before      func(Call)    // Called before the call is carried out. It may block, or end the runner.
	Status      int           // Answers this instead of carrying out the call, with Text.
	Text        string
	Twice       bool          // Carries out the call twice, and gives the second answer.
	After       func(Call)    // Called after the call is carried out, before it is answered.
	DelayAnswer time.Duration // Waits before the answer is sent.
	Drop        Drop
}

type fault struct {
	Fault
	skip, left int
}

// Inject makes a fault happen to calls from now on. Of several faults for a call, the one that was injected first
// happens. The function takes the fault away.
func (s *Server) Inject(f Fault) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	injected := &fault{Fault: f, skip: f.Skip, left: f.Times}
	if f.Times == 0 {
		injected.left = 1
	}
	s.faults = append(s.faults, injected)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.faults = slices.DeleteFunc(s.faults, func(f *fault) bool { return f == injected })
	}
}

type hook struct{ before, after func(Call) }

// Hook has functions called before and after each call is carried out, if they are not nil. They may block, and call
// the server's methods.
func (s *Server) Hook(before, after func(Call)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = append(s.hooks, hook{before, after})
}

// begin records a call.
func (s *Server) begin(c Call) *Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Seq = len(s.calls) + 1
	s.calls = append(s.calls, &c)
	s.notify()
	return &c
}

// end records how a call ended.
func (s *Server) end(c *Call, a answer, aborted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Status, c.Answer, c.Aborted, c.Over = a.status, a.body, aborted, true
	s.notify()
}

// serve carries out a call, with the hooks and the fault that are for it.
func (s *Server) serve(ctx context.Context, c *Call, f handler) (a answer, drop bool) {
	s.mu.Lock()
	call := *c
	hooks := slices.Clone(s.hooks)
	fault := s.take(call)
	s.mu.Unlock()
	for _, h := range hooks {
		if h.before != nil {
			h.before(call)
		}
	}
	wait(ctx, fault.Delay)
	if fault.Before != nil {
		fault.Before(call)
	}
	apply := func() answer {
		a := f(ctx, call)
		s.mu.Lock()
		defer s.mu.Unlock()
		c.Applied++
		call = *c
		return a
	}
	switch {
	case fault.Drop == DropCall:
		return answer{}, true
	case fault.Status != 0:
		a = answer{fault.Status, []byte(fault.Text)}
	case fault.Twice:
		apply()
		a = apply()
	default:
		a = apply()
	}
	for _, h := range hooks {
		if h.after != nil {
			h.after(call)
		}
	}
	if fault.After != nil {
		fault.After(call)
	}
	wait(ctx, fault.DelayAnswer)
	return a, fault.Drop == DropAnswer
}

// take returns the fault that happens to the call, or one that does nothing. The caller holds the lock.
func (s *Server) take(c Call) Fault {
	for _, f := range s.faults {
		switch {
		case f.left == 0, f.On != "" && f.On != c.Method, f.ID != 0 && f.ID != c.ID, f.When != nil && !f.When(c):
			continue
		case f.skip > 0:
			f.skip--
			continue
		}
		if f.left > 0 {
			f.left--
		}
		return f.Fault
	}
	return Fault{}
}

// wait waits, but not for a runner that has gone.
func wait(ctx context.Context, d time.Duration) {
	if d == 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
