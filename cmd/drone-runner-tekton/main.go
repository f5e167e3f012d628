// drone-runner-tekton turns Drone pipelines into Tekton PipelineRuns: as a converter on the command line, and as a runner
// of a Drone server.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit statuses.
const (
	exitFailed = 1 // the conversion or the pipeline failed
	exitUsage  = 2 // flags or arguments are wrong
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRoot(streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}).ExecuteContext(ctx)
	stop()
	os.Exit(exitStatus(err, os.Stderr))
}

// exitStatus is the process's exit status for an error, which it tells unless that has been done.
func exitStatus(err error, stderr io.Writer) int {
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errReported):
		return exitFailed
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "Error: %v\nSee '%s --help'.\n", err, usage.command)
		return exitUsage
	default:
		fmt.Fprintf(stderr, "Error: %v\n", err)
		return exitFailed
	}
}

// errReported ends a command whose diagnostics have been printed.
var errReported = errors.New("failed")

// usageError is a call with wrong flags or arguments.
type usageError struct {
	command string
	err     error
}

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }
