package translate

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"pgregory.net/rapid"

	"github.com/drone-tekton/drone-runner-tekton/translate/testmodel"
)

// helper plays a helper container of the translation, by what its script is meant to do. It notes the starts of
// detached steps.
func helper(k testmodel.Container, launched map[string]int64) (testmodel.Exit, bool) {
	if len(k.Step.Args) < 2 {
		return testmodel.Exit{}, false
	}
	script, name, given := k.Step.Args[0], k.Step.Args[1], k.Step.Args[2:]
	var failed []string
	if script == listFailed {
		for i, state := range strings.Fields(given[0]) {
			if state == string(testmodel.TaskFailed) {
				failed = append(failed, given[i+1])
			}
		}
	}
	for i := 0; script != listFailed && i+1 < len(given); i += 2 {
		if k.Exits[given[i]] != 0 {
			failed = append(failed, given[i+1])
		}
	}
	names := strings.Join(failed, ",")
	switch script {
	case listFailed:
		return testmodel.Exit{Results: map[string]string{failedStepsName: names}}, true
	case tellOutcome:
		return testmodel.Exit{Results: map[string]string{statusResult: outcome(len(failed) > 0),
			failedStepsName: names}}, true
	case giveVerdict:
		return testmodel.Exit{Code: min(len(failed), 1)}, true
	case markStart, markUnless:
		if len(failed) == 0 {
			launched[name] = k.Start
		}
		return testmodel.Exit{}, true
	}
	return testmodel.Exit{}, false
}

// TestHelperScriptsDoAsTheModelTakesThem runs the helpers' scripts in a shell, as they are, and compares what they do
// with what the model plays for them.
func TestHelperScriptsDoAsTheModelTakesThem(t *testing.T) {
	names := []string{"build", "Build A", `say "hi"`, "it's", "a,b", "$HOME", "`id`", "*", "日本", "-n", `back\slash`}
	checkScenarios(t, 500, func(t *rapid.T) {
		script := rapid.SampledFrom([]string{listFailed, tellOutcome, giveVerdict, markStart, markUnless}).Draw(t, "script")
		k := testmodel.Container{Step: &v1.Step{Args: []string{script, "zero"}}, Exits: map[string]int{}}
		if script == listFailed {
			k.Step.Args = append(k.Step.Args, "")
		}
		for i := range rapid.IntRange(0, 4).Draw(t, "steps") {
			name := rapid.SampledFrom(names).Draw(t, "name")
			switch script {
			case listFailed:
				status := rapid.SampledFrom([]testmodel.TaskStatus{testmodel.TaskSucceeded, testmodel.TaskFailed,
					testmodel.TaskNone})
				k.Step.Args = append(k.Step.Args, name)
				k.Step.Args[2] += " " + string(status.Draw(t, "status"))
			case markStart:
			default:
				id := fmt.Sprintf("s%d", i)
				k.Step.Args = append(k.Step.Args, id, name)
				if code := rapid.IntRange(-1, 255).Draw(t, "code"); code >= 0 { // else it left no file
					k.Exits[id] = code
				}
			}
		}
		wantLaunched := map[string]int64{}
		want, ok := helper(k, wantLaunched)
		if !ok {
			t.Fatalf("the model does not know the helper %q", k.Step.Args)
		}
		got, gotLaunched := inShell(t, k)
		if diff := cmp.Diff([]any{want, wantLaunched}, []any{got, gotLaunched}); diff != "" {
			t.Errorf("the model and the script of %q with exit codes %v (-model +script):\n%s", k.Step.Args, k.Exits, diff)
		}
	})
}

// inShell runs a helper's script on a folder that stands for the folders of a pod.
func inShell(t *rapid.T, k testmodel.Container) (testmodel.Exit, map[string]int64) {
	dir, err := os.MkdirTemp("", "helper")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	write := func(file, text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for id, code := range k.Exits {
		write(filepath.Join(dir, "steps", "step-"+id, "exitCode"), strconv.Itoa(code))
	}
	for _, sub := range []string{"starts", "results"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	script := strings.NewReplacer(
		"/tekton/steps/", dir+"/steps/", startsFolder+"/", dir+"/starts/",
		"$(step.results."+statusResult+".path)", dir+"/results/"+statusResult,
		"$(step.results."+failedStepsName+".path)", dir+"/results/"+failedStepsName,
	).Replace(k.Step.Args[0])
	var exit testmodel.Exit
	var failed *exec.ExitError
	err = exec.Command("/bin/sh", append([]string{"-c", script}, k.Step.Args[1:]...)...).Run()
	if errors.As(err, &failed) {
		exit.Code = failed.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	results, launched := filesIn(t, filepath.Join(dir, "results")), map[string]int64{}
	if len(results) > 0 {
		exit.Results = results
	}
	for name := range filesIn(t, filepath.Join(dir, "starts")) {
		launched[name] = 0
	}
	return exit, launched
}

// filesIn reads the files of a folder.
func filesIn(t *rapid.T, dir string) map[string]string {
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	return files
}
