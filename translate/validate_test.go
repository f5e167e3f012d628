package translate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/selection"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// What Tekton would refuse is an error, with Tekton's reason.
func TestRunsThatTektonRefuses(t *testing.T) {
	b, list := convert(t, dockerHead+"steps: [{name: a, image: '$(params.x)'}]\n")
	if got := about(list, CodeInvalid); b != nil || len(got) != 1 || !strings.Contains(got[0],
		`non-existent variable in "$(params.x)"`) {
		t.Errorf("said of an image that refers to a parameter: %q, want Tekton's reason", got)
	}
}

// A run that the cluster could not store is an error with a way out.
func TestRunsThatAreTooLarge(t *testing.T) {
	text := dockerHead + "steps:\n"
	for i := range 20 {
		text += fmt.Sprintf("- {name: s%d, image: i, environment: {X: %s}}\n", i, strings.Repeat("x", 50<<10))
	}
	b, list := convert(t, text)
	if got := about(list, CodeTooLarge); b != nil || len(got) != 1 || !strings.Contains(got[0], "KiB") {
		t.Errorf("said of a run of a megabyte: %q", got)
	}
}

// A pod of more containers than the API server can keep the state of is an error, chains of any length are not.
func TestPodsThatAreTooLarge(t *testing.T) {
	text := dockerHead + "clone: {disable: true}\nsteps:\n"
	for i := range 150 {
		text += fmt.Sprintf("- {name: s%d, image: i, commands: [echo %d]}\n", i, i)
	}
	layout := func(l workspace.Layout) func(*Facts, *Options) {
		return func(_ *Facts, o *Options) { o.Workspace.Layout = l }
	}
	b, list := convert(t, text, layout(workspace.Pod))
	if got := about(list, CodeTooLarge); b != nil || len(got) != 1 || !strings.Contains(got[0], "150 containers") {
		t.Errorf("said of a pod of 150 containers: %q", got)
	}
	tasks := converted(t, text, layout(workspace.Chains)).PipelineRun.Spec.PipelineSpec.Tasks
	if len(tasks) != 3 {
		t.Errorf("a row of 150 steps becomes %d chains, want 3", len(tasks))
	}
}

// More steps than any run could hold are refused before any work is done for them.
func TestTooManySteps(t *testing.T) {
	var text strings.Builder
	text.WriteString(dockerHead + "steps:\n")
	for i := range 20_000 {
		fmt.Fprintf(&text, "- {name: s%d, image: i, detach: true, depends_on: [clone]}\n", i)
	}
	b, list := convert(t, text.String())
	if got := about(list, CodeTooLarge); b != nil || len(got) != 1 || !strings.Contains(got[0], "20000 steps") {
		t.Errorf("said of 20000 steps: %q", got)
	}
}

// The outline that Tekton validates stands for the run: whatever is wrong with a run, it is refused too.
func TestOutlineIsRefusedWhereTheRunIs(t *testing.T) {
	text := kubernetesHead + "volumes: [{name: v, temp: {}}]\nsteps:\n"
	for i := range 5 {
		text += fmt.Sprintf("- {name: s%d, image: i%d, commands: [echo %d], environment: {A: x%d}, "+
			"volumes: [{name: v, path: /v}]}\n", i, i, i, i)
	}
	text += "- {name: f, image: i, when: {status: [failure]}}\n"
	run := converted(t, text).PipelineRun
	if err := refusal(outline(run)); err != nil {
		t.Fatalf("a good run is refused: %v", err)
	}
	step := func(i int, change func(*v1.Step)) func(*v1.PipelineRun) {
		return func(r *v1.PipelineRun) { change(&r.Spec.PipelineSpec.Tasks[i].TaskSpec.Steps[0]) }
	}
	task := func(i int, change func(*v1.PipelineTask)) func(*v1.PipelineRun) {
		return func(r *v1.PipelineRun) { change(&r.Spec.PipelineSpec.Tasks[i]) }
	}
	last := len(run.Spec.PipelineSpec.Tasks) - 1
	for fault, change := range map[string]func(*v1.PipelineRun){
		"an unknown parameter in arguments":   step(last, func(s *v1.Step) { s.Args = []string{"a", "$(params.x)"} }),
		"an unknown parameter in the command": step(last, func(s *v1.Step) { s.Command = []string{"$(params.x)"} }),
		"an unknown parameter in a variable": step(last,
			func(s *v1.Step) { s.Env = append(s.Env, corev1.EnvVar{Name: "A", Value: "b $(params['x'])"}) }),
		"an unknown parameter in the image":     step(last, func(s *v1.Step) { s.Image = "$(params.x)" }),
		"an unknown parameter in the directory": step(last, func(s *v1.Step) { s.WorkingDir = "/$(params.x)" }),
		"an unknown context": step(last,
			func(s *v1.Step) { s.Args = []string{"$(context.taskRun.colour)"} }),
		"no image":                  step(last, func(s *v1.Step) { s.Image = "" }),
		"no steps":                  task(last, func(p *v1.PipelineTask) { p.TaskSpec.Steps = nil }),
		"a wrong onError of a step": step(last, func(s *v1.Step) { s.OnError = "maybe" }),
		"a result of a step in the wrong place": step(last,
			func(s *v1.Step) { s.WorkingDir = "/$(steps.a.results.b)" }),
		"a script and a command": step(last, func(s *v1.Step) { s.Script = "x" }),
		"a mount below /tekton": step(last, func(s *v1.Step) {
			s.VolumeMounts = []corev1.VolumeMount{{Name: "drone-status", MountPath: "/tekton/x"}}
		}),
		"two volumes of one name": task(last,
			func(p *v1.PipelineTask) { p.TaskSpec.Volumes = append(p.TaskSpec.Volumes, p.TaskSpec.Volumes[0]) }),
		"two workspaces at one path": task(last,
			func(p *v1.PipelineTask) { p.TaskSpec.Workspaces[1].MountPath = p.TaskSpec.Workspaces[0].MountPath }),
		"two tasks of one name":     task(last, func(p *v1.PipelineTask) { p.Name = "s0" }),
		"a name that is none":       task(last, func(p *v1.PipelineTask) { p.Name = "A b" }),
		"a task after nothing":      task(last, func(p *v1.PipelineTask) { p.RunAfter = []string{"nothing"} }),
		"a circle":                  task(1, func(p *v1.PipelineTask) { p.RunAfter = []string{"s4"} }),
		"a wrong onError of a task": task(last, func(p *v1.PipelineTask) { p.OnError = "maybe" }),
		"a condition on an unknown task": task(last, func(p *v1.PipelineTask) {
			p.When = v1.WhenExpressions{{Input: "$(tasks.nothing.results.x)", Operator: selection.In,
				Values: []string{"a"}}}
		}),
		"a wrong condition of a step": step(last, func(s *v1.Step) {
			s.When = v1.StepWhenExpressions{{Input: "a", Operator: "maybe", Values: []string{"a"}}}
		}),
		"a parameter of a wrong type": task(last,
			func(p *v1.PipelineTask) { p.TaskSpec.Params = v1.ParamSpecs{{Name: "x", Type: "number"}} }),
		"a status in the main graph": task(last, func(p *v1.PipelineTask) {
			p.Params = v1.Params{{Name: "x", Value: *v1.NewStructuredValues("$(tasks.s0.status)")}}
		}),
		"a finally task that waits":            func(r *v1.PipelineRun) { r.Spec.PipelineSpec.Finally[0].RunAfter = []string{"s0"} },
		"a finally task of a main task's name": func(r *v1.PipelineRun) { r.Spec.PipelineSpec.Finally[0].Name = "s0" },
		"an unknown state":                     func(r *v1.PipelineRun) { r.Spec.PipelineSpec.Finally[0].When[0].Input = "$(tasks.nothing.status)" },
		"no name":                              func(r *v1.PipelineRun) { r.Name, r.GenerateName = "A b", "" },
		"a time below none":                    func(r *v1.PipelineRun) { r.Spec.Timeouts.Pipeline = &metav1.Duration{Duration: -time.Hour} },
		"two workspaces of one name": func(r *v1.PipelineRun) {
			r.Spec.Workspaces = append(r.Spec.Workspaces, r.Spec.Workspaces[0])
		},
		"a workspace without a volume": func(r *v1.PipelineRun) { r.Spec.Workspaces[0].VolumeClaimTemplate = nil },
	} {
		bad := run.DeepCopy()
		change(bad)
		outlined := outline(bad)
		if err := refusal(bad.DeepCopy()); err == nil {
			t.Errorf("%s: Tekton does not refuse the run, so that the case says nothing", fault)
		} else if refusal(outlined) == nil {
			t.Errorf("%s: the outline is not refused; Tekton says %v", fault, err)
		}
	}
}

// The outline leaves out what the run can do without, and changes nothing of the run.
func TestOutlineIsSmall(t *testing.T) {
	run := converted(t, string(longPipeline(50))).PipelineRun
	before := run.DeepCopy()
	specs := 0
	small := outline(run)
	for _, pt := range small.Spec.PipelineSpec.Tasks {
		if pt.TaskSpec != nil {
			specs++
		}
	}
	if specs != 2 || len(small.Spec.PipelineSpec.Tasks) != len(run.Spec.PipelineSpec.Tasks) {
		t.Errorf("the outline has %d specifications of %d tasks, want those of clone and of one step", specs,
			len(small.Spec.PipelineSpec.Tasks))
	}
	if err := refusal(small); err != nil {
		t.Errorf("the outline is refused: %v", err)
	}
	if diff := cmp.Diff(before, run); diff != "" {
		t.Errorf("outlining changed the run (-before +after):\n%s", diff)
	}
}

// Pipelines for machines that Tekton does not have are left out, and that is told.
func TestPipelinesForOtherMachines(t *testing.T) {
	b, list := convert(t, dockerHead+"platform: {os: windows}\nsteps: [{name: a, image: i}]\n")
	if got := about(list, CodePlatform); b != nil || list.HasErrors() || len(got) != 1 {
		t.Errorf("said of a pipeline for windows: %q", got)
	}
}
