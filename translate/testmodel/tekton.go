package testmodel

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/reconciler/pipeline/dag"
)

// TaskStatus is what $(tasks.<name>.status) says of a task.
type TaskStatus string

const (
	TaskSucceeded TaskStatus = "Succeeded"
	TaskFailed    TaskStatus = "Failed"
	// TaskNone is a task that did not run, or not yet.
	TaskNone TaskStatus = "None"
)

// Facts is what Tekton's reconciler knows of a PipelineRun: how its tasks stand. It decides which start next, by the
// rules of Tekton's PipelineRunFacts for tasks without retries, matrix, results and timeouts. The order itself is
// Tekton's own graph.
type Facts struct {
	tasks, finally []v1.PipelineTask
	graph          *dag.Graph
	status         map[string]TaskStatus
	started        map[string]bool
	skipped        map[string]skip // of the present state; nil is to be found out
}

// skip is why a task does not run.
type skip int

const (
	notSkipped skip = iota
	skippedByWhen
	skippedByStop
	skippedByParent
)

// NewFacts begins a PipelineRun.
func NewFacts(spec *v1.PipelineSpec) (*Facts, error) {
	names := map[string]bool{}
	for _, t := range slices.Concat(spec.Tasks, []v1.PipelineTask(spec.Finally)) {
		if names[t.Name] {
			return nil, fmt.Errorf("two tasks are called %s", t.Name)
		}
		names[t.Name] = true
	}
	tasks := v1.PipelineTaskList(spec.Tasks)
	graph, err := dag.Build(tasks, tasks.Deps())
	if err != nil {
		return nil, fmt.Errorf("building the graph of tasks: %w", err)
	}
	return &Facts{
		tasks: spec.Tasks, finally: spec.Finally, graph: graph,
		status: map[string]TaskStatus{}, started: map[string]bool{},
	}, nil
}

// Start notes that a task has been started.
func (f *Facts) Start(name string) {
	f.started[name] = true
	f.skipped = nil
}

// End notes how a task has ended.
func (f *Facts) End(name string, succeeded bool) {
	f.status[name] = TaskFailed
	if succeeded {
		f.status[name] = TaskSucceeded
	}
	f.skipped = nil
}

// Next are the tasks to start now. Those of finally come once all others are done, with the states of tasks filled in.
//
// As in Tekton, there is an error where a task has failed, one that has not started counts as done for that reason, and
// one that it comes after is still running. Tekton's reconciler then waits for the next event.
func (f *Facts) Next() ([]v1.PipelineTask, error) {
	f.findSkipped()
	var finished []string
	for _, t := range f.tasks {
		if f.isDone(t.Name) {
			finished = append(finished, t.Name)
		}
	}
	candidates, err := dag.GetCandidateTasks(f.graph, finished...)
	if err != nil {
		return nil, fmt.Errorf("finding the next tasks: %w", err)
	}
	var next []v1.PipelineTask
	for _, t := range f.tasks {
		if candidates.Has(t.Name) && !f.started[t.Name] && f.skipped[t.Name] == notSkipped && !f.stopping() {
			next = append(next, t)
		}
	}
	if len(finished) < len(f.tasks) {
		return next, nil
	}
	for _, t := range f.finally {
		if t := f.withStatus(t); !f.started[t.Name] && t.When.AllowsExecution(nil) {
			next = append(next, t)
		}
	}
	return next, nil
}

// stopping reports whether a task has failed, after which no other starts.
func (f *Facts) stopping() bool {
	for _, t := range f.tasks {
		if f.status[t.Name] == TaskFailed && t.OnError != v1.PipelineTaskContinue {
			return true
		}
	}
	return false
}

func (f *Facts) isDone(name string) bool {
	return f.skipped[name] != notSkipped || f.status[name] != ""
}

// findSkipped decides for each task of the main graph whether it is skipped in the present state. Skipping by when
// goes no further; any other skips what comes after too.
func (f *Facts) findSkipped() {
	if f.skipped != nil {
		return
	}
	f.skipped = map[string]skip{}
	seen := map[string]bool{}
	byName := map[string]v1.PipelineTask{}
	for _, t := range f.tasks {
		byName[t.Name] = t
	}
	var find func(name string) skip
	find = func(name string) skip {
		if seen[name] {
			return f.skipped[name]
		}
		seen[name] = true
		parentsDone, parentSkipped := true, false
		for _, p := range f.graph.Nodes[name].Prev {
			why := find(p.Key)
			parentsDone = parentsDone && f.isDone(p.Key)
			parentSkipped = parentSkipped || why == skippedByStop || why == skippedByParent
		}
		switch {
		case f.started[name]:
		case f.stopping():
			f.skipped[name] = skippedByStop
		case parentsDone && !byName[name].When.AllowsExecution(nil):
			f.skipped[name] = skippedByWhen
		case parentSkipped:
			f.skipped[name] = skippedByParent
		}
		return f.skipped[name]
	}
	for _, t := range f.tasks {
		find(t.Name)
	}
}

// Status is the state of each task of the main graph, and of all together, as finally tasks see them.
func (f *Facts) Status() map[string]string {
	f.findSkipped()
	replacements := map[string]string{}
	all := string(TaskSucceeded)
	finished := true
	for _, t := range f.tasks {
		s := f.status[t.Name]
		if s == "" {
			s = TaskNone
		}
		replacements["tasks."+t.Name+".status"] = string(s)
		finished = finished && f.isDone(t.Name)
		switch {
		case s == TaskFailed:
			all = string(TaskFailed)
		case f.skipped[t.Name] != notSkipped && all != string(TaskFailed):
			all = "Completed"
		}
	}
	if !finished {
		all = string(TaskNone)
	}
	replacements[v1.PipelineTasksAggregateStatus] = all
	return replacements
}

// withStatus fills the states of tasks into a finally task.
func (f *Facts) withStatus(t v1.PipelineTask) v1.PipelineTask {
	status := f.Status()
	t = *t.DeepCopy()
	t.Params = t.Params.ReplaceVariables(status, nil, nil)
	t.When = t.When.ReplaceVariables(status, nil)
	return t
}

// Succeeded is the result of the run, once nothing is left to do.
func (f *Facts) Succeeded() bool {
	for _, list := range [][]v1.PipelineTask{f.tasks, f.finally} {
		for _, t := range list {
			if f.status[t.Name] == TaskFailed && t.OnError != v1.PipelineTaskContinue {
				return false
			}
		}
	}
	return true
}

// TektonRun is a PipelineRun that has ended.
type TektonRun struct {
	Steps     []StepRun
	Succeeded bool
}

// StepRun is one run of a step's container.
type StepRun struct {
	Container
	Exit
	End int64
}

// RunPipeline plays a PipelineRun. Each container is executed by a function, which says how it ended.
func RunPipeline(run *v1.PipelineRun, execute func(Container) Exit) (TektonRun, error) {
	var out TektonRun
	facts, err := NewFacts(run.Spec.PipelineSpec)
	if err != nil {
		return out, err
	}
	type running struct {
		name      string
		end       int64
		succeeded bool
	}
	var tasks []running
	now := int64(0)
	for {
		next, err := facts.Next()
		if err != nil && len(tasks) == 0 {
			return out, err
		}
		for _, pt := range next {
			steps, succeeded, err := runTask(&pt, run.Spec.TaskRunTemplate.PodTemplate, now, execute)
			if err != nil {
				return out, fmt.Errorf("task %s: %w", pt.Name, err)
			}
			end := now
			for _, s := range steps {
				end = max(end, s.End)
			}
			out.Steps = append(out.Steps, steps...)
			facts.Start(pt.Name)
			tasks = append(tasks, running{pt.Name, end, succeeded})
		}
		if len(tasks) == 0 {
			break
		}
		first := 0
		for i, t := range tasks {
			if t.end < tasks[first].end {
				first = i
			}
		}
		now = tasks[first].end
		facts.End(tasks[first].name, tasks[first].succeeded)
		tasks = append(tasks[:first], tasks[first+1:]...)
	}
	out.Succeeded = facts.Succeeded()
	return out, nil
}

// unresolved finds a reference that nothing has replaced.
func unresolved(text string) error {
	for _, kind := range []string{"params.", "tasks.", "steps.", "context.", "workspaces."} {
		if strings.Contains(text, "$("+kind) {
			return fmt.Errorf("a reference that nothing has replaced: %s", text)
		}
	}
	return nil
}
