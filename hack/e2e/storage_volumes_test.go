//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/cluster"
	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/expect"
)

// tempVolumes is a pipeline with volumes that parallel steps write to and a last one reads.
func tempVolumes(volumes int) ([]byte, expect.Stage) {
	var b, mounts, declared strings.Builder
	for i := range volumes {
		fmt.Fprintf(&mounts, "{name: v%d, path: /v%d}, ", i, i)
		fmt.Fprintf(&declared, "- {name: v%d, temp: {}}\n", i)
	}
	step := func(name, needs, commands string) {
		fmt.Fprintf(&b, "- name: %s\n  image: busybox:1.36\n  depends_on: [%s]\n  volumes: [%s]\n  commands:\n%s", name, needs, mounts.String(), commands)
	}
	b.WriteString("kind: pipeline\ntype: docker\nname: default\nclone: {disable: true}\nsteps:\n- {name: first, image: 'busybox:1.36', commands: [ls -A]}\n")
	for _, name := range []string{"x", "y"} {
		step(name, "first", "  - for i in $(seq 0 "+fmt.Sprint(volumes-1)+"); do echo "+name+" > /v$i/"+name+"; done\n")
	}
	step("last", "x, y", "  - cat /v*/*; ls -A\n")
	b.WriteString("volumes:\n" + declared.String())
	e := expect.Stage{Result: expect.Success, Steps: map[string]expect.Step{
		"first": {Outcome: expect.Success}, "x": {Outcome: expect.Success}, "y": {Outcome: expect.Success},
		"last": {Outcome: expect.Success, After: []string{"x", "y"}},
	}}
	last := e.Steps["last"]
	for range volumes {
		last.Lines = append(last.Lines, "x", "y")
	}
	e.Steps["last"] = last
	return cluster.Surrounded([]byte(b.String())), e
}

// Any number of volumes share one claim, in parallel steps too: Tekton's default rejects a task with two claims.
func TestVolumesOfParallelSteps(t *testing.T) {
	for _, volumes := range []int{2, 3} {
		for _, layout := range []string{"steps", "chains", "pod"} {
			t.Run(fmt.Sprint(volumes, "/", layout), func(t *testing.T) {
				t.Parallel()
				p := newPipeline(t, kube.Namespace(t))
				source, e := tempVolumes(volumes)
				p.check(p.start(source, "--layout="+layout), e)
			})
		}
	}
}

// A volume in memory is in memory where one pod uses it, with its bound.
func TestVolumeInMemory(t *testing.T) {
	source := cluster.Surrounded([]byte(`
kind: pipeline
type: kubernetes
name: default
clone: {disable: true}
steps:
- name: first
  image: busybox:1.36
  commands: [echo first]
- name: fast
  image: busybox:1.36
  volumes: [{name: fast, path: /fast}]
  commands:
  - grep -c ' /fast tmpfs ' /proc/mounts
  - df -m /fast | awk 'END {print $2}'
volumes:
- name: fast
  temp: {medium: memory, size_limit: 8MiB}
`))
	for _, layout := range []string{"steps", "chains", "pod"} {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			p := newPipeline(t, kube.Namespace(t))
			p.check(p.start(source, "--trusted", "--layout="+layout), expect.Stage{Result: expect.Success, Steps: map[string]expect.Step{
				"first": {Outcome: expect.Success},
				"fast":  {Outcome: expect.Success, Lines: []string{"1", "8"}},
			}})
		})
	}
}

// A claim that somebody deletes while the run uses it lets the run end as a failure, by the timeout at the latest: a step
// never runs without its files. The reason is told, and nothing is left behind.
func TestClaimDeletedInTheMiddle(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, kube.Namespace(t))
	source := cluster.Surrounded([]byte(`
kind: pipeline
type: docker
name: default
clone: {disable: true}
steps:
- name: first
  image: busybox:1.36
  commands: [echo first > file, sleep 15]
- name: second
  image: busybox:1.36
  commands: [cat file]
`))
	deleted := make(chan error, 1)
	go func() {
		deleted <- wait.PollUntilContextTimeout(t.Context(), time.Second, time.Minute, true, func(ctx context.Context) (bool, error) {
			pods, err := kube.Core.CoreV1().Pods(p.namespace).List(ctx, metav1.ListOptions{LabelSelector: "tekton.dev/pipelineTask=first", FieldSelector: "status.phase=Running"})
			if err != nil || len(pods.Items) == 0 {
				return false, err
			}
			return true, kube.Core.CoreV1().PersistentVolumeClaims(p.namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		})
	}()
	out, told, status := p.command("run", source, "--timeout=90s")
	if err := <-deleted; err != nil {
		t.Fatalf("deleting the claim: %v\n%s", err, told)
	}
	if status != 1 || strings.Contains(out, "second > first") {
		t.Errorf("the run ends with %d:\n%s%s", status, out, told)
	}
	if !strings.Contains(told, "is being deleted") {
		t.Errorf("nothing is said of the claim:\n%s", told)
	}
	p.checkNothingRemains()
}

const tinyYAML = `
kind: pipeline
type: docker
name: default
clone: {disable: true}
services:
- {name: server, image: "busybox:1.36", commands: ["httpd -f -p 8080"]}
steps:
- {name: a, image: "busybox:1.36", commands: [echo a > file]}
- {name: b, image: "busybox:1.36", commands: [cat file]}
`

// After fifty runs there is nothing left of them.
func TestNothingRemains(t *testing.T) {
	p := newPipeline(t, kube.Namespace(t))
	source := cluster.Surrounded([]byte(tinyYAML))
	layouts := make(chan string)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for layout := range layouts {
				if _, told, status := p.command("run", source, "--layout="+layout); status != 0 {
					t.Errorf("a run in the layout %s ends with %d:\n%s", layout, status, told)
				}
			}
		})
	}
	for i := range 50 {
		layouts <- []string{"pod", "pod", "pod", "chains", "steps"}[i%5]
	}
	close(layouts)
	group.Wait()
	p.checkNothingRemains()
}
