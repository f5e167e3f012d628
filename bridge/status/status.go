// Package status tells what a Drone server should hear of a pipeline: it is a function of what the cluster shows of the
// PipelineRun, its TaskRuns and Pods, and of nothing else. It keeps no state, asks nobody and knows no clock.
//
// What a step's container says comes first, what Tekton says of it second: a TaskRun lags behind its pod, and reports
// exit codes of its own making for what it has cancelled.
package status

import (
	"time"

	api "github.com/drone/drone-go/drone"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// Step is what does not change about a Drone step: where it is to be found in the cluster, and what its failure means.
type Step struct {
	Number        int    `json:"number"`
	Name          string `json:"name"`
	IgnoreFailure bool   `json:"ignoreFailure,omitempty"`
	// FailFast is a step whose failure ends the pipeline at once.
	FailFast bool `json:"failFast,omitempty"`
	// Detached is a service or a detached step: nobody waits for it, it ends with the pipeline.
	Detached bool `json:"detached,omitempty"`
	// OnlyOnFailure is a step that runs only once something has failed.
	OnlyOnFailure bool `json:"onlyOnFailure,omitempty"`
	// Units are where it may run; at most one of them does.
	Units []Unit `json:"units"`
}

// Unit is a place where a step may run.
type Unit struct {
	Task      string `json:"task,omitempty"` // the pipeline task; empty for a Pod beside the run
	Pod       string `json:"pod,omitempty"`  // the Pod beside the run
	Container string `json:"container"`      // in the pod
}

// Cause is why the runner ends a pipeline before it has come to its end.
type Cause string

// The causes.
const (
	Cancelled Cause = "cancelled" // by a user, at the server
	TimedOut  Cause = "timeout"
	FailFast  Cause = "fail-fast" // a step with failure: fast has failed
	EarlyExit Cause = "exit-78"   // a step has asked for the end of a pipeline that is well
	Removed   Cause = "removed"   // somebody deletes the PipelineRun
)

// Ending is that the runner ends a pipeline, and since when.
type Ending struct {
	Cause Cause     `json:"cause"`
	At    time.Time `json:"at"`
}

// Cluster is what the cluster shows.
type Cluster struct {
	Run      *v1.PipelineRun // nil where it is gone
	TaskRuns []*v1.TaskRun
	Pods     []*corev1.Pod
	// Events are those about pods that do not run yet.
	Events []*corev1.Event
}

// Question is all that the answer depends on.
type Question struct {
	Cluster
	Steps []Step
	// Known are the states in which steps were seen before, by number. A step that has ended has ended for good, and one
	// that has run does not become one that never did, whatever the cluster shows afterwards.
	Known  map[int]State
	Ending *Ending
	// Now is the time of the question, and Grace how long a pod may be in trouble that may pass, such as an image that
	// cannot be pulled.
	Now   time.Time
	Grace time.Duration
	// TroubleSince tells when a trouble was first seen; the zero time where it has not been.
	TroubleSince func(Trouble) time.Time
}

// Trouble is that a container cannot start.
type Trouble struct {
	PodUID    string
	Container string
}

// State is what there is to tell about one step.
type State struct {
	Status   string // one of the server's words
	ExitCode int
	Error    string
	Started  time.Time // zero where it has not started
	Stopped  time.Time // zero where it has not stopped
	// Waiting is why a pending step does not run, in a sentence; empty where there is nothing to say.
	Waiting string
	// WaitsFor is the same in a word, one of ForNode and the like.
	WaitsFor string
	// Output is the container whose log is the step's; nil where it has none (yet).
	Output *Output
	// Trouble is set while the container cannot start; the step fails when that lasts.
	Trouble *Trouble

	fatal bool // the container itself has failed, with Tekton's entrypoint in it
}

// Output is a container with a log.
type Output struct {
	Pod, Container string
	UID            string // of the pod; empty where it is not known
	Terminated     bool   // nothing more will come
}

// Final reports whether a step of this status has come to its end.
func Final(status string) bool {
	switch status {
	case api.StatusPending, api.StatusRunning, api.StatusWaiting, api.StatusBlocked, "":
		return false
	}
	return true
}

// Answer is what there is to tell about a pipeline.
type Answer struct {
	Steps []State // as in the question
	// Done reports that nothing changes any more; Status, Error and ExitCode are the stage's then.
	Done     bool
	Status   string
	ExitCode int
	Error    string
	// End is why the runner has to end the pipeline; empty where it has not.
	End Cause
	// StopTasks are pipeline tasks that hang and have to be stopped, and CancelTasks those that must not run.
	StopTasks []string
}

// Of answers.
func Of(q Question) Answer {
	v := newView(q)
	a := Answer{Steps: make([]State, len(q.Steps))}
	for i := range q.Steps {
		a.Steps[i] = v.since(q.Known[q.Steps[i].Number], &q.Steps[i])
	}
	if a.Done = v.done() && !v.behind; a.Done {
		v.finish(a.Steps)
	}
	v.forgiveHandlers(a.Steps)
	a.End = v.end(a.Steps)
	a.StopTasks = v.stop(a.Steps)
	a.Status, a.ExitCode, a.Error = v.verdict(a.Steps)
	return a
}
