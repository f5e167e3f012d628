package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/apis/pipeline/v1/types"
	"github.com/tektoncd/pipeline/pkg/entrypoint"
	"k8s.io/apimachinery/pkg/selection"
	"pgregory.net/rapid"

	"github.com/drone-tekton/drone-runner-tekton/translate/testmodel"
)

// pod is what the entrypoints of a task's steps share: the files that they write and wait for.
type pod struct{ files map[string]string }

// Wait is over at once: the steps run one after the other here.
func (p pod) Wait(ctx context.Context, file string, _, _ bool) error {
	if file == entrypoint.DownwardMountCancelFile {
		<-ctx.Done()
		return entrypoint.ErrContextCanceled
	}
	if _, ok := p.files[file]; ok {
		return nil
	}
	if _, ok := p.files[file+".err"]; ok {
		return entrypoint.ErrSkipPreviousStepFailed
	}
	return fmt.Errorf("waiting for ever for %s", file)
}

func (p pod) Write(file, content string) { p.files[file] = content }

// command is what a step runs.
type command func() error

func (c command) Run(context.Context, ...string) error { return c() }

// exitWith gives the error of a process that ended with an exit code.
func exitWith(t *rapid.T, code int) error {
	err := exec.Command("/bin/sh", "-c", "exit "+strconv.Itoa(code)).Run()
	if exit := (*exec.ExitError)(nil); code != 0 && !errors.As(err, &exit) {
		t.Fatalf("sh ended with %v, want exit code %d", err, code)
	}
	return err
}

// played is what came of a task: the steps that ran, each with the exit codes that it saw of those before it.
type played struct {
	Ran       []string
	Seen      []map[string]int
	Succeeded bool
}

// TestTasksRunAsWithTektonsEntrypoint plays the steps of generated tasks in the model and with Tekton's own entrypoint.
func TestTasksRunAsWithTektonsEntrypoint(t *testing.T) {
	metadata := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		codes := map[string]int{}
		task := v1.PipelineTask{Name: "task", TaskSpec: &v1.EmbeddedTask{}}
		for i := range rapid.IntRange(1, 5).Draw(t, "steps") {
			s := v1.Step{Name: fmt.Sprintf("s%d", i)}
			codes[s.Name] = max(0, rapid.IntRange(-3, 3).Draw(t, "code"))
			if rapid.Bool().Draw(t, "goes on") {
				s.OnError = v1.Continue
			}
			switch rapid.IntRange(0, 3).Draw(t, "when") {
			case 2:
				s.When = v1.StepWhenExpressions{{Input: "a", Operator: selection.In, Values: []string{"b"}}}
			case 3:
				s.When = v1.StepWhenExpressions{{Input: "a", Operator: selection.In, Values: []string{"b", "a"}}}
			}
			task.TaskSpec.Steps = append(task.TaskSpec.Steps, s)
		}
		want := withEntrypoint(t, metadata, task.TaskSpec.Steps, codes)

		var got played
		run := &v1.PipelineRun{Spec: v1.PipelineRunSpec{PipelineSpec: &v1.PipelineSpec{Tasks: []v1.PipelineTask{task}}}}
		result, err := testmodel.RunPipeline(run, func(c testmodel.Container) testmodel.Exit {
			got.Ran = append(got.Ran, c.Step.Name)
			got.Seen = append(got.Seen, maps.Clone(c.Exits))
			return testmodel.Exit{Code: codes[c.Step.Name]}
		})
		if err != nil {
			t.Fatal(err)
		}
		got.Succeeded = result.Succeeded
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in Tekton and in the model (-want +got):\n%s", diff)
		}
	})
}

// withEntrypoint runs each step with Tekton's entrypoint. A task succeeds if all its containers end with 0.
func withEntrypoint(t *rapid.T, metadata string, steps []v1.Step, codes map[string]int) played {
	files := pod{files: map[string]string{}}
	out := played{Succeeded: true}
	post := ""
	termination := filepath.Join(metadata, "termination")
	seen := func() map[string]int {
		exits := map[string]int{}
		for _, s := range steps {
			if text, ok := files.files[filepath.Join(metadata, s.Name, "exitCode")]; ok {
				code, err := strconv.Atoi(text)
				if err != nil {
					t.Fatalf("exit code of %s: %v", s.Name, err)
				}
				exits[s.Name] = code
			}
		}
		return exits
	}
	for _, s := range steps {
		var wait []string
		if post != "" {
			wait = []string{post}
		}
		post = "/tekton/run/" + s.Name
		if err := os.RemoveAll(termination); err != nil {
			t.Fatal(err)
		}
		err := entrypoint.Entrypointer{
			Waiter: files, PostWriter: files, WaitFiles: wait, PostFile: post,
			Runner: command(func() error {
				out.Ran = append(out.Ran, s.Name)
				out.Seen = append(out.Seen, seen())
				return exitWith(t, codes[s.Name])
			}),
			OnError: string(s.OnError), StepWhenExpressions: whenOf(s),
			StepMetadataDir: filepath.Join(metadata, s.Name), TerminationPath: termination,
		}.Go()
		// As Tekton's command does with the error.
		exit := (*exec.ExitError)(nil)
		if err != nil && !(errors.As(err, &exit) && s.OnError == v1.Continue) {
			out.Succeeded = false
		}
	}
	return out
}

// whenOf is a step's when in the entrypoint's own type.
func whenOf(s v1.Step) types.StepWhenExpressions {
	var when types.StepWhenExpressions
	for _, w := range s.When {
		when = append(when, types.WhenExpression{Input: w.Input, Operator: w.Operator, Values: w.Values})
	}
	return when
}
