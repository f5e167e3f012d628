package translate

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// outline is what Tekton's validation has to see of a run. Tekton looks for its variables in every text of every step,
// a dozen times over, with a regular expression that it compiles each time: a second for a few hundred steps, nearly
// all of it spent on texts that refer to nothing and on steps that are alike.
//
// So texts that cannot hold a variable are left out, where they stand for themselves alone, and of tasks whose
// specification is then the same only the first keeps it. Names of tasks, their order, conditions, parameters and
// workspaces are all there.
func outline(run *v1.PipelineRun) *v1.PipelineRun {
	out := *run // What defaulting sets is copied below; the rest is shared.
	spec := *run.Spec.PipelineSpec
	var seen []*v1.EmbeddedTask
	spec.Tasks = outlineTasks(spec.Tasks, &seen)
	spec.Finally = outlineTasks(spec.Finally, &seen)
	out.Spec.PipelineSpec = &spec
	return &out
}

func outlineTasks(tasks []v1.PipelineTask, seen *[]*v1.EmbeddedTask) []v1.PipelineTask {
	tasks = slices.Clone(tasks)
	for i := range tasks {
		shape := outlineSpec(tasks[i].TaskSpec)
		if slices.ContainsFunc(*seen, func(s *v1.EmbeddedTask) bool { return reflect.DeepEqual(s, shape) }) {
			tasks[i].TaskSpec, tasks[i].TaskRef = nil, &v1.TaskRef{Name: "alike"}
			continue
		}
		*seen = append(*seen, shape)
		tasks[i].TaskSpec = shape
	}
	return tasks
}

// outlineSpec leaves out names of steps too: they are names of tasks or made by the translation, and distinct.
func outlineSpec(spec *v1.EmbeddedTask) *v1.EmbeddedTask {
	out := *spec
	out.Metadata = v1.PipelineTaskMetadata{}
	out.Steps = slices.Clone(out.Steps)
	for i := range out.Steps {
		s := &out.Steps[i]
		s.Name = ""
		if s.Image != "" && !mayRefer(s.Image) {
			s.Image = "image"
		}
		if !mayRefer(s.WorkingDir) {
			s.WorkingDir = ""
		}
		if s.Script == "" { // with a script, Tekton refuses any command
			s.Command = only(s.Command, mayRefer)
		}
		s.Args = only(s.Args, mayRefer)
		s.Env = only(s.Env, func(v corev1.EnvVar) bool { return v.ValueFrom == nil && mayRefer(v.Value) })
	}
	return &out
}

func only[T any](list []T, keep func(T) bool) []T {
	var out []T
	for _, item := range list {
		if keep(item) {
			out = append(out, item)
		}
	}
	return out
}

// mayRefer reports whether a text may hold a variable of Tekton.
func mayRefer(text string) bool {
	for {
		_, rest, found := strings.Cut(text, "$")
		if !found {
			return false
		}
		if reference.MatchString(rest) {
			return true
		}
		text = rest
	}
}
