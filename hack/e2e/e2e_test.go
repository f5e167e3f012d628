//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/cluster"
	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/expect"
)

// The cluster and the program under test, which TestMain sets. PROGRAM names one that is built already.
var (
	kube   *cluster.Cluster
	binary string
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if kube, err = cluster.Connect(); err != nil {
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
	cases, err := expect.Cases("../../testdata/e2e", cluster.Surrounded)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		for _, layout := range c.Layouts {
			t.Run(c.Name+"/"+layout, func(t *testing.T) {
				t.Parallel()
				p := newPipeline(t, kube.Namespace(t))
				p.file = "pipeline" + filepath.Ext(c.File)
				p.given(c.Given)
				p.check(p.start(c.Source, append(c.Convert, "--layout="+layout)...), c.Stage)
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
			t.Log(kube.Describe(context.Background(), namespace, ""))
		}
	})
	return &pipeline{t: t, namespace: namespace, file: ".drone.yml"}
}

// given creates the objects that a pipeline needs.
func (p *pipeline) given(objects []map[string]any) {
	p.t.Helper()
	for _, o := range objects {
		kube.Create(p.t, p.namespace, &unstructured.Unstructured{Object: o})
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
		"--remote=http://git.invalid/octo/hello.git", "--clone-image=" + cluster.Setting("CLONE_IMAGE", "drone/git:latest"),
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
		created := kube.Create(p.t, p.namespace, o)
		if created.GetKind() == "PipelineRun" {
			run = created.GetName()
		}
	}
	return run
}

// check waits for the end of a run and compares it with what is expected.
func (p *pipeline) check(run string, e expect.Stage) {
	p.t.Helper()
	kube.Finished(p.t, p.namespace, run)
	o, err := kube.Observe(p.t.Context(), p.namespace, run)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, fault := range e.Compare(o) {
		p.t.Error(fault)
	}
}
