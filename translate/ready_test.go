package translate

import (
	"slices"
	"testing"

	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// Steps start without waiting for Tekton's controller, unless there are sidecars to wait for: services of the one pod, or
// those that a service mesh injects.
func TestStepsStartAtOnceWithoutSidecars(t *testing.T) {
	const steps = "steps: [{name: a, image: i}, {name: b, image: i, when: {status: [failure]}}]\n"
	const service = "services: [{name: db, image: i, commands: [serve]}]\n"
	for _, test := range []struct {
		rule     string
		text     string
		layout   workspace.Layout
		injected bool
		want     bool
	}{
		{"a task each", steps, workspace.Steps, false, true},
		{"a task each, and a service beside", service + steps, workspace.Steps, false, true},
		{"injected sidecars", service + steps, workspace.Steps, true, false},
		{"one pod", steps, workspace.Pod, false, true},
		{"one pod with a service", service + steps, workspace.Pod, false, false},
	} {
		b := converted(t, dockerHead+test.text, func(_ *Facts, o *Options) {
			o.Workspace.Layout, o.InjectedSidecars = test.layout, test.injected
		})
		spec := b.PipelineRun.Spec.PipelineSpec
		for _, task := range slices.Concat(spec.Tasks, spec.Finally) {
			if got := task.TaskSpec.Metadata.Annotations[annotationReady] == "READY"; got != test.want {
				t.Errorf("%s: task %s starts at once: %v, want %v", test.rule, task.Name, got, test.want)
			}
		}
	}
}
