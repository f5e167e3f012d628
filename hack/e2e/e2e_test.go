//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// runTimeout is how long a pipeline may take on a slow cluster. None of them works for more than some seconds.
const runTimeout = 5 * time.Minute

// The cluster and the program under test, which TestMain sets. PROGRAM names one that is built already.
var (
	kube   *cluster
	binary string
)

// surroundings are what differs from cluster to cluster: images and a storage class, by the names that the pipelines
// and expectations use, with the environment variables that replace them.
var surroundings = map[string]string{
	"busybox:1.36":              "BUSYBOX_IMAGE",
	"test/busybox-nonroot:1.36": "NONROOT_IMAGE",
	"test/plugin:1":             "PLUGIN_IMAGE",
	"drone/git:latest":          "CLONE_IMAGE",
	"class-for-many-nodes":      "SHARED_STORAGE_CLASS",
}

func surrounded(text []byte) []byte {
	var pairs []string
	for name, variable := range surroundings {
		pairs = append(pairs, name, setting(variable, name))
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(text)))
}

// setting is an environment variable, or the default. The storage class has the local cluster's name by default.
func setting(variable, otherwise string) string {
	if variable == "SHARED_STORAGE_CLASS" {
		otherwise = "shared"
	}
	return cmp.Or(os.Getenv(variable), otherwise)
}

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if kube, err = connect(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			return 1
		}
		dir, err := os.MkdirTemp("", "drone-e2e-")
		if err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			return 1
		}
		defer os.RemoveAll(dir)
		if binary = os.Getenv("PROGRAM"); binary != "" {
			return m.Run()
		}
		binary = filepath.Join(dir, "drone-runner-tekton")
		build := exec.Command("go", "build", "-o", binary, "../../cmd/drone-runner-tekton")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "e2e: building the program: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// TestPipelines runs each pipeline of testdata/e2e, in each layout that its expectation names.
func TestPipelines(t *testing.T) {
	files, err := filepath.Glob("../../testdata/e2e/*.expect.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		e, err := parseExpectation(surrounded(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		base := strings.TrimSuffix(file, ".expect.yml")
		sources, err := filepath.Glob(base + ".[^e]*")
		if err != nil || len(sources) != 1 {
			t.Fatalf("%s is the expectation of %d pipelines (%v), want one", file, len(sources), sources)
		}
		source, err := os.ReadFile(sources[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, layout := range e.Layouts {
			t.Run(filepath.Base(base)+"/"+layout, func(t *testing.T) {
				t.Parallel()
				p := newPipeline(t, kube.namespace(t))
				p.file = "pipeline" + filepath.Ext(sources[0])
				p.given(e.Given)
				p.check(p.start(surrounded(source), append(e.Convert, "--layout="+layout)...), e)
			})
		}
	}
}

// pipeline runs Drone files in one namespace.
type pipeline struct {
	t         *testing.T
	namespace string
	file      string // the name of the Drone file
}

func newPipeline(t *testing.T, namespace string) *pipeline {
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(kube.describe(context.Background(), namespace))
		}
	})
	return &pipeline{t: t, namespace: namespace, file: ".drone.yml"}
}

// given creates the objects that a pipeline needs.
func (p *pipeline) given(objects []map[string]any) {
	p.t.Helper()
	for _, o := range objects {
		kube.create(p.t, p.namespace, &unstructured.Unstructured{Object: o})
	}
}

// convert runs the program on a Drone file, for a push to the branch main of octo/hello unless flags say otherwise.
func (p *pipeline) convert(source []byte, flags ...string) []*unstructured.Unstructured {
	p.t.Helper()
	file := filepath.Join(p.t.TempDir(), p.file)
	if err := os.WriteFile(file, source, 0o600); err != nil {
		p.t.Fatal(err)
	}
	args := append([]string{"convert", file, "--namespace=" + p.namespace, "--repo=octo/hello",
		"--remote=http://git.invalid/octo/hello.git", "--clone-image=" + setting("CLONE_IMAGE", "drone/git:latest"),
		"--volume-size=64Mi"}, flags...)
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(p.t.Context(), binary, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		p.t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, stderr.String())
	}
	var objects []*unstructured.Unstructured
	for _, document := range bytes.Split(stdout.Bytes(), []byte("\n---\n")) {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &o.Object); err != nil {
			p.t.Fatalf("the output is not YAML: %v\n%s", err, document)
		}
		objects = append(objects, o)
	}
	return objects
}

// start creates what a Drone file becomes, in the order of the output, and gives the PipelineRun's name.
func (p *pipeline) start(source []byte, flags ...string) (run string) {
	p.t.Helper()
	for _, o := range p.convert(source, flags...) {
		created := kube.create(p.t, p.namespace, o)
		if created.GetKind() == "PipelineRun" {
			run = created.GetName()
		}
	}
	return run
}

// check waits for the end of a run and compares it with what is expected.
func (p *pipeline) check(run string, e expectation) {
	p.t.Helper()
	kube.finished(p.t, p.namespace, run)
	o, err := kube.observe(p.t.Context(), p.namespace, run)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, fault := range e.compare(o) {
		p.t.Error(fault)
	}
}
