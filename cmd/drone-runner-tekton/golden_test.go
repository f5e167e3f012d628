package main

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/tektoncd/pipeline/pkg/apis/config"
	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

var update = flag.Bool("update", false, "write the expected results instead of comparing them")

const goldenFolder = "../../testdata/golden"

// buildFlags are the facts of the build that golden pipelines are converted for, unless their flags say otherwise.
var buildFlags = []string{
	"--repo=octocat/hello", "--remote=https://git.example.com/octocat/hello.git", "--branch=main", "--build-number=7",
	"--commit=c0ffee254729296a45a3885639ac7e10f9d54979", "--message=a message", "--author=octocat",
}

// TestGolden converts the pipelines below testdata/golden, with the flags beside each, and compares what is printed.
func TestGolden(t *testing.T) {
	cases, err := os.ReadDir(goldenFolder)
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(goldenFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name(), func(t *testing.T) { checkGolden(t, filepath.Join(root, c.Name())) })
	}
}

func checkGolden(t *testing.T, folder string) {
	inputs, err := filepath.Glob(filepath.Join(folder, ".drone.*"))
	if err != nil || len(inputs) != 1 {
		t.Fatalf("there are the inputs %v (%v), want one", inputs, err)
	}
	text, err := os.ReadFile(inputs[0])
	if err != nil {
		t.Fatal(err)
	}
	flags, err := os.ReadFile(filepath.Join(folder, "flags"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Base(inputs[0])
	elsewhere(t, map[string]string{file: string(text)})
	args := append(append([]string{"convert", file}, buildFlags...), strings.Fields(string(flags))...)
	out, diagnostics, status := runCommand(t, args...)
	if status != 0 {
		t.Fatalf("exit status %d: %s", status, diagnostics)
	}
	for range 5 {
		if again, saying, _ := runCommand(t, args...); again != out || saying != diagnostics {
			t.Fatalf("the same input gives something else (-first +later):\n%s", cmp.Diff(diagnostics+out,
				saying+again))
		}
	}
	checkObjects(t, out)
	compare(t, filepath.Join(folder, "expected.yaml"), out)
	compare(t, filepath.Join(folder, "diagnostics.txt"), diagnostics)
}

// elsewhere makes a folder with these files, outside of any git checkout, the current one.
func elsewhere(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(dir))
	t.Chdir(dir)
}

// runCommand runs the program with arguments, and gives what it prints and its exit status.
func runCommand(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	return runWithInput(t, "", args...)
}

func runWithInput(t *testing.T, stdin string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, saying strings.Builder
	root := newRoot(streams{in: strings.NewReader(stdin), out: &out, err: &saying})
	root.SetArgs(args)
	status = exitStatus(root.ExecuteContext(context.Background()), &saying)
	return out.String(), saying.String(), status
}

// checkObjects reads objects as strictly as an API server, and asks Tekton whether it would take the runs.
func checkObjects(t *testing.T, text string) {
	t.Helper()
	flags, err := config.NewFeatureFlagsFromMap(nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := config.ToContext(t.Context(), &config.Config{FeatureFlags: flags, Defaults: &config.Defaults{}})
	runs := 0
	for _, document := range strings.Split(text, "\n---\n") {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			t.Fatal(err)
		}
		objects := map[string]any{
			"tekton.dev/v1 PipelineRun": &v1.PipelineRun{}, "v1 Pod": &corev1.Pod{}, "v1 Service": &corev1.Service{},
			"v1 PersistentVolumeClaim": &corev1.PersistentVolumeClaim{},
		}
		object := objects[kind.APIVersion+" "+kind.Kind]
		if object == nil {
			t.Fatalf("an object of the unexpected kind %v", kind)
		}
		if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
			t.Errorf("the %s does not read back: %v", kind.Kind, err)
		}
		if run, ok := object.(*v1.PipelineRun); ok {
			runs++
			if run.Name == "" {
				run.Name = run.GenerateName + "x"
			}
			run.SetDefaults(ctx)
			if err := run.Validate(ctx); err != nil {
				t.Errorf("Tekton would refuse the run: %v", err)
			}
		}
	}
	if runs == 0 {
		t.Error("there is no PipelineRun")
	}
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what comes out; if it is meant to be so, run make update-golden (-want +got):\n%s",
			filepath.Base(file), diff)
	}
}
