package testmodel

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tektoncd/pipeline/pkg/apis/pipeline/pod"
	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/selection"
)

func task(name string, steps ...v1.Step) v1.PipelineTask {
	return v1.PipelineTask{Name: name, TaskSpec: &v1.EmbeddedTask{TaskSpec: v1.TaskSpec{Steps: steps}}}
}

func runOf(tasks, finally []v1.PipelineTask) *v1.PipelineRun {
	return &v1.PipelineRun{Spec: v1.PipelineRunSpec{PipelineSpec: &v1.PipelineSpec{Tasks: tasks, Finally: finally}}}
}

// TestFinallySeesHowTasksEnded has a task fail while another runs: what comes after either does not start, and finally
// starts when all have ended, with their states in parameters and guards.
func TestFinallySeesHowTasksEnded(t *testing.T) {
	after := task("after", v1.Step{Name: "s"})
	after.RunAfter = []string{"long"}
	guarded := task("guarded", v1.Step{Name: "s", When: v1.StepWhenExpressions{
		{Input: "$(params.state)", Operator: selection.In, Values: []string{"None"}},
	}})
	guarded.Params = v1.Params{{Name: "state", Value: *v1.NewStructuredValues("$(tasks.after.status)")}}
	guarded.TaskSpec.Params = v1.ParamSpecs{{Name: "state"}}
	guarded.When = v1.WhenExpressions{{Input: "$(tasks.status)", Operator: selection.In, Values: []string{"Failed"}}}
	never := task("never", v1.Step{Name: "s"})
	never.When = v1.WhenExpressions{{Input: "$(tasks.long.status)", Operator: selection.In, Values: []string{"Failed"}}}
	run := runOf([]v1.PipelineTask{task("short", v1.Step{Name: "s"}), task("long", v1.Step{Name: "s"}), after},
		[]v1.PipelineTask{guarded, never})

	starts := map[string]int64{}
	result, err := RunPipeline(run, func(c Container) Exit {
		starts[c.Task] = c.Start
		return map[string]Exit{"short": {Code: 1, Duration: 1}, "long": {Duration: 5}, "guarded": {Duration: 1}}[c.Task]
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"short": 0, "long": 0, "guarded": 5}
	if diff := cmp.Diff(want, starts); diff != "" || result.Succeeded {
		t.Errorf("succeeded: %v, starts (-want +got):\n%s", result.Succeeded, diff)
	}
}

func TestStepsSeeResultsOfEarlierOnes(t *testing.T) {
	run := runOf([]v1.PipelineTask{task("t",
		v1.Step{Name: "look"},
		v1.Step{
			Name: "tell", Env: []corev1.EnvVar{{Name: "STATE", Value: "$(steps.look.results.state)"}},
			When: v1.StepWhenExpressions{{Input: "$(steps.look.results.state)", Operator: selection.In,
				Values: []string{"failure"}}},
		},
		v1.Step{
			Name: "skip",
			When: v1.StepWhenExpressions{{Input: "$(steps.look.results.state)", Operator: selection.In,
				Values: []string{"success"}}},
		},
	)}, nil)
	var told []string
	_, err := RunPipeline(run, func(c Container) Exit {
		if state, ok := c.Env("STATE"); ok {
			told = append(told, c.Step.Name+" "+state)
		}
		return Exit{Results: map[string]string{"state": "failure"}}
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"tell failure"}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestEnvironmentOfThePodTemplateWins(t *testing.T) {
	run := runOf([]v1.PipelineTask{task("t", v1.Step{Name: "s", Env: []corev1.EnvVar{{Name: "A", Value: "step"}}})}, nil)
	run.Spec.TaskRunTemplate.PodTemplate = &pod.Template{Env: []corev1.EnvVar{{Name: "A", Value: "template"}}}
	_, err := RunPipeline(run, func(c Container) Exit {
		if got, _ := c.Env("A"); got != "template" {
			t.Errorf("A = %q, want that of the template", got)
		}
		return Exit{}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatTektonWouldRefuseIsAnError(t *testing.T) {
	waits := task("a", v1.Step{Name: "s"})
	waits.RunAfter = []string{"nobody"}
	param := task("a", v1.Step{Name: "s"})
	param.TaskSpec.Params = v1.ParamSpecs{{Name: "state"}}
	for name, run := range map[string]*v1.PipelineRun{
		"a task that waits for nobody":     runOf([]v1.PipelineTask{waits}, nil),
		"two tasks of one name":            runOf([]v1.PipelineTask{task("a"), task("a")}, nil),
		"a task and a finally of one name": runOf([]v1.PipelineTask{task("a")}, []v1.PipelineTask{task("a")}),
		"two steps of one name":            runOf([]v1.PipelineTask{task("a", v1.Step{Name: "s"}, v1.Step{Name: "s"})}, nil),
		"a parameter without a value":      runOf([]v1.PipelineTask{param}, nil),
		"a reference to no result": runOf([]v1.PipelineTask{task("a", v1.Step{Name: "s", When: v1.StepWhenExpressions{
			{Input: "$(steps.x.results.y)", Operator: selection.In, Values: []string{"z"}},
		}})}, nil),
	} {
		if _, err := RunPipeline(run, func(Container) Exit { return Exit{} }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
