package follow

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	api "github.com/drone/drone-go/drone"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"knative.dev/pkg/apis"
	duckv1 "knative.dev/pkg/apis/duck/v1"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonfake "github.com/tektoncd/pipeline/pkg/client/clientset/versioned/fake"

	"github.com/drone-tekton/drone-runner-tekton/bridge/logs"
	"github.com/drone-tekton/drone-runner-tekton/bridge/status"
	"github.com/drone-tekton/drone-runner-tekton/translate"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

const namespace = "builds"

func bundle(t *testing.T, text string) *translate.Bundle {
	t.Helper()
	m, list := drone.Parse("f", []byte(text))
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	b, list := translate.Pipeline(m.Pipelines[0], translate.Facts{}, translate.Options{Namespace: namespace, Name: "r1"})
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return b
}

const withService = `
kind: pipeline
name: default
clone: {disable: true}
services: [{name: web, image: i, commands: [serve]}]
steps: [{name: a, image: i, commands: [work]}]
`

// The PipelineRun comes first and waits, so that all else is owned by it, and starts last.
func TestCreateLetsTheRunOwnAllAndStartsItLast(t *testing.T) {
	c := Clients{Kube: kubefake.NewClientset(), Tekton: tektonfake.NewSimpleClientset()}
	ctx := context.Background()
	var order []string
	kube, tekton := c.Kube.(*kubefake.Clientset), c.Tekton.(*tektonfake.Clientset)
	note := func(a clienttesting.Action) (bool, runtime.Object, error) {
		order = append(order, a.GetVerb()+" "+a.GetResource().Resource)
		return false, nil, nil
	}
	kube.PrependReactor("*", "*", note)
	tekton.PrependReactor("*", "*", note)

	run, err := Create(ctx, c, namespace, bundle(t, withService))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"create pipelineruns", "create persistentvolumeclaims", "create services", "create pods", "patch pipelineruns"}
	if !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
	if run.Spec.Status != "" {
		t.Errorf("the run's spec.status is %q, want none", run.Spec.Status)
	}
	pod, err := c.Kube.CoreV1().Pods(namespace).Get(ctx, "r1-web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(pod.OwnerReferences) != 1 || pod.OwnerReferences[0].Name != "r1" || pod.OwnerReferences[0].Kind != "PipelineRun" {
		t.Errorf("the Pod is owned by %v, want the run", pod.OwnerReferences)
	}
}

func TestCreateLeavesNothingWhereAnObjectIsRefused(t *testing.T) {
	c := Clients{Kube: kubefake.NewClientset(), Tekton: tektonfake.NewSimpleClientset()}
	c.Kube.(*kubefake.Clientset).PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "r1-web", fmt.Errorf("exceeded quota"))
	})
	ctx := context.Background()
	_, err := Create(ctx, c, namespace, bundle(t, withService))
	if err == nil || !strings.Contains(err.Error(), "exceeded quota") {
		t.Errorf("Create gives %v, want the reason of the refusal", err)
	}
	runs, err := c.Tekton.TektonV1().PipelineRuns(namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(runs.Items) > 0 {
		t.Errorf("after the refusal there are %d runs (%v), want none", len(runs.Items), err)
	}
}

// oneLog is the log of every container.
type oneLog string

func (l oneLog) Open(context.Context, logs.Stream) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(string(l))), nil
}

// notes remembers what was shown.
type notes struct {
	mu    sync.Mutex
	steps []string
	log   bytes.Buffer
}

func (n *notes) Step(step status.Step, state status.State) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.steps = append(n.steps, step.Name+" "+state.Status)
}

func (n *notes) Line(step string, text []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fmt.Fprintf(&n.log, "%s: %s", step, text)
}

func TestFollowShowsLogAndResultOfAFinishedRun(t *testing.T) {
	const one = "kind: pipeline\nname: default\nclone: {disable: true}\nsteps: [{name: a, image: i, commands: [work]}]\n"
	for _, test := range []struct {
		exit  int32
		step  string
		state corev1.ConditionStatus
		stage string
	}{
		{0, "a success", corev1.ConditionTrue, api.StatusPassing},
		{3, "a failure", corev1.ConditionFalse, api.StatusFailing},
	} {
		b := bundle(t, one)
		c := Clients{Kube: kubefake.NewClientset(), Tekton: tektonfake.NewSimpleClientset()}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		run, err := Create(ctx, c, namespace, b)
		if err != nil {
			t.Fatal(err)
		}
		play(ctx, t, c, run, test.exit, test.state)
		var n notes
		answer, err := Follow(ctx, c, oneLog("2026-01-01T00:00:00Z hello\n"), run, b, &n)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if answer.Status != test.stage {
			t.Errorf("exit code %d: the pipeline is %q, want %q", test.exit, answer.Status, test.stage)
		}
		if !slices.Contains(n.steps, test.step) {
			t.Errorf("exit code %d: shown %q, want %q among it", test.exit, n.steps, test.step)
		}
		if got := n.log.String(); got != "a: hello\n" {
			t.Errorf("exit code %d: the log is %q", test.exit, got)
		}
	}
}

// play is what Tekton and the kubelet would do with a run of one step.
func play(ctx context.Context, t *testing.T, c Clients, run *v1.PipelineRun, exit int32, state corev1.ConditionStatus) {
	t.Helper()
	done := duckv1.Status{Conditions: duckv1.Conditions{{Type: apis.ConditionSucceeded, Status: state, Reason: "Done"}}}
	now := metav1.Now()
	labels := map[string]string{"tekton.dev/pipelineRun": run.Name, "tekton.dev/pipelineTask": "a", "tekton.dev/taskRun": "r1-a"}
	for k, v := range run.Labels {
		labels[k] = v
	}
	owner := []metav1.OwnerReference{*metav1.NewControllerRef(run, v1.SchemeGroupVersion.WithKind("PipelineRun"))}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: exit, StartedAt: now, FinishedAt: now}}
	tr := &v1.TaskRun{ObjectMeta: metav1.ObjectMeta{Name: "r1-a", Namespace: namespace, Labels: labels, OwnerReferences: owner}}
	tr.Status.Status = done
	tr.Status.PodName, tr.Status.CompletionTime = "r1-a-pod", &now
	tr.Status.Steps = []v1.StepState{{Name: "a", Container: "step-a", ContainerState: ended}}
	if _, err := c.Tekton.TektonV1().TaskRuns(namespace).Create(ctx, tr, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "r1-a-pod", Namespace: namespace, UID: "u1", Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "step-a"}}},
		Status: corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{
			{Name: "step-a", State: ended},
		}},
	}
	if _, err := c.Kube.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	run = run.DeepCopy()
	run.Status.Status, run.Status.CompletionTime = done, &now
	run.Status.ChildReferences = []v1.ChildStatusReference{{Name: "r1-a", PipelineTaskName: "a", TypeMeta: runtime.TypeMeta{Kind: "TaskRun"}}}
	if _, err := c.Tekton.TektonV1().PipelineRuns(namespace).UpdateStatus(ctx, run, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
