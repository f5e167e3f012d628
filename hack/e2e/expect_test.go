//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"
)

// expectation is what Drone's rules say of a pipeline: the content of CASE.expect.yml.
type expectation struct {
	// Rule says in words what the case is about.
	Rule string `json:"rule"`
	// Convert are flags of the command, beside those that every case has.
	Convert []string `json:"convert,omitempty"`
	// Layouts are the layouts that the same expectation holds for; steps alone where none is named.
	Layouts []string `json:"layouts,omitempty"`
	// Given are objects that are in the namespace before the run.
	Given []map[string]any `json:"given,omitempty"`
	// Result is the pipeline's: success or failure.
	Result string `json:"result"`
	// Steps are all steps of the file by their names as written, clone and services included.
	Steps map[string]stepExpectation `json:"steps"`
}

// Outcomes of a step.
const (
	success = "success" // it ended with exit code 0
	failure = "failure" // it ended with another exit code, which is to be named; an ignored failure is one, too
	broken  = "error"   // it could not be started
	killed  = "killed"  // it was ended because the pipeline took too long
	skipped = "skipped" // Drone lists it and does not run it
	absent  = "absent"  // to Drone's server it does not exist
	// detached is a service or a detached step, which runs until the pipeline ends.
	detached = "detached"
)

// anyCode is the exit code of a step that fails with one that its image chooses.
const anyCode = -1

// stepExpectation is what a step does. A plain text in its place is an outcome and nothing more.
type stepExpectation struct {
	Outcome string `json:"outcome"`
	// Exit is the exit code, or anyCode.
	Exit int32 `json:"exit,omitempty"`
	// After are steps that have ended before this one starts.
	After []string `json:"after,omitempty"`
	// Log is the whole log.
	Log *string `json:"log,omitempty"`
	// Lines are lines of the log, in this order, with others between them or not.
	Lines []string `json:"lines,omitempty"`
	// Lacks are texts that are nowhere in the log.
	Lacks []string `json:"lacks,omitempty"`
}

func (s *stepExpectation) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		return json.Unmarshal(text, &s.Outcome)
	}
	type plain stepExpectation
	return yaml.UnmarshalStrict(text, (*plain)(s))
}

func parseExpectation(text []byte) (expectation, error) {
	var e expectation
	if err := yaml.UnmarshalStrict(text, &e); err != nil {
		return e, err
	}
	if len(e.Layouts) == 0 {
		e.Layouts = []string{"steps"}
	}
	if e.Rule == "" || e.Result != success && e.Result != failure {
		return e, fmt.Errorf("rule and result (success or failure) are needed")
	}
	for name, s := range e.Steps {
		if !slices.Contains([]string{success, failure, broken, killed, skipped, absent, detached}, s.Outcome) {
			return e, fmt.Errorf("step %q has no outcome that is known: %q", name, s.Outcome)
		}
		if (s.Outcome == failure) != (s.Exit != 0) {
			return e, fmt.Errorf("step %q: an exit code goes with the outcome failure", name)
		}
	}
	return e, nil
}
