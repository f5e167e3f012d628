//go:build e2e

package e2e

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/cluster"
	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/expect"
)

// longPipeline has a command of more bytes than Linux takes in one argument, with every character that matters to a shell.
func longPipeline() (source []byte, lines int) {
	var b strings.Builder
	b.WriteString("kind: pipeline\ntype: docker\nname: default\nclone: {disable: true}\nsteps:\n" +
		"- name: long\n  image: busybox:1.36\n  commands:\n  - |\n    cat > file <<'EOF'\n")
	for b.Len() < 200<<10 {
		lines++
		fmt.Fprintf(&b, "    line %d: it's \"quoted\" $(params.x) $(HOME) `x` \\n grüße 世界 $(steps.a.results.b)\n", lines)
	}
	b.WriteString("    EOF\n  - wc -l < file; tail -n 1 file\n  - echo $# arguments\n")
	return []byte(b.String()), lines
}

// A script of any length that a cluster can store arrives as it is.
func TestLongScript(t *testing.T) {
	t.Parallel()
	source, lines := longPipeline()
	p := newPipeline(t, kube.Namespace(t))
	p.check(p.start(cluster.Surrounded(source), "--layout=pod"), expect.Stage{
		Result: expect.Success,
		Steps: map[string]expect.Step{"long": {Outcome: expect.Success, Lines: []string{
			fmt.Sprint(lines),
			fmt.Sprintf("line %d: it's \"quoted\" $(params.x) $(HOME) `x` \\n grüße 世界 $(steps.a.results.b)", lines),
			"0 arguments",
		}}},
	})
}

const claimYAML = `
kind: pipeline
type: docker
name: default
clone: {disable: true}
steps:
- name: fresh
  image: busybox:1.36
  volumes: [{name: cache, path: /cache}]
  commands:
  - ls -A . /cache
  - echo $DRONE_BUILD_NUMBER > file; echo cached $DRONE_BUILD_NUMBER > /cache/file
- name: server
  image: busybox:1.36
  detach: true
  commands:
  - cp file served
  - httpd -f -p 8080 -h .
- name: use
  image: busybox:1.36
  volumes: [{name: cache, path: /cache}]
  commands:
  - until wget -q -O - http://server:8080/served; do sleep 1; done
  - cat /cache/file
volumes:
- name: cache
  temp: {}
`

// claimExpectation is what each run of claimYAML does, whatever runs beside it.
func claimExpectation(build string) expect.Stage {
	log := "+ ls -A . /cache\n.:\n\n/cache:\n" +
		"+ echo $DRONE_BUILD_NUMBER > file; echo cached $DRONE_BUILD_NUMBER > /cache/file\n"
	return expect.Stage{
		Result: expect.Success,
		Steps: map[string]expect.Step{
			"fresh":  {Outcome: expect.Success, Log: &log},
			"server": {Outcome: expect.Detached},
			"use":    {Outcome: expect.Success, After: []string{"fresh"}, Lines: []string{build, "cached " + build}},
		},
	}
}

// A pipeline of hundreds of steps is taken by the API server, Tekton's webhook and the store.
func TestManySteps(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("kind: pipeline\ntype: docker\nname: default\nsteps:\n")
	for i := range 300 {
		fmt.Fprintf(&b, "- name: step %d\n  image: busybox:1.36\n  commands:\n  - echo %d\n  - make target-%d\n", i, i, i)
	}
	p := newPipeline(t, kube.Namespace(t))
	for _, layout := range []string{"steps", "chains"} {
		for _, o := range p.convert([]byte(b.String()), "--layout="+layout) {
			kube.Create(t, p.namespace, o, metav1.DryRunAll)
		}
	}
}

// Runs of one pipeline at the same time, in one namespace, have their own files and their own services.
func TestRunsAtOnce(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, kube.Namespace(t))
	runs := map[string]string{}
	for _, build := range []string{"1", "2"} {
		runs[build] = p.start(cluster.Surrounded([]byte(claimYAML)), "--build-number="+build)
	}
	// Pipelines of one file are runs like any others.
	other := strings.Replace(claimYAML, "name: default", "name: other", 1)
	runs["3"] = p.start(cluster.Surrounded([]byte(claimYAML+"---"+other)), "--build-number=3", "--pipeline=other")
	for build, run := range runs {
		p.check(run, claimExpectation(build))
	}
}

// Runs on a claim that exists already have a folder each; nothing is left to a later run.
func TestExistingClaim(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, kube.Namespace(t))
	p.given([]map[string]any{claimObject("files", "ReadWriteOnce", "")})
	for _, build := range []string{"1", "2"} {
		p.check(p.start(cluster.Surrounded([]byte(claimYAML)), "--build-number="+build, "--claim=files"), claimExpectation(build))
	}
}

// The same without anything beside the run, where the run's name is not known before.
func TestExistingClaimUnnamed(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, kube.Namespace(t))
	p.given([]map[string]any{claimObject("files", "ReadWriteOnce", "")})
	source := []byte(strings.Replace(claimYAML, "  detach: true\n  commands:\n  - cp file served\n  - httpd -f -p 8080 -h .\n",
		"  commands:\n  - cp file served\n", 1))
	source = []byte(strings.Replace(string(source), "until wget -q -O - http://server:8080/served; do sleep 1; done", "cat served", 1))
	e := claimExpectation("1")
	e.Steps["server"] = expect.Step{Outcome: expect.Success, After: []string{"fresh"}}
	for range 2 {
		p.check(p.start(cluster.Surrounded(source), "--build-number=1", "--claim=files"), e)
	}
}

func claimObject(name, mode, class string) map[string]any {
	spec := map[string]any{
		"accessModes": []any{mode},
		"resources":   map[string]any{"requests": map[string]any{"storage": "16Mi"}},
	}
	if class != "" {
		spec["storageClassName"] = class
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": map[string]any{"name": name}, "spec": spec,
	}
}

// On storage that many nodes can use at once, steps are bound to no node, with one claim or with one for each volume.
func TestSpread(t *testing.T) {
	for _, claims := range []string{"shared", "per-volume"} {
		t.Run(claims, func(t *testing.T) {
			t.Parallel()
			p := newPipeline(t, kube.Namespace(t))
			run := p.start(cluster.Surrounded([]byte(claimYAML)), "--build-number=1", "--spread", "--claims="+claims,
				"--storage-class="+cluster.Setting("SHARED_STORAGE_CLASS", ""))
			p.check(run, claimExpectation("1"))
			p.unbound(run)
			list, err := kube.Core.CoreV1().PersistentVolumeClaims(p.namespace).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if want := map[string]int{"shared": 1, "per-volume": 2}[claims]; len(list.Items) != want {
				t.Errorf("the run has %d claims, want %d", len(list.Items), want)
			}
		})
	}
}

// unbound checks that no pod of a run has to be where another one is.
func (p *pipeline) unbound(run string) {
	p.t.Helper()
	pods, err := kube.Core.CoreV1().Pods(p.namespace).List(p.t.Context(), metav1.ListOptions{LabelSelector: "tekton.dev/pipelineRun=" + run})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil && len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
			p.t.Errorf("the pod %s has to be on the node of another one", pod.Name)
		}
	}
}

// Images behind a log-in are pulled, and their entrypoints looked up, with the secrets that the pipeline names.
func TestPullSecrets(t *testing.T) {
	t.Parallel()
	registry := os.Getenv("PRIVATE_REGISTRY")
	user, password := os.Getenv("PRIVATE_REGISTRY_USER"), os.Getenv("PRIVATE_REGISTRY_PASSWORD")
	if registry == "" {
		t.Fatal("PRIVATE_REGISTRY names no registry with a log-in; it and PRIVATE_REGISTRY_USER and _PASSWORD are needed")
	}
	p := newPipeline(t, kube.Namespace(t))
	login := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	p.given([]map[string]any{{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "dockerconfig"},
		"type":       "kubernetes.io/dockerconfigjson",
		"stringData": map[string]any{".dockerconfigjson": fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, registry, login)},
	}})
	source := `
kind: pipeline
type: docker
name: default
clone: {disable: true}
image_pull_secrets: [dockerconfig]
steps:
- name: plugin
  image: ` + registry + `/test/plugin:1
  pull: always
  settings: {a: b}
`
	log := "args [\"/plugin\"]\nPLUGIN_A=\"b\"\n"
	p.check(p.start([]byte(source)), expect.Stage{
		Result: expect.Success,
		Steps:  map[string]expect.Step{"plugin": {Outcome: expect.Success, Log: &log}},
	})
}
