package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/reconciler/pipeline/dag"
	"github.com/tektoncd/pipeline/pkg/reconciler/pipelinerun/resources"
	taskresources "github.com/tektoncd/pipeline/pkg/reconciler/taskrun/resources"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/utils/clock"
	"knative.dev/pkg/apis"
	"pgregory.net/rapid"

	"github.com/drone-tekton/drone-runner-tekton/translate/testmodel"
)

// tekton is a PipelineRun in the hands of Tekton's reconciler, as far as it decides what starts.
type tekton struct {
	facts *resources.PipelineRunFacts
	run   *v1.PipelineRun
}

func newTekton(spec *v1.PipelineSpec) (*tekton, error) {
	tasks, finally := v1.PipelineTaskList(spec.Tasks), v1.PipelineTaskList(spec.Finally)
	graph, err := dag.Build(tasks, tasks.Deps())
	if err != nil {
		return nil, err
	}
	last, err := dag.Build(finally, map[string][]string{})
	if err != nil {
		return nil, err
	}
	now := metav1.Now()
	t := &tekton{
		facts: &resources.PipelineRunFacts{
			TasksGraph: graph, FinalTasksGraph: last,
			TimeoutsState: resources.PipelineRunTimeoutsState{StartTime: &now.Time, Clock: clock.RealClock{}},
		},
		run: &v1.PipelineRun{},
	}
	t.run.Status.StartTime = &now
	t.run.Status.InitializeConditions(clock.RealClock{})
	for _, list := range []v1.PipelineTaskList{tasks, finally} {
		for _, task := range list {
			t.facts.State = append(t.facts.State, &resources.ResolvedPipelineTask{
				PipelineTask: task.DeepCopy(), TaskRunNames: []string{task.Name}, ResolvedTask: &taskresources.ResolvedTask{},
			})
		}
	}
	return t, nil
}

// next is what the reconciler's runNextSchedulableTask would start.
func (t *tekton) next() ([]string, error) {
	t.facts.ResetSkippedCache()
	queue, err := t.facts.DAGExecutionQueue()
	if err != nil {
		return nil, err
	}
	final := t.facts.GetFinalTasks()
	resources.ApplyPipelineTaskStateContext(final, t.facts.GetPipelineTaskStatus())
	var names []string
	for _, task := range append(queue, final...) {
		if !task.Skip(t.facts).IsSkipped && !task.IsFinallySkipped(t.facts).IsSkipped {
			names = append(names, task.PipelineTask.Name)
		}
	}
	return names, nil
}

func (t *tekton) start(name string) {
	task := t.facts.State.ToMap()[name]
	task.TaskRuns = []*v1.TaskRun{{ObjectMeta: metav1.ObjectMeta{Name: name}}}
}

func (t *tekton) end(name string, succeeded bool) {
	condition := &apis.Condition{Type: apis.ConditionSucceeded, Status: "False", Reason: v1.TaskRunReasonFailed.String()}
	if succeeded {
		condition.Status, condition.Reason = "True", v1.TaskRunReasonSuccessful.String()
	}
	t.facts.State.ToMap()[name].TaskRuns[0].Status.SetCondition(condition)
}

// status is what finally tasks see of the others.
func (t *tekton) status() map[string]string {
	t.facts.ResetSkippedCache()
	status := t.facts.GetPipelineTaskStatus()
	for name := range status {
		if strings.HasSuffix(name, ".reason") {
			delete(status, name)
		}
	}
	return status
}

// succeeded is the condition of the run.
func (t *tekton) succeeded() string {
	t.facts.ResetSkippedCache()
	logger := zap.NewNop().Sugar()
	return string(t.facts.GetPipelineConditionStatus(context.Background(), t.run, logger, clock.RealClock{}).Status)
}

// TestFactsDecideAsTekton plays generated PipelineRuns in the model and in Tekton's own state machine, event by event.
func TestFactsDecideAsTekton(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := generate(t)
		model, err := testmodel.NewFacts(spec)
		if err != nil {
			t.Fatal(err)
		}
		real, err := newTekton(spec)
		if err != nil {
			t.Fatal(err)
		}
		var running []string
		for {
			want, wantErr := real.next()
			next, gotErr := model.Next()
			var got []string
			for _, task := range next {
				got = append(got, task.Name)
			}
			if (gotErr != nil) != (wantErr != nil) || !slices.Equal(got, want) {
				t.Fatalf("next tasks are %v (error: %v), in Tekton %v (error: %v)", got, gotErr, want, wantErr)
			}
			if got, want := fmt.Sprint(model.Status()), fmt.Sprint(real.status()); got != want {
				t.Fatalf("status is %s, in Tekton %s", got, want)
			}
			for _, name := range got {
				model.Start(name)
				real.start(name)
			}
			running = append(running, got...)
			if len(running) == 0 {
				break
			}
			i := rapid.IntRange(0, len(running)-1).Draw(t, "ends")
			succeeded := rapid.IntRange(0, 3).Draw(t, "succeeds") < 3
			model.End(running[i], succeeded)
			real.end(running[i], succeeded)
			running = slices.Delete(running, i, i+1)
		}
		want := "False"
		if model.Succeeded() {
			want = "True"
		}
		if got := real.succeeded(); got != want {
			t.Errorf("Tekton's condition is %s, want %s", got, want)
		}
	})
}

// generate draws a pipeline of tasks in any order of waiting, some with a when, and finally tasks with guards on the
// states of others.
func generate(t *rapid.T) *v1.PipelineSpec {
	spec := &v1.PipelineSpec{}
	for i := range rapid.IntRange(1, 8).Draw(t, "tasks") {
		task := v1.PipelineTask{Name: fmt.Sprintf("t%d", i)}
		for range rapid.IntRange(0, min(i, 2)).Draw(t, "parents") {
			task.RunAfter = append(task.RunAfter, fmt.Sprintf("t%d", rapid.IntRange(0, i-1).Draw(t, "parent")))
		}
		slices.Sort(task.RunAfter)
		task.RunAfter = slices.Compact(task.RunAfter)
		switch rapid.IntRange(0, 9).Draw(t, "when") {
		case 8:
			task.When = v1.WhenExpressions{{Input: "push", Operator: selection.In, Values: []string{"push", "tag"}}}
		case 9:
			task.When = v1.WhenExpressions{{Input: "push", Operator: selection.NotIn, Values: []string{"push"}}}
		}
		spec.Tasks = append(spec.Tasks, task)
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "finally") {
		task := v1.PipelineTask{Name: fmt.Sprintf("f%d", i)}
		for range rapid.IntRange(0, 2).Draw(t, "guards") {
			input := "$(tasks.status)"
			if rapid.Bool().Draw(t, "of one") {
				input = fmt.Sprintf("$(tasks.t%d.status)", rapid.IntRange(0, len(spec.Tasks)-1).Draw(t, "of"))
			}
			state := rapid.SampledFrom([]string{"Failed", "Succeeded", "None", "Completed"}).Draw(t, "state")
			task.When = append(task.When, v1.WhenExpression{Input: input, Operator: selection.In, Values: []string{state}})
		}
		spec.Finally = append(spec.Finally, task)
	}
	return spec
}
