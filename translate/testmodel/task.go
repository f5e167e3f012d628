package testmodel

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline/pod"
	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/container"
)

// Container is a step of a task that is about to run.
type Container struct {
	Task string
	// Step has its parameters and results of earlier steps filled in.
	Step *v1.Step
	// Exits are the exit codes in /tekton/steps/step-<name>/exitCode of the steps before it.
	Exits map[string]int
	Start int64

	template *pod.Template
}

// Env is the value of an environment variable. Tekton puts those of the pod template behind the step's own, and of
// two of one name the last counts.
func (c Container) Env(name string) (value string, ok bool) {
	for _, v := range c.Step.Env {
		if v.Name == name {
			value, ok = v.Value, true
		}
	}
	if c.template != nil {
		for _, v := range c.template.Env {
			if v.Name == name {
				value, ok = v.Value, true
			}
		}
	}
	return value, ok
}

// Exit is how a container ended.
type Exit struct {
	Code int
	// Broken is a container that could not be started, which fails the task whatever its steps say.
	Broken   bool
	Duration int64
	Results  map[string]string // of the step
}

// runTask plays the containers of a task as Tekton's entrypoint runs them: one after the other, up to the first that
// fails without onError: continue. A step whose when does not hold is as good as one that ended with 0.
func runTask(
	pt *v1.PipelineTask, template *pod.Template, now int64, execute func(Container) Exit,
) (steps []StepRun, succeeded bool, err error) {
	params := map[string]string{}
	for _, p := range pt.Params {
		params["params."+p.Name] = p.Value.StringVal
	}
	for _, p := range pt.TaskSpec.Params {
		if _, ok := params["params."+p.Name]; !ok {
			return nil, false, fmt.Errorf("nothing gives the parameter %s a value", p.Name)
		}
	}
	names := map[string]bool{}
	for _, s := range pt.TaskSpec.Steps {
		if names[s.Name] {
			return nil, false, fmt.Errorf("two steps are called %s", s.Name)
		}
		names[s.Name] = true
	}
	exits := map[string]int{}
	results := map[string]string{}
	for i := range pt.TaskSpec.Steps {
		step := pt.TaskSpec.Steps[i].DeepCopy()
		if len(params) > 0 {
			container.ApplyStepReplacements(step, params, nil)
		}
		replaceResults(step, results)
		for _, w := range step.When {
			if err := unresolved(w.Input); err != nil {
				return nil, false, fmt.Errorf("when of step %s: %w", step.Name, err)
			}
		}
		if !step.When.AllowsExecution(nil) {
			exits[step.Name] = 0
			continue
		}
		c := Container{Task: pt.Name, Step: step, Exits: exits, Start: now, template: template}
		exit := execute(c)
		now += exit.Duration
		steps = append(steps, StepRun{Container: c, Exit: exit, End: now})
		for name, value := range exit.Results {
			results[step.Name+"."+name] = value
		}
		if exit.Broken || exit.Code != 0 && step.OnError != v1.Continue {
			return steps, false, nil
		}
		exits[step.Name] = exit.Code
	}
	return steps, true, nil
}

var resultOfStep = regexp.MustCompile(`\$\(steps\.([^.()]+)\.results\.([^.()]+)\)`)

// replaceResults fills results of earlier steps into the environment, the when and the arguments of a step.
func replaceResults(step *v1.Step, results map[string]string) {
	fill := func(text string) string {
		if !strings.Contains(text, "$(steps.") {
			return text
		}
		return resultOfStep.ReplaceAllStringFunc(text, func(reference string) string {
			m := resultOfStep.FindStringSubmatch(reference)
			if value, ok := results[m[1]+"."+m[2]]; ok {
				return value
			}
			return reference
		})
	}
	for i := range step.Env {
		step.Env[i].Value = fill(step.Env[i].Value)
	}
	for i := range step.When {
		step.When[i].Input = fill(step.When[i].Input)
	}
	for i := range step.Args {
		step.Args[i] = fill(step.Args[i])
	}
}
