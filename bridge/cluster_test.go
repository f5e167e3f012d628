package bridge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	kubefake "k8s.io/client-go/kubernetes/fake"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	k8stesting "k8s.io/client-go/testing"
	"knative.dev/pkg/apis"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonfake "github.com/tektoncd/pipeline/pkg/client/clientset/versioned/fake"
	tektonscheme "github.com/tektoncd/pipeline/pkg/client/clientset/versioned/scheme"
)

// behaviour is what a step does when it runs.
type behaviour struct {
	exit  int32
	lines []string
	// until keeps the step running until it is closed; nil lets it end at once.
	until <-chan struct{}
	// waiting keeps the container from starting, for this reason and with this message.
	waiting, message string
	// pod changes the pod once the container has ended.
	pod func(*corev1.Pod)
}

// fakeCluster is a cluster with as much of Tekton as the runner sees: runs make tasks, tasks make pods, pods make logs.
// It is driven by its own loop, and survives the runners that use it.
type fakeCluster struct {
	kube, tekton k8stesting.ObjectTracker
	own          Clients // past all gates
	streams      *fakeStreams

	mu    sync.Mutex
	steps map[string]behaviour
	began map[string]bool // pod/container
}

func newFakeCluster(t *testing.T, steps map[string]behaviour) *fakeCluster {
	c := &fakeCluster{
		kube:   k8stesting.NewObjectTracker(kubescheme.Scheme, kubescheme.Codecs.UniversalDecoder()),
		tekton: k8stesting.NewObjectTracker(tektonscheme.Scheme, tektonscheme.Codecs.UniversalDecoder()),
		steps:  steps, began: map[string]bool{}, streams: newFakeStreams(),
	}
	c.own = c.clients(nil)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			c.step(ctx)
			time.Sleep(3 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return c
}

// clients are clientsets on the cluster. gate is asked before and after each write, and may refuse it.
func (c *fakeCluster) clients(gate func(call string, after bool) error) Clients {
	kube, tekton := &kubefake.Clientset{}, &tektonfake.Clientset{}
	connect(&kube.Fake, c.kube, gate)
	connect(&tekton.Fake, c.tekton, gate)
	return Clients{Kube: kube, Tekton: tekton}
}

func connect(f *k8stesting.Fake, tracker k8stesting.ObjectTracker, gate func(string, bool) error) {
	react := k8stesting.ObjectReaction(tracker)
	f.AddReactor("*", "*", func(a k8stesting.Action) (bool, runtime.Object, error) {
		writes := slices.Contains([]string{"create", "update", "patch", "delete"}, a.GetVerb()) && a.GetResource().Resource != "events"
		call := a.GetVerb() + " " + a.GetResource().Resource
		if gate != nil && writes {
			if err := gate(call, false); err != nil {
				return true, nil, err
			}
		}
		handled, object, err := react(a)
		if gate != nil && writes {
			if err := gate(call, true); err != nil {
				return true, nil, err
			}
		}
		return handled, object, err
	})
	f.AddWatchReactor("*", func(a k8stesting.Action) (bool, watch.Interface, error) {
		w, err := tracker.Watch(a.GetResource(), a.GetNamespace())
		if err != nil {
			return true, nil, err
		}
		return true, replayed(w, tracker, a), nil
	})
}

// kinds are those that are watched.
var kinds = map[string]schema.GroupVersionKind{
	"events": corev1.SchemeGroupVersion.WithKind("Event"), "pods": corev1.SchemeGroupVersion.WithKind("Pod"), "configmaps": corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	"pipelineruns": v1.SchemeGroupVersion.WithKind("PipelineRun"), "taskruns": v1.SchemeGroupVersion.WithKind("TaskRun"),
}

// replayed is a watch that tells of all objects first. A tracker knows no resource versions: what changes between a list
// and the watch that follows it would be lost, which a real API server does not do.
func replayed(w watch.Interface, tracker k8stesting.ObjectTracker, a k8stesting.Action) watch.Interface {
	out := make(chan watch.Event)
	proxy := watch.NewProxyWatcher(out)
	var objects []runtime.Object
	if list, err := tracker.List(a.GetResource(), kinds[a.GetResource().Resource], a.GetNamespace()); err == nil {
		objects, _ = meta.ExtractList(list)
	}
	go func() {
		defer close(out)
		defer w.Stop()
		send := func(e watch.Event) bool {
			select {
			case out <- e:
				return true
			case <-proxy.StopChan():
				return false
			}
		}
		for _, o := range objects {
			if !send(watch.Event{Type: watch.Modified, Object: o}) {
				return
			}
		}
		for {
			select {
			case e, open := <-w.ResultChan():
				if !open || !send(e) {
					return
				}
			case <-proxy.StopChan():
				return
			}
		}
	}()
	return proxy
}

// step brings the cluster forward by one look.
func (c *fakeCluster) step(ctx context.Context) {
	runs, err := c.own.Tekton.TektonV1().PipelineRuns("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	alive := map[string]bool{}
	for i := range runs.Items {
		run := &runs.Items[i]
		alive[run.Namespace+"/"+run.Name] = true
		if run.Spec.Status != v1.PipelineRunSpecStatusPending && !run.IsDone() {
			c.run(ctx, run)
		}
		c.cancelled(ctx, run)
	}
	c.collect(ctx, alive)
}

// run starts the tasks of a run whose turn it is, and ends the run.
func (c *fakeCluster) run(ctx context.Context, run *v1.PipelineRun) {
	if run.Spec.Status == v1.PipelineRunSpecStatusCancelled {
		c.endRun(ctx, run, corev1.ConditionFalse, v1.PipelineRunReasonCancelled.String())
		return
	}
	states := map[string]string{} // of tasks: "", running, Succeeded, Failed
	outcome := "Succeeded"
	for _, t := range run.Spec.PipelineSpec.Tasks {
		states[t.Name] = c.task(ctx, run, t.Name)
		if states[t.Name] == "Failed" {
			outcome = "Failed"
		}
	}
	busy := false
	for _, t := range run.Spec.PipelineSpec.Tasks {
		ready := states[t.Name] == "" && outcome != "Failed"
		for _, before := range t.RunAfter {
			ready = ready && states[before] == "Succeeded"
		}
		if ready {
			c.startTask(ctx, run, t)
		}
		busy = busy || ready || states[t.Name] == "running"
	}
	if busy {
		return
	}
	final := outcome
	for _, t := range run.Spec.PipelineSpec.Finally {
		state := c.task(ctx, run, t.Name)
		wanted := !slices.ContainsFunc(t.When, func(w v1.WhenExpression) bool {
			value := outcome
			if name, ok := strings.CutPrefix(w.Input, "$(tasks."); ok && name != "status)" {
				value = states[strings.TrimSuffix(name, ".status)")]
				if value == "" {
					value = "None"
				}
			}
			return !slices.Contains(w.Values, value)
		})
		switch {
		case state == "" && wanted:
			c.startTask(ctx, run, t)
			busy = true
		case state == "running":
			busy = true
		case state == "Failed":
			final = "Failed"
		}
	}
	if !busy {
		to := corev1.ConditionTrue
		if final == "Failed" {
			to = corev1.ConditionFalse
		}
		c.endRun(ctx, run, to, final)
	}
}

func (c *fakeCluster) endRun(ctx context.Context, run *v1.PipelineRun, to corev1.ConditionStatus, reason string) {
	run = run.DeepCopy()
	run.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: to, Reason: reason})
	run.Status.CompletionTime = &metav1.Time{Time: time.Now()}
	_, _ = c.own.Tekton.TektonV1().PipelineRuns(run.Namespace).UpdateStatus(ctx, run, metav1.UpdateOptions{})
}

func (c *fakeCluster) startTask(ctx context.Context, run *v1.PipelineRun, t v1.PipelineTask) {
	labels := map[string]string{"tekton.dev/pipelineTask": t.Name, "tekton.dev/pipelineRun": run.Name}
	for k, v := range run.Labels {
		labels[k] = v
	}
	owner := []metav1.OwnerReference{{Kind: "PipelineRun", Name: run.Name}}
	name := run.Name + "-" + t.Name
	tr := &v1.TaskRun{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: run.Namespace, Labels: labels, OwnerReferences: owner},
		Spec:       v1.TaskRunSpec{TaskSpec: &t.TaskSpec.TaskSpec},
	}
	tr.Status.PodName = name + "-pod"
	tr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionUnknown, Reason: "Running"})
	podLabels := map[string]string{"tekton.dev/taskRun": name}
	for k, v := range labels {
		podLabels[k] = v
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: tr.Status.PodName, Namespace: run.Namespace, UID: types.UID(name + "-uid"), Labels: podLabels, OwnerReferences: owner,
	}}
	for _, s := range t.TaskSpec.Steps {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "step-" + s.Name, Image: s.Image})
	}
	_, _ = c.own.Kube.CoreV1().Pods(run.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	_, _ = c.own.Tekton.TektonV1().TaskRuns(run.Namespace).Create(ctx, tr, metav1.CreateOptions{})
}

// task brings a task forward, and tells how it is.
func (c *fakeCluster) task(ctx context.Context, run *v1.PipelineRun, name string) string {
	trs := c.own.Tekton.TektonV1().TaskRuns(run.Namespace)
	tr, err := trs.Get(ctx, run.Name+"-"+name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	if tr.IsDone() {
		return map[bool]string{true: "Succeeded", false: "Failed"}[tr.IsSuccessful()]
	}
	pod, err := c.own.Kube.CoreV1().Pods(run.Namespace).Get(ctx, tr.Status.PodName, metav1.GetOptions{})
	if err != nil {
		c.endTask(ctx, tr, corev1.ConditionFalse, "Failed")
		return "Failed"
	}
	code, ended := c.pod(ctx, pod, tr.Spec.TaskSpec.Steps)
	if ended {
		tr = tr.DeepCopy()
		for _, cs := range pod.Status.ContainerStatuses {
			tr.Status.Steps = append(tr.Status.Steps, v1.StepState{
				ContainerState: cs.State, Name: strings.TrimPrefix(cs.Name, "step-"), Container: cs.Name,
			})
		}
	}
	switch {
	case !ended:
		return "running"
	case code == 0:
		c.endTask(ctx, tr, corev1.ConditionTrue, "Succeeded")
		return "Succeeded"
	default:
		c.endTask(ctx, tr, corev1.ConditionFalse, "StepFailed")
		return "Failed"
	}
}

func (c *fakeCluster) endTask(ctx context.Context, tr *v1.TaskRun, to corev1.ConditionStatus, reason string) {
	tr = tr.DeepCopy()
	tr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: to, Reason: reason})
	tr.Status.CompletionTime = &metav1.Time{Time: time.Now()}
	_, _ = c.own.Tekton.TektonV1().TaskRuns(tr.Namespace).UpdateStatus(ctx, tr, metav1.UpdateOptions{})
}

// pod runs a pod's steps, one after the other, and tells how the whole ended.
func (c *fakeCluster) pod(ctx context.Context, pod *corev1.Pod, steps []v1.Step) (code int32, ended bool) {
	if len(pod.Status.ContainerStatuses) == 0 {
		pod = pod.DeepCopy()
		for i, container := range pod.Spec.Containers {
			cs := corev1.ContainerStatus{Name: container.Name, Image: container.Image}
			if b := c.behaviour(steps[i].Name); b.waiting != "" {
				cs.State.Waiting = &corev1.ContainerStateWaiting{Reason: b.waiting, Message: b.message}
			} else {
				cs.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.Now()}
				if i == 0 {
					c.begin(pod.Name+"/"+container.Name, b)
				}
			}
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, cs)
		}
		c.savePod(ctx, pod)
		return 0, false
	}
	for i := range pod.Status.ContainerStatuses {
		cs, b := pod.Status.ContainerStatuses[i], c.behaviour(steps[i].Name)
		key := pod.Name + "/" + cs.Name
		if t := cs.State.Terminated; t != nil {
			if t.ExitCode != 0 {
				code = t.ExitCode
			}
			continue
		}
		if cs.State.Waiting != nil {
			return 0, false
		}
		if c.begin(key, b) {
			return 0, false
		}
		if b.until != nil {
			select {
			case <-b.until:
			default:
				return 0, false
			}
		}
		pod = pod.DeepCopy()
		terminated := &corev1.ContainerStateTerminated{ExitCode: b.exit, StartedAt: cs.State.Running.StartedAt, FinishedAt: metav1.Now(), Reason: "Completed"}
		if b.exit != 0 && steps[i].OnError == v1.Continue {
			terminated.ExitCode = 0
			terminated.Message = fmt.Sprintf(`[{"key":"ExitCode","value":"%d","type":3}]`, b.exit)
		}
		pod.Status.ContainerStatuses[i].State = corev1.ContainerState{Terminated: terminated}
		if b.pod != nil {
			b.pod(pod)
		}
		c.streams.end(key)
		c.savePod(ctx, pod)
		return 0, false
	}
	return code, true
}

// begin has a container write its lines, the first time.
func (c *fakeCluster) begin(key string, b behaviour) bool {
	c.mu.Lock()
	first := !c.began[key]
	c.began[key] = true
	c.mu.Unlock()
	if first {
		c.streams.write(key, b.lines...)
	}
	return first
}

func (c *fakeCluster) savePod(ctx context.Context, pod *corev1.Pod) {
	_, _ = c.own.Kube.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
}

func (c *fakeCluster) behaviour(step string) behaviour {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.steps[step]
}

// cancelled does what Tekton does with the tasks of a cancelled run, and with tasks that are cancelled alone.
func (c *fakeCluster) cancelled(ctx context.Context, run *v1.PipelineRun) {
	trs := c.own.Tekton.TektonV1().TaskRuns(run.Namespace)
	list, err := trs.List(ctx, metav1.ListOptions{LabelSelector: "tekton.dev/pipelineRun=" + run.Name})
	if err != nil {
		return
	}
	for i := range list.Items {
		tr := &list.Items[i]
		if tr.IsDone() || run.Spec.Status != v1.PipelineRunSpecStatusCancelled && tr.Spec.Status != v1.TaskRunSpecStatusCancelled {
			continue
		}
		tr = tr.DeepCopy()
		tr.Spec.Status = v1.TaskRunSpecStatusCancelled
		_, _ = trs.Update(ctx, tr, metav1.UpdateOptions{})
		_ = c.own.Kube.CoreV1().Pods(run.Namespace).Delete(ctx, tr.Status.PodName, metav1.DeleteOptions{})
		for _, s := range tr.Spec.TaskSpec.Steps {
			c.streams.end(tr.Status.PodName + "/step-" + s.Name)
		}
		c.endTask(ctx, tr, corev1.ConditionFalse, v1.TaskRunReasonCancelled.String())
	}
}

// cancelAll cancels all runs, and waits until their pods are gone.
func (c *fakeCluster) cancelAll(ctx context.Context) {
	runs := c.own.Tekton.TektonV1().PipelineRuns("")
	for ctx.Err() == nil {
		list, err := runs.List(ctx, metav1.ListOptions{})
		if err != nil {
			return
		}
		for i := range list.Items {
			if run := list.Items[i].DeepCopy(); !run.IsDone() {
				run.Spec.Status = v1.PipelineRunSpecStatusCancelled
				_, _ = c.own.Tekton.TektonV1().PipelineRuns(run.Namespace).Update(ctx, run, metav1.UpdateOptions{})
			}
		}
		pods, err := c.own.Kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err == nil && !slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning }) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// collect is the garbage collector: what is owned by a run that is gone goes too.
func (c *fakeCluster) collect(ctx context.Context, alive map[string]bool) {
	for _, o := range c.left(ctx) {
		for _, owner := range o.GetOwnerReferences() {
			if owner.Kind != "PipelineRun" || alive[o.GetNamespace()+"/"+owner.Name] {
				continue
			}
			if _, err := c.own.Tekton.TektonV1().PipelineRuns(o.GetNamespace()).Get(ctx, owner.Name, metav1.GetOptions{}); err == nil {
				continue // Made since.
			}
			core := c.own.Kube.CoreV1()
			switch o.(type) {
			case *corev1.Pod:
				_ = core.Pods(o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{})
			case *corev1.Secret:
				_ = core.Secrets(o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{})
			case *corev1.Service:
				_ = core.Services(o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{})
			case *corev1.PersistentVolumeClaim:
				_ = core.PersistentVolumeClaims(o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{})
			case *v1.TaskRun:
				_ = c.own.Tekton.TektonV1().TaskRuns(o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{})
			}
		}
	}
}

// left are all objects in the cluster, but events.
func (c *fakeCluster) left(ctx context.Context) []metav1.Object {
	var all []metav1.Object
	core, tekton := c.own.Kube.CoreV1(), c.own.Tekton.TektonV1()
	if l, err := core.Pods("").List(ctx, metav1.ListOptions{}); err == nil {
		for i := range l.Items {
			all = append(all, &l.Items[i])
		}
	}
	if l, err := core.Secrets("").List(ctx, metav1.ListOptions{}); err == nil {
		for i := range l.Items {
			all = append(all, &l.Items[i])
		}
	}
	if l, err := core.Services("").List(ctx, metav1.ListOptions{}); err == nil {
		for i := range l.Items {
			all = append(all, &l.Items[i])
		}
	}
	if l, err := core.ConfigMaps("").List(ctx, metav1.ListOptions{}); err == nil {
		for i := range l.Items {
			all = append(all, &l.Items[i])
		}
	}
	if l, err := core.PersistentVolumeClaims("").List(ctx, metav1.ListOptions{}); err == nil {
		for i := range l.Items {
			all = append(all, &l.Items[i])
		}
	}
	if l, err := tekton.TaskRuns("").List(ctx, metav1.ListOptions{}); err == nil {
		for i := range l.Items {
			all = append(all, &l.Items[i])
		}
	}
	if l, err := tekton.PipelineRuns("").List(ctx, metav1.ListOptions{}); err == nil {
		for i := range l.Items {
			all = append(all, &l.Items[i])
		}
	}
	return all
}
