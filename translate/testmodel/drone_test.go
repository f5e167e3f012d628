package testmodel

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// story tells what became of each step: whether and when it ran, and what it was told.
func story(h History) []string {
	var lines []string
	for _, r := range h.Runs {
		line := fmt.Sprintf("%s %v", r.Step.Name, r.Outcome)
		if r.Outcome == Ran {
			line += fmt.Sprintf(" %d-%d", r.Start, r.End)
		}
		if r.Failing {
			line += fmt.Sprintf(" failing %v", r.FailedSteps)
		}
		lines = append(lines, line)
	}
	return append(lines, fmt.Sprintf("failed: %v", h.Failed))
}

// TestRulesOfDronesScheduler holds the model against what is known of Drone's runners, rule by rule.
func TestRulesOfDronesScheduler(t *testing.T) {
	clone := &Step{Name: "clone", Duration: 1}
	for _, tt := range []struct {
		rule     string
		pipeline Pipeline
		want     []string
	}{
		{
			"without depends_on each entry waits for the one before it: clone, services, steps",
			Pipeline{Clone: clone, Services: []Step{{Name: "redis"}}, Steps: []Step{{Name: "a", Duration: 2},
				{Name: "b", Duration: 3}}},
			[]string{"clone ran 0-1", "redis ran 1-1", "a ran 1-3", "b ran 3-6", "failed: false"},
		},
		{
			"with depends_on anywhere, what has none waits for clone alone",
			Pipeline{Clone: clone, Services: []Step{{Name: "redis"}}, Steps: []Step{
				{Name: "a", Duration: 2}, {Name: "b", Duration: 3}, {Name: "c", DependsOn: []string{"a"}, Duration: 1},
			}},
			[]string{"clone ran 0-1", "redis ran 1-1", "a ran 1-3", "b ran 1-4", "c ran 3-4", "failed: false"},
		},
		{
			"with depends_on anywhere and cloning disabled, what has none starts at once",
			Pipeline{Steps: []Step{{Name: "a", Duration: 2}, {Name: "b", Duration: 3},
				{Name: "c", DependsOn: []string{"a"}, Duration: 1}}},
			[]string{"a ran 0-2", "b ran 0-3", "c ran 2-3", "failed: false"},
		},
		{
			"a detached step is done as soon as it is launched, and its exit code does not count",
			Pipeline{Steps: []Step{{Name: "a", Detached: true, Duration: 9, Exit: 1}, {Name: "b", Duration: 1}}},
			[]string{"a ran 0-0", "b ran 0-1", "failed: false"},
		},
		{
			"a step that does not match keeps its place in the order, and nobody hears of it",
			Pipeline{Steps: []Step{{Name: "a", Duration: 2}, {Name: "b", Policy: Never, Duration: 5}, {Name: "c", Duration: 1}}},
			[]string{"a ran 0-2", "b absent", "c ran 2-3", "failed: false"},
		},
		{
			"after a failure, on-success steps are skipped, on-failure and always-steps run, in order",
			Pipeline{Steps: []Step{
				{Name: "a", Duration: 2, Exit: 1}, {Name: "b", Duration: 1}, {Name: "c", Policy: OnFailure, Duration: 3},
				{Name: "d", Policy: Always, Duration: 4},
			}},
			[]string{"a ran 0-2", "b skipped", "c ran 2-5 failing [a]", "d ran 5-9 failing [a]", "failed: true"},
		},
		{
			"without a failure, on-failure steps are skipped, and what waits for them goes on",
			Pipeline{Steps: []Step{{Name: "a", Duration: 2}, {Name: "b", Policy: OnFailure, Duration: 1},
				{Name: "c", Duration: 3}}},
			[]string{"a ran 0-2", "b skipped", "c ran 2-5", "failed: false"},
		},
		{
			"an on-failure step whose turn has come is skipped for good, whatever fails later",
			Pipeline{Steps: []Step{{Name: "a", Duration: 2}, {Name: "b", Policy: OnFailure, Duration: 1},
				{Name: "c", Duration: 3, Exit: 1}}},
			[]string{"a ran 0-2", "b skipped", "c ran 2-5", "failed: true"},
		},
		{
			"a failure counts for all branches; what runs goes on",
			Pipeline{Clone: clone, Steps: []Step{
				{Name: "a", Duration: 2, Exit: 1}, {Name: "b", Duration: 5}, {Name: "c", DependsOn: []string{"b"}, Duration: 1},
				{Name: "d", DependsOn: []string{"b"}, Policy: Always, Duration: 1},
			}},
			[]string{"clone ran 0-1", "a ran 1-3", "b ran 1-6", "c skipped", "d ran 6-7 failing [a]", "failed: true"},
		},
		{
			"a failure that is ignored does not count",
			Pipeline{Steps: []Step{
				{Name: "a", Duration: 2, Exit: 1, Ignore: true}, {Name: "b", Duration: 1},
				{Name: "c", Policy: OnFailure, Duration: 1},
			}},
			[]string{"a ran 0-2", "b ran 2-3", "c skipped", "failed: false"},
		},
		{
			"a step that cannot be started counts even if its failure is ignored, and is not named then",
			Pipeline{Steps: []Step{
				{Name: "a", Duration: 2, Broken: true, Ignore: true}, {Name: "b", Duration: 1},
				{Name: "c", Policy: OnFailure, Duration: 1},
			}},
			[]string{"a ran 0-2", "b skipped", "c ran 2-3 failing []", "failed: true"},
		},
		{
			"failed steps are named in list order, handlers among them",
			Pipeline{Clone: clone, Steps: []Step{
				{Name: "a", Duration: 5, Exit: 1}, {Name: "b", Duration: 2, Exit: 1},
				{Name: "c", DependsOn: []string{"b"}, Policy: OnFailure, Duration: 4, Exit: 1},
				{Name: "d", DependsOn: []string{"c"}, Policy: OnFailure, Duration: 1},
			}},
			[]string{
				"clone ran 0-1", "a ran 1-6", "b ran 1-3", "c ran 3-7 failing [b]", "d ran 7-8 failing [a b c]", "failed: true",
			},
		},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, story(tt.pipeline.Play(Deviations{}))); diff != "" {
				t.Errorf("story (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDeviations(t *testing.T) {
	failure := Pipeline{Clone: &Step{Name: "clone", Duration: 1}, Steps: []Step{
		{Name: "a", Duration: 2, Exit: 1}, {Name: "b", Duration: 5}, {Name: "c", DependsOn: []string{"b"}, Duration: 1},
		{Name: "d", DependsOn: []string{"a"}, Policy: OnFailure, Duration: 1},
		{Name: "e", Detached: true, Policy: Always, DependsOn: []string{"a"}},
	}}
	for _, tt := range []struct {
		name       string
		deviations Deviations
		want       []string
	}{
		{
			"none", Deviations{},
			[]string{"clone ran 0-1", "a ran 1-3", "b ran 1-6", "c skipped", "d ran 3-4 failing [a]",
				"e ran 3-3 failing [a]", "failed: true"},
		},
		{
			"handlers last", Deviations{HandlersLast: true},
			[]string{"clone ran 0-1", "a ran 1-3", "b ran 1-6", "c skipped", "d ran 6-6 failing [a]",
				"e ran 3-3 failing [a]", "failed: true"},
		},
		{
			"b and c are one task", Deviations{Follows: map[string]string{"c": "b"}},
			[]string{"clone ran 0-1", "a ran 1-3", "b ran 1-6", "c ran 6-7", "d ran 3-4 failing [a]",
				"e ran 3-3 failing [a]", "failed: true"},
		},
		{
			"one by one", Deviations{OneByOne: true},
			[]string{"clone ran 0-1", "a ran 1-3", "b skipped", "c skipped", "d ran 3-4 failing [a]",
				"e ran 3-3 failing [a]", "failed: true"},
		},
		{
			"e at once", Deviations{AtOnce: map[string]bool{"e": true}},
			[]string{"clone ran 0-1", "a ran 1-3", "b ran 1-6", "c skipped", "d ran 3-4 failing [a]", "e ran 0-0",
				"failed: true"},
		},
		{
			"e not when failing", Deviations{NotWhenFailing: map[string]bool{"e": true}},
			[]string{"clone ran 0-1", "a ran 1-3", "b ran 1-6", "c skipped", "d ran 3-4 failing [a]", "e skipped",
				"failed: true"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, story(failure.Play(tt.deviations))); diff != "" {
				t.Errorf("story (-want +got):\n%s", diff)
			}
		})
	}
}
