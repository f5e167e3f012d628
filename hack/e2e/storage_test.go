//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/cluster"
	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/expect"
)

// fork is a pipeline whose branches each write a file that the join looks for.
func fork(branches int, command string) []byte {
	var b, needs strings.Builder
	fmt.Fprintf(&b, "kind: pipeline\ntype: docker\nname: default\nclone: {disable: true}\nsteps:\n"+
		"- name: first\n  image: busybox:1.36\n  commands: [echo first > first]\n")
	for i := range branches {
		fmt.Fprintf(&b, "- name: branch-%d\n  image: busybox:1.36\n  depends_on: [first]\n  commands:\n  - cat first\n"+
			"  - echo branch > branch-%d\n%s", i, i, command)
		fmt.Fprintf(&needs, "branch-%d, ", i)
	}
	fmt.Fprintf(&b, "- name: join\n  image: busybox:1.36\n  depends_on: [%s]\n  commands: [ls]\n", strings.TrimSuffix(needs.String(), ", "))
	return cluster.Surrounded([]byte(b.String()))
}

func forkExpectation(branches int) expect.Stage {
	e := expect.Stage{Result: expect.Success, Steps: map[string]expect.Step{"first": {Outcome: expect.Success}}}
	files, names := []string{}, []string{}
	for i := range branches {
		name := fmt.Sprint("branch-", i)
		e.Steps[name] = expect.Step{Outcome: expect.Success, After: []string{"first"}, Lines: []string{"first"}}
		files, names = append(files, name), append(names, name)
	}
	e.Steps["join"] = expect.Step{Outcome: expect.Success, After: names, Lines: append(files, "first")}
	return e
}

// nodes are the nodes of a run's pods, by task.
func (p *pipeline) nodes(run string) map[string]string {
	p.t.Helper()
	pods, err := kube.Core.CoreV1().Pods(p.namespace).List(p.t.Context(), metav1.ListOptions{
		LabelSelector: "tekton.dev/pipelineRun=" + run + ",tekton.dev/pipelineTask",
	})
	if err != nil {
		p.t.Fatal(err)
	}
	nodes := map[string]string{}
	for _, pod := range pods.Items {
		nodes[pod.Labels["tekton.dev/pipelineTask"]] = pod.Spec.NodeName
	}
	return nodes
}

func distinct(nodes map[string]string) []string {
	return slices.Compact(slices.Sorted(maps.Values(nodes)))
}

// On storage that one node alone can use, and with Tekton as it comes, parallel steps share their files on one node.
func TestForkOnOneNode(t *testing.T) {
	for _, layout := range []string{"steps", "chains"} {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			p := newPipeline(t, kube.Namespace(t))
			run := p.start(fork(4, ""), "--layout="+layout)
			p.check(run, forkExpectation(4))
			if nodes := p.nodes(run); len(nodes) != 6 || len(distinct(nodes)) != 1 {
				t.Errorf("the tasks are on %v, want 6 on one node", nodes)
			}
		})
	}
}

// meet lets a branch wait until two have come, which can only be at once on two nodes where each needs more than half of
// one.
const meet = "  - touch here-$DRONE_STEP_NAME; until [ $(ls here-* | wc -l) -ge 2 ]; do sleep 1; done\n"

// overHalf is more than half of the CPU of every node, where there are two at least.
func overHalf(t *testing.T) string {
	t.Helper()
	list, err := kube.Core.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) < 2 {
		t.Skip("the cluster has one node")
	}
	var most int64
	for _, n := range list.Items {
		most = max(most, n.Status.Allocatable.Cpu().MilliValue())
	}
	return resource.NewMilliQuantity(most/2+10, resource.DecimalSI).String()
}

// spreads runs four branches that meet, and checks that they were on two nodes.
func spreads(t *testing.T, flags ...string) {
	p := newPipeline(t, kube.Namespace(t))
	flags = append(flags, "--request-cpu="+overHalf(t), "--storage-class="+cluster.Setting("SHARED_STORAGE_CLASS", ""))
	run := p.start(fork(4, meet), flags...)
	e := forkExpectation(4)
	join := e.Steps["join"]
	join.Lines = append(join.Lines, "here-branch-0", "here-branch-1", "here-branch-2", "here-branch-3")
	e.Steps["join"] = join
	p.check(run, e)
	if nodes := p.nodes(run); len(distinct(nodes)) < 2 {
		t.Errorf("the tasks are on %v, want two nodes", nodes)
	}
}

// Storage of many nodes takes parallel steps to several nodes at once, past Tekton's co-scheduling.
func TestSpreadOverNodes(t *testing.T) { spreads(t, "--spread") }

// So does it where co-scheduling is disabled.
func TestNoCoscheduling(t *testing.T) {
	featureFlag(t, "coschedule", "disabled")
	spreads(t, "--access-mode=ReadWriteMany")
}

// There, no affinity assistant keeps the tasks of a run together, and a Pod beside them waits for none.
func TestDetachedStepWithoutCoscheduling(t *testing.T) {
	featureFlag(t, "coschedule", "disabled")
	p := newPipeline(t, kube.Namespace(t))
	out, told, status := p.command("run", cluster.Surrounded([]byte(claimYAML)), "--build-number=1")
	if status != 0 || !strings.Contains(out, "cached 1") {
		t.Errorf("it ends with %d:\n%s%s", status, out, told)
	}
	p.checkNothingRemains()
}

// featureFlag sets one of Tekton's for a test, which cannot be parallel to others.
func featureFlag(t *testing.T, name, value string) {
	t.Helper()
	maps := kube.Core.CoreV1().ConfigMaps(cluster.Setting("TEKTON_NAMESPACE", "tekton-pipelines"))
	patch := func(ctx context.Context, value string) error {
		_, err := maps.Patch(ctx, "feature-flags", types.MergePatchType, fmt.Appendf(nil, `{"data":{%q:%q}}`, name, value), metav1.PatchOptions{})
		// The controller watches its settings, and does not tell when it has taken them over.
		time.Sleep(2 * time.Second)
		return err
	}
	flags, err := maps.Get(t.Context(), "feature-flags", metav1.GetOptions{})
	if err != nil {
		t.Skipf("Tekton's feature flags cannot be read: %v", err)
	}
	before := flags.Data[name]
	t.Cleanup(func() {
		if err := patch(context.Background(), before); err != nil {
			t.Errorf("restoring %s=%s: %v", name, before, err)
		}
	})
	if err := patch(t.Context(), value); err != nil {
		t.Skipf("Tekton's feature flags cannot be changed: %v", err)
	}
}

// command runs the program on a Drone file, in the test's namespace. The status is -1 where it did not run.
func (p *pipeline) command(verb string, source []byte, flags ...string) (stdout, stderr string, status int) {
	p.t.Helper()
	args := []string{verb, "--namespace=" + p.namespace}
	if source != nil {
		file := filepath.Join(p.t.TempDir(), p.file)
		if err := os.WriteFile(file, source, 0o600); err != nil {
			p.t.Error(err)
			return "", "", -1
		}
		args = append(args, file, "--repo=octo/hello", "--branch=main", "--remote=http://git.invalid/octo/hello.git",
			"--clone-image="+cluster.Setting("CLONE_IMAGE", "drone/git:latest"), "--volume-size=64Mi")
	}
	var out, told strings.Builder
	ctx, cancel := context.WithTimeout(p.t.Context(), cluster.RunTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append(args, flags...)...)
	cmd.Stdout, cmd.Stderr = &out, &told
	err := cmd.Run()
	if failed := new(exec.ExitError); err != nil && !errors.As(err, &failed) {
		p.t.Errorf("%s: %v", strings.Join(cmd.Args, " "), err)
		return "", "", -1
	}
	return out.String(), told.String(), cmd.ProcessState.ExitCode()
}

const serialYAML = `
kind: pipeline
type: docker
name: default
clone: {disable: true}
steps:
- {name: a, image: "busybox:1.36", commands: [echo from a > file]}
- {name: b, image: "busybox:1.36", commands: [cat file]}
`

// Without any storage class, one pod runs a pipeline; what needs a claim is refused at once, with the remedy.
func TestNoStorageClass(t *testing.T) {
	const isDefault = "storageclass.kubernetes.io/is-default-class"
	list, err := kube.Core.StorageV1().StorageClasses().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Items {
		if c.Annotations[isDefault] != "true" {
			continue
		}
		mark := func(ctx context.Context, value string) error {
			_, err := kube.Core.StorageV1().StorageClasses().Patch(ctx, c.Name, types.MergePatchType,
				fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, isDefault, value), metav1.PatchOptions{})
			return err
		}
		t.Cleanup(func() {
			if err := mark(context.Background(), "true"); err != nil {
				t.Errorf("making %s the default storage class again: %v", c.Name, err)
			}
		})
		if err := mark(t.Context(), "false"); err != nil {
			t.Skipf("the default storage class cannot be changed: %v", err)
		}
	}
	p := newPipeline(t, kube.Namespace(t))
	source := cluster.Surrounded([]byte(serialYAML))
	const remedy = "use the layout pod, which needs no claim"

	if out, told, status := p.command("doctor", nil); status != 1 || !strings.Contains(out, remedy) {
		t.Errorf("doctor ends with %d and no word of the remedy:\n%s%s", status, out, told)
	}
	_, told, status := p.command("run", source, "--layout=steps")
	if status != 1 || !strings.Contains(told, "the cluster has no default storage class") || !strings.Contains(told, remedy) {
		t.Errorf("run ends with %d and no word of the remedy:\n%s", status, told)
	}
	if left := p.remains(); len(left) > 0 {
		t.Errorf("the refused run has left %v", left)
	}
	for _, layout := range []string{"pod", "chains"} { // one chain holds the whole pipeline
		out, told, status := p.command("run", source, "--layout="+layout)
		if status != 0 || !strings.Contains(out, "from a") {
			t.Errorf("in the layout %s it ends with %d:\n%s%s", layout, status, out, told)
		}
	}
}

const nonRootYAML = `
kind: pipeline
type: docker
name: default
clone: {disable: true}
steps:
- name: write
  image: test/busybox-nonroot:1.36
  volumes: [{name: cache, path: /cache}]
  commands: [id -u, echo source > file, echo cache > /cache/file]
- name: server
  image: test/busybox-nonroot:1.36
  detach: true
  commands: [httpd -f -p 8080 -h .]
- name: read
  image: test/busybox-nonroot:1.36
  volumes: [{name: cache, path: /cache}]
  commands:
  - until wget -q -O - http://server:8080/file; do sleep 1; done
  - cat /cache/file
  - exit 1
- name: on failure
  image: test/busybox-nonroot:1.36
  commands: [echo "failed $DRONE_FAILED_STEPS"]
  when: {status: [failure]}
volumes:
- name: cache
  temp: {}
`

// Where a namespace enforces the Pod security standard restricted, images that do not run as root share their files,
// helpers and handlers included.
func TestRestricted(t *testing.T) {
	featureFlag(t, "set-security-context", "true")
	for _, layout := range []string{"steps", "chains", "pod"} {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			p := newPipeline(t, kube.Namespace(t))
			if _, err := kube.Core.CoreV1().Namespaces().Patch(t.Context(), p.namespace, types.MergePatchType,
				[]byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			p.check(p.start(cluster.Surrounded([]byte(nonRootYAML)), "--restricted", "--layout="+layout), expect.Stage{
				Result: expect.Failure,
				Steps: map[string]expect.Step{
					"write":      {Outcome: expect.Success, Lines: []string{"1000"}},
					"server":     {Outcome: expect.Detached},
					"read":       {Outcome: expect.Failure, Exit: 1, After: []string{"write"}, Lines: []string{"source", "cache"}},
					"on failure": {Outcome: expect.Success, After: []string{"read"}, Lines: []string{"failed read"}},
				},
			})
		})
	}
}

const tooLargeYAML = `
kind: pipeline
type: kubernetes
name: default
clone: {disable: true}
steps:
- {name: start, image: "busybox:1.36", commands: [echo ok]}
- name: too large
  image: busybox:1.36
  depends_on: [start]
  commands: [echo never]
  resources: {requests: {cpu: 1000000}}
- {name: other, image: "busybox:1.36", depends_on: [start], commands: [echo ok]}
- {name: next, image: "busybox:1.36", depends_on: [other], commands: [echo ok]}
`

// A step that fits no node is pending with the scheduler's reason, which the run tells, while others go on; the timeout
// ends it, and nothing is left behind.
func TestStepThatFitsNoNode(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, kube.Namespace(t))
	out, told, status := p.command("run", cluster.Surrounded([]byte(tooLargeYAML)), "--timeout=90s")
	if status != 1 {
		t.Errorf("the run ends with %d", status)
	}
	for _, text := range []string{"Insufficient cpu", "too large"} {
		if !strings.Contains(told, text) {
			t.Errorf("nothing is said of %q:\n%s", text, told)
		}
	}
	for _, line := range []string{"other     > ok", "next      > ok"} {
		if !strings.Contains(out, line) {
			t.Errorf("the log has no line %q:\n%s\n%s", line, out, told)
		}
	}
	p.checkNothingRemains()
}

// remains are the objects of runs that are in the namespace.
func (p *pipeline) remains() []string {
	p.t.Helper()
	ctx, core := p.t.Context(), kube.Core.CoreV1()
	var left []string
	add := func(kind string, names []string, err error) {
		if err != nil {
			p.t.Fatal(err)
		}
		for _, n := range names {
			left = append(left, kind+" "+n)
		}
	}
	runs, err := kube.Objects.Resource(cluster.PipelineRuns).Namespace(p.namespace).List(ctx, metav1.ListOptions{})
	if err == nil {
		for _, o := range runs.Items {
			left = append(left, "PipelineRun "+o.GetName())
		}
	}
	add("PipelineRun", nil, err)
	pods, err := core.Pods(p.namespace).List(ctx, metav1.ListOptions{})
	add("Pod", namesOf(pods.Items, func(o corev1.Pod) string { return o.Name }), err)
	claims, err := core.PersistentVolumeClaims(p.namespace).List(ctx, metav1.ListOptions{})
	add("PersistentVolumeClaim", namesOf(claims.Items, func(o corev1.PersistentVolumeClaim) string { return o.Name }), err)
	secrets, err := core.Secrets(p.namespace).List(ctx, metav1.ListOptions{})
	add("Secret", namesOf(secrets.Items, func(o corev1.Secret) string { return o.Name }), err)
	services, err := core.Services(p.namespace).List(ctx, metav1.ListOptions{})
	add("Service", namesOf(services.Items, func(o corev1.Service) string { return o.Name }), err)
	sets, err := kube.Core.AppsV1().StatefulSets(p.namespace).List(ctx, metav1.ListOptions{})
	if err == nil {
		for _, o := range sets.Items {
			left = append(left, "StatefulSet "+o.Name)
		}
	}
	add("StatefulSet", nil, err)
	return left
}

func namesOf[T any](items []T, name func(T) string) []string {
	var names []string
	for _, o := range items {
		names = append(names, name(o))
	}
	return names
}

// checkNothingRemains waits for the garbage collector, which takes what a deleted run has owned.
func (p *pipeline) checkNothingRemains() {
	p.t.Helper()
	var left []string
	err := wait.PollUntilContextTimeout(p.t.Context(), 2*time.Second, 3*time.Minute, true, func(context.Context) (bool, error) {
		left = p.remains()
		return len(left) == 0, nil
	})
	if err != nil {
		p.t.Errorf("of the runs there remain %s", strings.Join(left, ", "))
	}
}
