package translate

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// Tasks that share files from any node are spread over the nodes, evenly where the scheduler can; no pod is bound to one.
func TestTasksSpreadOverNodes(t *testing.T) {
	const text = dockerHead + "steps: [{name: a, image: i}, {name: b, image: i}]\n"
	for _, test := range []struct {
		rule    string
		storage workspace.Options
		mode    workspace.Coschedule
		want    bool
	}{
		{"as it comes", workspace.Options{}, workspace.CoscheduleWorkspaces, false},
		{"spread", workspace.Options{Spread: true}, workspace.CoscheduleWorkspaces, true},
		{"no co-scheduling", workspace.Options{AccessMode: corev1.ReadWriteMany}, workspace.CoscheduleDisabled, true},
	} {
		template := converted(t, text, func(_ *Facts, o *Options) {
			o.Workspace = test.storage
			o.Cluster = &workspace.Cluster{Coschedule: test.mode, Classes: []workspace.Class{{Name: "c", Default: true}}}
		}).PipelineRun.Spec.TaskRunTemplate.PodTemplate
		if template.Affinity != nil || template.NodeSelector != nil {
			t.Errorf("%s: pods are bound to %v, %v", test.rule, template.NodeSelector, template.Affinity)
		}
		spread := template.TopologySpreadConstraints
		if got := len(spread) == 1; got != test.want {
			t.Errorf("%s: constraints %v, want one: %v", test.rule, spread, test.want)
			continue
		}
		if test.want && (spread[0].TopologyKey != corev1.LabelHostname || spread[0].WhenUnsatisfiable != corev1.ScheduleAnyway) {
			t.Errorf("%s: constraint %+v, want one of nodes that does not hold pods back", test.rule, spread[0])
		}
	}
}
