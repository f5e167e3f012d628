package rpc

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

var (
	// ErrConflict is returned for a write that names another version than the server has, and for a stage that has a
	// runner already. Somebody else wrote it: the server when a build was cancelled, another runner, or we ourselves
	// in a call whose answer was lost.
	ErrConflict = errors.New("the server holds another version")

	// ErrEnded is returned when the server has ended the stage or its build: nothing more can be told about it.
	ErrEnded = errors.New("the server has ended the build")

	// ErrUnauthorized is returned when the shared secret is wrong, or the server has none.
	ErrUnauthorized = errors.New("the server refuses the shared secret")

	// ErrNotFound is returned for a stage, build or address that the server does not know.
	ErrNotFound = errors.New("not found on the server")

	// ErrNoStream is returned by Batch when the step is not running in the eyes of the server, or the server has been
	// restarted since. The whole log can be uploaded all the same.
	ErrNoStream = errors.New("the step has no live log on the server")

	// ErrExists is returned by Upload when the step has a log already, and by UpdateStage when it would insert a step
	// under a number that is taken.
	ErrExists = errors.New("exists on the server")
)

// Outcome is what a failed call has done to the server.
type Outcome int

const (
	// Unknown: it may or may not have done what was asked, or a part of it.
	Unknown Outcome = iota
	// NotApplied: nothing was done; the same call can succeed later.
	NotApplied
	// Refused: nothing was done, and the same call will be refused again.
	Refused
)

func (o Outcome) String() string {
	return [...]string{Unknown: "unknown", NotApplied: "not applied", Refused: "refused"}[o]
}

// OutcomeOf returns the outcome of the call that err came from, and Unknown for an error that is not from this
// package.
func OutcomeOf(err error) Outcome {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Outcome
	}
	return Unknown
}

// Error is a call that did not succeed. It unwraps to one of the errors above where one fits, and to the error of the
// network or of the context.
type Error struct {
	Call    Call
	ID      int64 // of the stage, step or build; 0 if the call has none.
	Status  int   // HTTP status, 0 if there was no answer.
	Outcome Outcome
	Message string // What the server said, if anything.
	Err     error

	retryAfter time.Duration
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "drone: %s", e.Call)
	if e.ID != 0 {
		fmt.Fprintf(&b, " %d", e.ID)
	}
	if e.Status != 0 {
		fmt.Fprintf(&b, ": %d %s", e.Status, http.StatusText(e.Status))
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	return b.String()
}

// Unwrap returns the causes.
func (e *Error) Unwrap() []error {
	var causes []error
	if e.Err != nil {
		causes = append(causes, e.Err)
	}
	if e.retryAfter > 0 {
		causes = append(causes, &backoff.RetryAfterError{Duration: e.retryAfter})
	}
	return causes
}

// errNothing is the answer of a long poll in whose time nothing happened.
var errNothing = errors.New("nothing yet")

// errRedirect: Go turns a redirected POST into a GET, and would hand the shared secret to wherever it leads.
var errRedirect = errors.New("redirected; DRONE_RPC_PROTO and DRONE_RPC_HOST must name where the server really is")

// errStranger: the answer cannot have come from a Drone server.
var errStranger = errors.New("not the answer of a Drone server")

// judge turns an answer that is not 200 into an error. It knows the texts by which Drone tells apart what it lumps
// together under 500.
func judge(call Call, status int, message string) (outcome Outcome, err error) {
	contains := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(message, p) {
				return true
			}
		}
		return false
	}
	switch {
	case status == http.StatusNoContent && (call == CallRequest || call == CallWatch):
		return Unknown, errNothing
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Refused, ErrUnauthorized
	case status == http.StatusNotFound:
		return Refused, ErrNotFound
	case status == http.StatusConflict:
		return Refused, ErrConflict
	case status == http.StatusTooManyRequests:
		return NotApplied, nil
	case status >= 300 && status < 400:
		return Refused, errRedirect
	case status >= 400 && status < 500:
		return Refused, nil
	case status != http.StatusInternalServerError:
		return Unknown, nil
	case contains("Optimistic Lock Error"):
		return Refused, ErrConflict
	case contains("sql: no rows in result set"):
		return Refused, ErrNotFound
	case contains("stream: not found"):
		return Refused, ErrNoStream
	case contains("UNIQUE constraint failed", "duplicate key value", "Duplicate entry"): // SQLite, PostgreSQL, MySQL.
		if call == CallUpload {
			return Refused, ErrExists
		}
		// A stage is written before its steps are.
		return Unknown, ErrExists
	}
	return Unknown, nil
}
