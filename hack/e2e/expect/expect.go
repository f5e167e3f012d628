// Package expect reads what Drone's rules say of pipelines, the files CASE.expect.yml, and compares it with what runs did.
package expect

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/yaml"
)

// Pipeline is what Drone's rules say of a pipeline: the content of CASE.expect.yml.
type Pipeline struct {
	// Rule says in words what the case is about.
	Rule string `json:"rule"`
	// Convert are flags of the command, beside those that every case has.
	Convert []string `json:"convert,omitempty"`
	// Layouts are the layouts that the same expectation holds for; steps alone where none is named.
	Layouts []string `json:"layouts,omitempty"`
	// Given are objects that are in the namespace before the run.
	Given []map[string]any `json:"given,omitempty"`
	Stage
	// Build is for builds of a Drone server alone.
	Build
}

// Stage is what a pipeline comes to.
type Stage struct {
	// Result is success or failure; to a Drone server also error, killed, skipped and the like.
	Result string `json:"result"`
	// Error is a part of the text that a Drone server shows with the stage; there is none where it is empty.
	Error string `json:"error,omitempty"`
	// Steps are all steps of the file by their names as written, clone and services included.
	Steps map[string]Step `json:"steps,omitempty"`
}

// Outcomes of a step.
const (
	Success = "success" // it ended with exit code 0
	Failure = "failure" // it ended with another exit code, which is to be named; an ignored failure is one, too
	Broken  = "error"   // it could not be started
	Killed  = "killed"  // it was ended because the pipeline took too long
	Skipped = "skipped" // Drone lists it and does not run it
	Waiting = "pending" // of a stage: no runner takes it
	Absent  = "absent"  // to Drone's server it does not exist
	// Detached is a service or a detached step, which runs until the pipeline ends.
	Detached = "detached"
)

// AnyCode is the exit code of a step that fails with one that its image chooses.
const AnyCode = -1

// exitSkip is the exit code by which a step ends its pipeline as a success.
const exitSkip = 78

// Step is what a step does. A plain text in its place is an outcome and nothing more.
type Step struct {
	Outcome string `json:"outcome"`
	// Exit is the exit code, or AnyCode. That of a success can only be 78, which ends a pipeline.
	Exit int32 `json:"exit,omitempty"`
	// Error is a part of the text that a Drone server shows with the step.
	Error string `json:"error,omitempty"`
	// After are steps that have ended before this one starts.
	After []string `json:"after,omitempty"`
	// Log is the whole log.
	Log *string `json:"log,omitempty"`
	// Lines are lines of the log, in this order, with others between them or not.
	Lines []string `json:"lines,omitempty"`
	// Has are texts that are somewhere in the log.
	Has []string `json:"has,omitempty"`
	// Lacks are texts that are nowhere in the log.
	Lacks []string `json:"lacks,omitempty"`
}

func (s *Step) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		return json.Unmarshal(text, &s.Outcome)
	}
	type plain Step
	return yaml.UnmarshalStrict(text, (*plain)(s))
}

// Parse reads an expectation, and refuses one that says too little or what is not known.
func Parse(text []byte) (Pipeline, error) {
	var e Pipeline
	if err := yaml.UnmarshalStrict(text, &e); err != nil {
		return e, err
	}
	if len(e.Layouts) == 0 {
		e.Layouts = []string{"steps"}
	}
	if e.Rule == "" || e.Result == "" {
		return e, errors.New("rule and result are needed")
	}
	for name, s := range e.Stages {
		if err := s.check(); err != nil {
			return e, fmt.Errorf("stage %q: %w", name, err)
		}
	}
	if err := e.OnDrone().check(); err != nil {
		return e, fmt.Errorf("drone: %w", err)
	}
	return e, e.Stage.check()
}

func (s Stage) check() error {
	results := []string{Success, Failure, Broken, Killed, Skipped, Waiting}
	if !slices.Contains(results, s.Result) {
		return fmt.Errorf("result is %q, must be one of %q", s.Result, results)
	}
	for name, s := range s.Steps {
		if !slices.Contains([]string{Success, Failure, Broken, Killed, Skipped, Absent, Detached}, s.Outcome) {
			return fmt.Errorf("step %q has no outcome that is known: %q", name, s.Outcome)
		}
		if exits := s.Exit != 0; exits != (s.Outcome == Failure) && !(s.Outcome == Success && s.Exit == exitSkip) {
			return fmt.Errorf("step %q: an exit code goes with the outcome failure", name)
		}
	}
	return nil
}

// Observation is what a step did.
type Observation struct {
	Outcome    string
	Exit       int32
	Error      string
	Start, End time.Time // of one that ran to its end
	Log        string
	Runs       int    // how often it ran
	Pod        string // the pod that it may share with others, where that is known
}

// Observed is what a whole run did.
type Observed struct {
	Result string
	Error  string
	Steps  map[string]*Observation
}
