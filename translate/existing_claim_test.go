package translate

import (
	"testing"

	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// A Pod beside the run finds the same folder of a claim that exists as the run's tasks, though it cannot name the run's uid.
func TestExistingClaimOfDetachedStep(t *testing.T) {
	b, list := convert(t, dockerHead+"clone: {disable: true}\nsteps:\n"+
		"- {name: build, image: i, commands: [x]}\n- {name: server, image: i, detach: true, commands: [x]}\n- {name: test, image: i, commands: [x]}\n",
		func(_ *Facts, o *Options) { o.Workspace = workspace.Options{Existing: "mine"} })
	if b == nil {
		t.Fatalf("it was not converted: %v", list)
	}
	want := b.PipelineRun.Name + "/source"
	for _, pt := range b.PipelineRun.Spec.PipelineSpec.Tasks {
		for _, w := range pt.Workspaces {
			if w.Name == sourceVolume && w.SubPath != want {
				t.Errorf("task %s has the source at %q, want %q", pt.Name, w.SubPath, want)
			}
		}
	}
	if len(b.Pods) != 1 {
		t.Fatalf("there are %d Pods, want 1", len(b.Pods))
	}
	for _, m := range b.Pods[0].Spec.Containers[0].VolumeMounts {
		if m.MountPath == "/drone/src" && m.SubPath != want {
			t.Errorf("the Pod has the source at %q, want %q", m.SubPath, want)
		}
	}
}
