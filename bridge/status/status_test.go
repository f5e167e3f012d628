package status

import (
	"strings"
	"testing"
	"time"

	api "github.com/drone/drone-go/drone"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/apis"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(seconds int) metav1.Time {
	return metav1.Time{Time: now.Add(time.Duration(seconds) * time.Second)}
}

// run is a PipelineRun with this condition.
func run(to corev1.ConditionStatus, reason string, change ...func(*v1.PipelineRun)) *v1.PipelineRun {
	r := &v1.PipelineRun{}
	r.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: to, Reason: reason, Message: "why"})
	for _, c := range change {
		c(r)
	}
	return r
}

// task is the TaskRun of the task a, with this condition.
func task(to corev1.ConditionStatus, reason string, change ...func(*v1.TaskRun)) *v1.TaskRun {
	tr := &v1.TaskRun{ObjectMeta: metav1.ObjectMeta{Name: "tr", Labels: map[string]string{taskLabel: "a"}}}
	tr.Status.PodName = "pod"
	tr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: to, Reason: reason, Message: "why"})
	if to != corev1.ConditionUnknown {
		tr.Status.CompletionTime = &metav1.Time{Time: now.Add(-time.Minute)}
	}
	for _, c := range change {
		c(tr)
	}
	return tr
}

func cancelled(tr *v1.TaskRun) { tr.Spec.Status = v1.TaskRunSpecStatusCancelled }

// pod is the pod of the task, with the container of the step a in this state.
func pod(state corev1.ContainerState, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", UID: "uid"}}
	p.Spec.Containers = []corev1.Container{{Name: "step-a", Image: "golang"}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "step-a", State: state}}
	for _, c := range change {
		c(p)
	}
	return p
}

func running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(-20)}}
}

func terminated(exit int32, reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: exit, Reason: reason, Message: message, StartedAt: at(-20), FinishedAt: at(-10)}}
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func failed(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, reason, message
	}
}

const (
	unknown = corev1.ConditionUnknown
	yes     = corev1.ConditionTrue
	no      = corev1.ConditionFalse
)

// TestStep is the table of what a step is told as, for a step in a task of its own.
func TestStep(t *testing.T) {
	ongoing := run(unknown, "Running")
	old := func(Trouble) time.Time { return now.Add(-time.Hour) }
	fresh := func(Trouble) time.Time { return now }
	ending := &Ending{Cancelled, now.Add(-15 * time.Second)}
	tests := []struct {
		name    string
		ignore  bool // its failure
		run     *v1.PipelineRun
		task    *v1.TaskRun
		pod     *corev1.Pod
		ending  *Ending
		since   func(Trouble) time.Time
		known   State
		status  string
		exit    int
		error   string // a part of it
		waiting string // a part of it
		waits   string // for what
	}{
		{name: "no task yet", run: ongoing, status: "pending"},
		{name: "no task at all", run: run(yes, "Completed"), status: "skipped"},
		{name: "skipped by Tekton", run: run(unknown, "Running", func(r *v1.PipelineRun) {
			r.Status.SkippedTasks = []v1.SkippedTask{{Name: "a", Reason: v1.StoppingSkip}}
		}), status: "skipped"},
		{name: "no pod yet", run: ongoing, task: task(unknown, "Pending"), status: "pending"},
		{name: "quota", run: ongoing, task: task(unknown, "ExceededResourceQuota"), status: "pending", waiting: "waiting: why", waits: ForQuota},
		{name: "larger than any node", run: ongoing, task: task(unknown, "ExceededNodeResources"), status: "pending", waiting: "waiting: why", waits: ForNode},
		{name: "pod refused for now", run: ongoing, task: task(unknown, "PodCreationFailed"), status: "pending", waiting: "waiting: why", waits: ForPod},
		{name: "unschedulable", run: ongoing, task: task(unknown, "Pending"), pod: pod(waiting("", ""), func(p *corev1.Pod) {
			p.Status.ContainerStatuses = nil
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: no, Message: "0/2 nodes are available"}}
		}), status: "pending", waiting: "0/2 nodes", waits: ForNode},
		{name: "being created", run: ongoing, task: task(unknown, "Pending"), pod: pod(waiting("ContainerCreating", "")), status: "pending"},
		{name: "image, at first", run: ongoing, task: task(unknown, "Pending"), pod: pod(waiting("ErrImagePull", "no such image")), since: fresh,
			status: "pending", waiting: "cannot be pulled: no such image", waits: ForImage},
		{name: "image, for too long", run: ongoing, task: task(unknown, "Pending"), pod: pod(waiting("ImagePullBackOff", "no such image")), since: old,
			status: "error", exit: 255, error: "no such image"},
		{name: "configuration, at first", run: ongoing, task: task(unknown, "Pending"), pod: pod(waiting("CreateContainerConfigError", "no ConfigMap x")), since: fresh,
			status: "pending", waiting: "cannot be configured", waits: ForContainer},
		{name: "configuration", run: ongoing, task: task(unknown, "Pending"), pod: pod(waiting("CreateContainerConfigError", "no ConfigMap x")), since: old,
			status: "error", exit: 255, error: "no ConfigMap x"},
		{name: "image of an init container", run: ongoing, task: task(unknown, "Pending"), since: old, pod: pod(waiting("PodInitializing", ""), func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "prepare", State: waiting("ErrImagePull", "no entrypoint")}}
		}), status: "error", exit: 255, error: "no entrypoint"},
		{name: "running", run: ongoing, task: task(unknown, "Running"), pod: pod(running()), status: "running"},
		{name: "success", run: ongoing, task: task(unknown, "Running"), pod: pod(terminated(0, "Completed", "")), status: "success"},
		{name: "failure", run: ongoing, task: task(no, "Failed"), pod: pod(terminated(1, "Error", "")), status: "failure", exit: 1},
		{name: "exit code 2 is no error of the runner", run: ongoing, task: task(no, "Failed"), pod: pod(terminated(2, "Error", "")), status: "failure", exit: 2},
		{name: "exit code 137 of the step's own", run: ongoing, task: task(no, "Failed"), pod: pod(terminated(137, "Error", "")), status: "failure", exit: 137},
		{name: "exit code 255", run: ongoing, task: task(no, "Failed"), pod: pod(terminated(255, "Error", "")), status: "failure", exit: 255},
		{name: "exit code 78", run: ongoing, task: task(no, "Failed"), pod: pod(terminated(78, "Error", "")), status: "success", exit: 78},
		{name: "failure that is gone on after", run: ongoing, task: task(yes, "Succeeded"),
			pod: pod(terminated(0, "Completed", `[{"key":"ExitCode","value":"7","type":3}]`)), status: "failure", exit: 7},
		{name: "death by a signal that is gone on after", run: ongoing, task: task(yes, "Succeeded"),
			pod: pod(terminated(0, "Completed", `[{"key":"ExitCode","value":"-1","type":3}]`)), status: "failure", exit: 137},
		{name: "death by a signal that is gone on after, as Tekton tells it", run: ongoing, task: task(yes, "Succeeded", func(tr *v1.TaskRun) {
			tr.Status.Steps = []v1.StepState{{Name: "a", Container: "step-a", ContainerState: terminated(-1, "Error", "")}}
		}), status: "failure", exit: 137},
		{name: "failure that is ignored", ignore: true, run: ongoing, task: task(yes, "Succeeded"),
			pod: pod(terminated(0, "Completed", `[{"key":"ExitCode","value":"7","type":3}]`)), status: "failure", exit: 7},
		{name: "failure that is ignored, as Tekton tells it", ignore: true, run: ongoing, task: task(yes, "Succeeded", func(tr *v1.TaskRun) {
			tr.Status.Steps = []v1.StepState{{Name: "a", Container: "step-a", TerminationReason: "Continued",
				ContainerState: terminated(7, "Error", "")}}
		}), status: "failure", exit: 7},
		{name: "no shell, which cannot be ignored", ignore: true, run: ongoing, task: task(no, "Failed"),
			pod: pod(terminated(1, "Error", "")), status: "error", exit: 255, error: "could not be started"},
		{name: "out of memory, which cannot be ignored", ignore: true, run: ongoing, task: task(no, "Failed"),
			pod: pod(terminated(137, "OOMKilled", "")), status: "error", exit: 255, error: "out of memory"},
		{name: "a result that looks like Tekton's message", run: ongoing, task: task(yes, "Succeeded"),
			pod: pod(terminated(0, "Completed", `[{"key":"ExitCode","value":"7","type":1}]`)), status: "success"},
		{name: "skipped by its own condition", run: ongoing, task: task(yes, "Succeeded"),
			pod: pod(terminated(0, "Completed", `[{"key":"Reason","value":"Skipped","type":3}]`)), status: "skipped"},
		{name: "out of memory", run: ongoing, task: task(no, "Failed"), pod: pod(terminated(137, "OOMKilled", ""), func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"memory": resource.MustParse("64Mi")}
		}), status: "failure", exit: 137, error: "limit of 64Mi"},
		{name: "out of memory with exit code 0", run: ongoing, task: task(no, "StepOOM"), pod: pod(terminated(0, "OOMKilled", "")), status: "failure", exit: 137, error: "out of memory"},
		{name: "evicted", run: ongoing, task: task(no, "PodEvicted"), pod: pod(terminated(137, "Error", ""), failed("Evicted", "low on memory")),
			status: "error", exit: 255, error: "Evicted: low on memory"},
		{name: "evicted with exit code 0", run: ongoing, task: task(no, "PodEvicted"), pod: pod(terminated(0, "Completed", ""), failed("Evicted", "low on memory")),
			status: "error", exit: 255, error: "Evicted"},
		{name: "node lost", run: ongoing, task: task(no, "Failed"), pod: pod(terminated(137, "ContainerStatusUnknown", "gone")), status: "error", exit: 255, error: "lost"},
		{name: "pod deleted", run: ongoing, task: task(unknown, "Running"), pod: pod(terminated(143, "Error", ""), func(p *corev1.Pod) {
			p.DeletionTimestamp = &metav1.Time{Time: now}
		}), status: "error", exit: 255, error: "the pod was deleted"},
		{name: "pod deleted, step dead of its signal", run: ongoing, task: task(unknown, "Running"), pod: pod(terminated(255, "Error", ""), func(p *corev1.Pod) {
			p.DeletionTimestamp = &metav1.Time{Time: now}
		}), status: "error", exit: 255, error: "the pod was deleted"},
		{name: "pod vanished, task failed", run: ongoing, task: task(no, "Failed"), status: "error", exit: 255, error: "Failed: why"},
		{name: "pod vanished, task well", run: ongoing, task: task(yes, "Succeeded"), status: "error", exit: 255, error: "vanished"},
		{name: "pod vanished, Tekton has seen its end", run: ongoing, task: task(yes, "Succeeded", func(tr *v1.TaskRun) {
			tr.Status.Steps = []v1.StepState{{Name: "a", Container: "step-a", ContainerState: terminated(0, "Completed", "")}}
		}), status: "success"},
		{name: "image, as Tekton tells it", run: ongoing, task: task(no, "TaskRunImagePullFailed"), pod: pod(waiting("ImagePullBackOff", "x")), since: fresh,
			status: "error", exit: 255, error: "TaskRunImagePullFailed"},
		{name: "admission", run: ongoing, task: task(no, "PodAdmissionFailed"), status: "error", exit: 255, error: "PodAdmissionFailed"},
		{name: "an unknown reason", run: ongoing, task: task(no, "SomethingNew"), status: "error", exit: 255, error: "SomethingNew"},
		{name: "cancelled while it ran", run: run(no, "Cancelled"), task: task(no, "TaskRunCancelled", cancelled), ending: ending,
			pod: pod(terminated(143, "Error", "")), status: "killed", exit: 137},
		{name: "cancelled while it ran, in the same second", run: run(no, "Cancelled"), task: task(no, "TaskRunCancelled", cancelled),
			ending: &Ending{Cancelled, at(-10).Time}, pod: pod(terminated(255, "Error", "")), status: "killed", exit: 137},
		{name: "cancelled alone", run: ongoing, task: task(no, "TaskRunCancelled", cancelled),
			pod: pod(terminated(255, "Error", "")), status: "killed", exit: 137},
		{name: "cancelled, pod gone", run: run(no, "Cancelled"), task: task(no, "TaskRunCancelled", cancelled), ending: ending,
			known: State{Status: "running", Started: now}, status: "killed", exit: 137},
		{name: "cancelled before it ran", run: run(no, "Cancelled"), task: task(no, "TaskRunCancelled", cancelled), ending: ending, status: "skipped"},
		{name: "failed before the build was cancelled", run: run(no, "Cancelled"), task: task(no, "TaskRunCancelled", cancelled),
			ending: &Ending{Cancelled, now}, pod: pod(terminated(1, "Error", "")), status: "failure", exit: 1},
		{name: "succeeded before the build was cancelled", run: run(no, "Cancelled"), task: task(no, "TaskRunCancelled", cancelled),
			ending: ending, pod: pod(terminated(0, "Completed", "")), status: "success"},
		{name: "timeout", run: run(no, "PipelineRunTimeout"), task: task(no, "TaskRunTimeout"), known: State{Status: "running", Started: now}, status: "killed", exit: 137},
		{name: "what has ended stays so", run: ongoing, task: task(unknown, "Running"), pod: pod(running()),
			known: State{Status: "error", ExitCode: 255, Error: "earlier"}, status: "error", exit: 255, error: "earlier"},
		{name: "run deleted", known: State{Status: "running", Started: now}, status: "killed", exit: 137},
	}
	for _, tt := range tests {
		q := Question{
			Cluster: Cluster{Run: tt.run}, Steps: []Step{{Number: 1, Name: "a", IgnoreFailure: tt.ignore, Units: []Unit{{Task: "a", Container: "a"}}}},
			Ending: tt.ending, Now: now, Grace: time.Minute, TroubleSince: tt.since, Known: map[int]State{1: tt.known},
		}
		if tt.task != nil {
			q.TaskRuns = []*v1.TaskRun{tt.task}
		}
		if tt.pod != nil {
			q.Pods = []*corev1.Pod{tt.pod}
		}
		st := Of(q).Steps[0]
		if st.Status != tt.status || st.ExitCode != tt.exit ||
			!strings.Contains(st.Error, tt.error) || (tt.error == "") != (st.Error == "") ||
			!strings.Contains(st.Waiting, tt.waiting) || (tt.waiting == "") != (st.Waiting == "") || st.WaitsFor != tt.waits {
			t.Errorf("%s: %s, exit %d, error %q, waiting %q for %q; want %s, exit %d, error with %q, waiting with %q for %q",
				tt.name, st.Status, st.ExitCode, st.Error, st.Waiting, st.WaitsFor, tt.status, tt.exit, tt.error, tt.waiting, tt.waits)
		}
	}
}

// TestTimes: a step runs from the start of its container, and behind others of its pod from their end.
func TestTimes(t *testing.T) {
	two := pod(terminated(0, "Completed", ""))
	two.Spec.Containers = append(two.Spec.Containers, corev1.Container{Name: "step-b"})
	two.Status.ContainerStatuses = append(two.Status.ContainerStatuses, corev1.ContainerStatus{Name: "step-b", State: running()})
	a := Of(Question{
		Cluster: Cluster{Run: run(unknown, "Running"), TaskRuns: []*v1.TaskRun{task(unknown, "Running")}, Pods: []*corev1.Pod{two}},
		Steps: []Step{
			{Number: 1, Name: "a", Units: []Unit{{Task: "a", Container: "a"}}},
			{Number: 2, Name: "b", Units: []Unit{{Task: "a", Container: "b"}}},
		},
		Now: now,
	})
	if got := a.Steps[0]; !got.Started.Equal(at(-20).Time) || !got.Stopped.Equal(at(-10).Time) {
		t.Errorf("a ran from %s to %s", got.Started, got.Stopped)
	}
	if got := a.Steps[1]; got.Status != api.StatusRunning || !got.Started.Equal(at(-10).Time) {
		t.Errorf("b is %s since %s, want running since the end of a", got.Status, got.Started)
	}
	two.Status.ContainerStatuses[0].State = running()
	if got := Of(Question{
		Cluster: Cluster{Run: run(unknown, "Running"), TaskRuns: []*v1.TaskRun{task(unknown, "Running")}, Pods: []*corev1.Pod{two}},
		Steps:   []Step{{Number: 2, Name: "b", Units: []Unit{{Task: "a", Container: "b"}}}}, Now: now,
	}).Steps[0]; got.Status != api.StatusPending {
		t.Errorf("b is %s while a runs, want pending", got.Status)
	}
}

// TestBehindAFailure: a step behind one of its pod that failed never runs, though its container does for a moment.
func TestBehindAFailure(t *testing.T) {
	skipped := terminated(1, "Error", `[{"key":"Reason","value":"Skipped","type":3}]`)
	tests := []struct {
		name   string
		task   *v1.TaskRun
		first  corev1.ContainerState
		second corev1.ContainerState
		status string
	}{
		{"not noticed yet", task(unknown, "Running"), terminated(1, "Error", ""), running(), "pending"},
		{"noticed", task(unknown, "Running"), terminated(1, "Error", ""), skipped, "skipped"},
		{"the task is done before", task(no, "Failed"), terminated(1, "Error", ""), running(), "skipped"},
		{"the container was not started", task(no, "Failed"), terminated(137, "OOMKilled", ""), waiting("ContainerCreating", ""), "skipped"},
		{"a failure that is gone on after", task(unknown, "Running"), terminated(0, "Completed", `[{"key":"ExitCode","value":"1","type":3}]`),
			running(), "running"},
	}
	for _, tt := range tests {
		p := pod(tt.first)
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "step-b"})
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: "step-b", State: tt.second})
		got := Of(Question{
			Cluster: Cluster{Run: run(unknown, "Running"), TaskRuns: []*v1.TaskRun{tt.task}, Pods: []*corev1.Pod{p}},
			Steps:   []Step{{Number: 2, Name: "b", Units: []Unit{{Task: "a", Container: "b"}}}}, Now: now,
		}).Steps[0]
		if got.Status != tt.status || got.Error != "" {
			t.Errorf("%s: b is %s, error %q; want %s", tt.name, got.Status, got.Error, tt.status)
		}
	}
}

// TestStage is the table of the stage's status: that of the first step in the list that did not succeed.
func TestStage(t *testing.T) {
	ok := State{Status: api.StatusPassing}
	bad := State{Status: api.StatusFailing, ExitCode: 1}
	broken := State{Status: api.StatusError, ExitCode: 255, Error: "no image"}
	dead := State{Status: api.StatusKilled, ExitCode: 137}
	skipped := State{Status: api.StatusSkipped}
	early := State{Status: api.StatusPassing, ExitCode: 78}
	tests := []struct {
		name   string
		run    *v1.PipelineRun
		ending Cause
		steps  []State
		change func([]Step)
		status string
		exit   int
		error  string
	}{
		{"success", run(yes, "Succeeded"), "", []State{ok, ok}, nil, "success", 0, ""},
		{"failure", run(no, "Failed"), "", []State{ok, bad, skipped}, nil, "failure", 0, ""},
		{"first of two", run(no, "Failed"), "", []State{broken, bad}, nil, "error", 255, "no image"},
		{"failure before killed", run(no, "Cancelled"), FailFast, []State{bad, dead}, nil, "failure", 0, ""},
		{"killed before failure", run(no, "Cancelled"), FailFast, []State{dead, bad}, nil, "killed", 137, ""},
		{"ignored", run(yes, "Succeeded"), "", []State{bad, ok}, func(s []Step) { s[0].IgnoreFailure = true }, "success", 0, ""},
		{"an error is not ignored", run(no, "Failed"), "", []State{broken, ok}, func(s []Step) { s[0].IgnoreFailure = true }, "error", 255, "no image"},
		{"a service that crashed", run(yes, "Succeeded"), "", []State{bad, ok}, func(s []Step) { s[0].Detached = true }, "success", 0, ""},
		{"early exit", run(no, "Cancelled"), EarlyExit, []State{early, skipped}, nil, "success", 0, ""},
		{"early exit of the last step", run(no, "Failed"), "", []State{ok, early}, nil, "success", 0, ""},
		{"cancelled", run(no, "Cancelled"), Cancelled, []State{ok, skipped}, nil, "killed", 137, ""},
		{"timeout by Tekton", run(no, "PipelineRunTimeout"), "", []State{dead}, nil, "killed", 137, "timeout"},
		{"timeout by the runner", run(no, "Cancelled"), TimedOut, []State{dead}, nil, "killed", 137, "timeout"},
		{"run deleted", nil, "", []State{ok, skipped}, nil, "killed", 137, "deleted"},
		{"run refused by Tekton", run(no, "CouldntGetTask"), "", []State{skipped}, nil, "error", 255, "CouldntGetTask: why"},
	}
	for _, tt := range tests {
		q := Question{Cluster: Cluster{Run: tt.run}, Now: now, Known: map[int]State{}}
		if tt.ending != "" {
			q.Ending = &Ending{tt.ending, now}
		}
		for i, st := range tt.steps {
			q.Steps = append(q.Steps, Step{Number: i + 1, Units: []Unit{{Task: "none"}}})
			q.Known[i+1] = st
		}
		if tt.change != nil {
			tt.change(q.Steps)
		}
		a := Of(q)
		if !a.Done || a.Status != tt.status || a.ExitCode != tt.exit || !strings.Contains(a.Error, tt.error) {
			t.Errorf("%s: done %v, %s, exit %d, error %q; want %s, exit %d, error with %q",
				tt.name, a.Done, a.Status, a.ExitCode, a.Error, tt.status, tt.exit, tt.error)
		}
	}
}

// TestEnd is when the runner has to end a pipeline itself.
func TestEnd(t *testing.T) {
	early, fine, runs, waits := State{Status: "success", ExitCode: 78}, State{Status: "success"}, State{Status: "running"}, State{Status: "pending"}
	bad := State{Status: "failure", ExitCode: 1}
	deleted := func(r *v1.PipelineRun) { r.DeletionTimestamp = &metav1.Time{Time: now} }
	tests := []struct {
		name   string
		run    *v1.PipelineRun
		states []State
		change func([]Step)
		want   Cause
	}{
		{"all well", run(unknown, "Running"), []State{fine, runs}, nil, ""},
		{"exit code 78", run(unknown, "Running"), []State{early, waits}, nil, EarlyExit},
		{"exit code 78 while another step runs", run(unknown, "Running"), []State{early, runs, waits}, nil, ""},
		{"exit code 78 of a service", run(unknown, "Running"), []State{early, waits}, func(s []Step) { s[0].Detached = true }, ""},
		{"exit code 78 before a step that always runs", run(unknown, "Running"), []State{early, waits}, func(s []Step) { s[1].Units = make([]Unit, 2) }, ""},
		{"fail fast", run(unknown, "Running"), []State{bad, runs}, func(s []Step) { s[0].FailFast = true }, FailFast},
		{"failure", run(unknown, "Running"), []State{bad, runs}, nil, ""},
		{"run being deleted", run(unknown, "Running", deleted), []State{runs}, nil, Removed},
		{"run over", run(no, "Failed"), []State{bad}, func(s []Step) { s[0].FailFast = true }, ""},
	}
	for _, tt := range tests {
		v := newView(Question{Cluster: Cluster{Run: tt.run}, Now: now})
		for i := range tt.states {
			v.Steps = append(v.Steps, Step{Number: i + 1, Units: make([]Unit, 1)})
		}
		if tt.change != nil {
			tt.change(v.Steps)
		}
		if got := v.end(tt.states); got != tt.want {
			t.Errorf("%s: end = %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestDetached: services end with the pipeline, which is a success; one that crashes shows it.
func TestDetached(t *testing.T) {
	beside := func(state corev1.ContainerState) *corev1.Pod {
		p := pod(state)
		p.Name, p.Spec.Containers[0].Name, p.Status.ContainerStatuses[0].Name = "svc", "web", "web"
		return p
	}
	tests := []struct {
		name   string
		run    *v1.PipelineRun
		pod    *corev1.Pod
		known  State
		ending *Ending
		status string
		exit   int
	}{
		{"running", run(unknown, "Running"), beside(running()), State{}, nil, "running", 0},
		{"crashed", run(unknown, "Running"), beside(terminated(3, "Error", "")), State{}, nil, "failure", 3},
		{"at the end", run(yes, "Succeeded"), beside(running()), State{Status: "running", Started: now}, nil, "success", 0},
		{"at the end, pod gone", run(yes, "Succeeded"), nil, State{Status: "running", Started: now}, nil, "success", 0},
		{"never started", run(yes, "Succeeded"), nil, State{}, nil, "skipped", 0},
		{"cancelled", run(no, "Cancelled"), beside(running()), State{Status: "running", Started: now}, &Ending{Cancelled, now}, "killed", 137},
	}
	for _, tt := range tests {
		q := Question{
			Cluster: Cluster{Run: tt.run}, Now: now, Ending: tt.ending, Known: map[int]State{1: tt.known},
			Steps: []Step{{Number: 1, Name: "web", Detached: true, Units: []Unit{{Pod: "svc", Container: "web"}}}},
		}
		if tt.pod != nil {
			q.Pods = []*corev1.Pod{tt.pod}
		}
		if st := Of(q).Steps[0]; st.Status != tt.status || st.ExitCode != tt.exit {
			t.Errorf("%s: %s, exit %d; want %s, exit %d", tt.name, st.Status, st.ExitCode, tt.status, tt.exit)
		}
	}
}

// TestEvents: the latest event tells why a pod waits; what comes with every pod is told only where it lasts.
func TestEvents(t *testing.T) {
	event := func(reason string, seconds int) *corev1.Event {
		return &corev1.Event{InvolvedObject: corev1.ObjectReference{Name: "pod", UID: "uid"}, Reason: reason, Message: "so  it is", LastTimestamp: at(seconds)}
	}
	other := event("FailedMount", -1)
	other.InvolvedObject.UID = "another pod of that name"
	tests := []struct {
		name   string
		events []*corev1.Event
		want   string
		waits  string
	}{
		{"none", nil, "", ""},
		{"volume", []*corev1.Event{event("FailedMount", -1)}, "a volume cannot be mounted: so it is", ForVolume},
		{"of an earlier pod", []*corev1.Event{other}, "", ""},
		{"the latest", []*corev1.Event{event("FailedMount", -1), event("FailedScheduling", -9)}, "a volume cannot be mounted: so it is", ForVolume},
		{"autoscaler", []*corev1.Event{event("TriggeredScaleUp", -1)}, "waiting for a new node: so it is", ForNode},
		{"pulling", []*corev1.Event{event("Pulling", -1)}, "", ""},
		{"pulling for long", []*corev1.Event{event("Pulling", -30)}, "the image takes its time: so it is", ForImage},
		{"of no interest", []*corev1.Event{event("Created", -30)}, "", ""},
	}
	for _, tt := range tests {
		a := Of(Question{
			Cluster: Cluster{
				Run: run(unknown, "Running"), TaskRuns: []*v1.TaskRun{task(unknown, "Pending")},
				Pods: []*corev1.Pod{pod(waiting("ContainerCreating", ""))}, Events: tt.events,
			},
			Steps: []Step{{Number: 1, Units: []Unit{{Task: "a", Container: "a"}}}}, Now: now,
		})
		if got := a.Steps[0]; got.Waiting != tt.want || got.WaitsFor != tt.waits {
			t.Errorf("%s: waiting %q for %q, want %q for %q", tt.name, got.Waiting, got.WaitsFor, tt.want, tt.waits)
		}
	}
}

// TestOutputWithoutThePod: the log of a step that the TaskRun knows to have ended is looked for, even if what is known of
// its pod is from before it ran.
func TestOutputWithoutThePod(t *testing.T) {
	tr := task(yes, "Succeeded", func(tr *v1.TaskRun) {
		tr.Status.Steps = []v1.StepState{{Name: "a", Container: "step-a", ContainerState: terminated(0, "Completed", "")}}
	})
	for _, pods := range [][]*corev1.Pod{nil, {pod(waiting("PodInitializing", ""))}} {
		a := Of(Question{
			Cluster: Cluster{Run: run(unknown, "Running"), TaskRuns: []*v1.TaskRun{tr}, Pods: pods},
			Steps:   []Step{{Number: 1, Units: []Unit{{Task: "a", Container: "a"}}}}, Now: now,
		})
		o := a.Steps[0].Output
		if a.Steps[0].Status != api.StatusPassing || o == nil || o.Pod != "pod" || o.Container != "step-a" || !o.Terminated {
			t.Errorf("with %d pods: %s, output %+v", len(pods), a.Steps[0].Status, o)
		}
	}
}

// TestStaleRun: while a run is stopping, Tekton 1.15 can leave its status as it was, with child references that name some of
// its tasks only, since it takes its own list of tasks that are done for wrong. The TaskRuns and the pods tell all the same.
func TestStaleRun(t *testing.T) {
	stale := run(unknown, "Running", func(r *v1.PipelineRun) {
		r.Status.ChildReferences = []v1.ChildStatusReference{{Name: "tr", PipelineTaskName: "a"}}
	})
	b := task(no, "StepFailed", func(tr *v1.TaskRun) {
		tr.Name, tr.Labels, tr.Status.PodName = "tr-b", map[string]string{taskLabel: "b"}, "pod-b"
	})
	podB := pod(terminated(3, "Error", ""), func(p *corev1.Pod) {
		p.Name, p.UID, p.Spec.Containers[0].Name, p.Status.ContainerStatuses[0].Name = "pod-b", "uid-b", "step-b", "step-b"
	})
	q := Question{
		Cluster: Cluster{Run: stale, TaskRuns: []*v1.TaskRun{task(unknown, "Running"), b}, Pods: []*corev1.Pod{pod(running()), podB}},
		Steps: []Step{
			{Number: 1, Name: "a", Units: []Unit{{Task: "a", Container: "a"}}},
			{Number: 2, Name: "b", Units: []Unit{{Task: "b", Container: "b"}}},
			{Number: 3, Name: "c", Units: []Unit{{Task: "c", Container: "c"}}},
		},
		Now: now,
	}
	want := []string{api.StatusRunning, api.StatusFailing, api.StatusPending}
	for i, st := range Of(q).Steps {
		if st.Status != want[i] {
			t.Errorf("step %s is %s, want %s", q.Steps[i].Name, st.Status, want[i])
		}
	}
}
