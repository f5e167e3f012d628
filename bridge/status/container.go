package status

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	api "github.com/drone/drone-go/drone"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"knative.dev/pkg/apis"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/result"
	"github.com/tektoncd/pipeline/pkg/termination"
)

// Exit codes that Drone gives a meaning, or that it makes up.
const (
	exitEarly  = 78  // the step asks for the end of the pipeline, which is well
	exitKilled = 137 // killed
	exitError  = 255 // the step could not be run
)

// Tekton's prefixes of containers.
const (
	stepPrefix    = "step-"
	sidecarPrefix = "sidecar-"
)

// inTask is the state of a step that runs in a task.
func (v *view) inTask(tr *v1.TaskRun, u Unit) State {
	pod := v.pods[tr.Status.PodName]
	if pod == nil && tr.Status.PodName == "" {
		pod = v.podOf(tr)
	}
	var st State
	if pod == nil {
		st = waitingForPod(tr)
	} else {
		st = v.inPod(pod, stepPrefix+u.Container)
	}
	if Final(st.Status) {
		return v.explain(st, tr, pod)
	}
	if tr.IsDone() && pod != nil && turnOf(pod, stepPrefix+u.Container).never {
		return State{Status: api.StatusSkipped}
	}
	if tr.IsDone() {
		return v.fromTaskRun(tr, u, st)
	}
	return st
}

// podOf finds the pod of a task whose name the TaskRun does not tell yet.
func (v *view) podOf(tr *v1.TaskRun) *corev1.Pod {
	for _, pod := range v.Pods {
		if pod.Labels["tekton.dev/taskRun"] == tr.Name && pod.DeletionTimestamp == nil {
			return pod
		}
	}
	return nil
}

// inPod is the state of a container. Tekton starts all containers of a pod at once, and each waits until those before it
// have ended: a step runs when its container does and it is its turn.
func (v *view) inPod(pod *corev1.Pod, container string) State {
	turn := turnOf(pod, container)
	cs := containerStatus(pod, container)
	if cs == nil {
		return v.waiting(pod, nil)
	}
	output := &Output{Pod: pod.Name, UID: string(pod.UID), Container: container, Terminated: cs.State.Terminated != nil}
	switch {
	case cs.State.Terminated != nil:
		st := ofTerminated(pod, cs)
		st.Output = output
		if st.Started.Before(turn.since) {
			st.Started = turn.since
		}
		if st.Status == api.StatusSkipped {
			st.Output = nil
		}
		return st
	case cs.State.Running != nil && !turn.come:
		return State{Status: api.StatusPending}
	case cs.State.Running != nil:
		started := cs.State.Running.StartedAt.Time
		if started.Before(turn.since) {
			started = turn.since
		}
		return State{Status: api.StatusRunning, Started: started, Output: output}
	default:
		return v.waiting(pod, cs)
	}
}

// turn is where a pod has come to in the order of its steps, as seen by one of them.
type turn struct {
	come  bool      // the steps before it have ended, well or with a failure that Tekton goes on after
	never bool      // one of them has failed: Tekton's entrypoint will notice within a second, and skip the step
	since time.Time // when the last of them that has ended did
}

// turnOf finds the turn of a container.
func turnOf(pod *corev1.Pod, container string) (t turn) {
	t.come = true
	for _, c := range pod.Spec.Containers {
		if c.Name == container {
			break
		}
		if !strings.HasPrefix(c.Name, stepPrefix) {
			continue
		}
		cs := containerStatus(pod, c.Name)
		if cs == nil || cs.State.Terminated == nil {
			t.come = false
			continue
		}
		if cs.State.Terminated.ExitCode != 0 {
			t.come, t.never = false, true
		}
		if at := cs.State.Terminated.FinishedAt.Time; at.After(t.since) {
			t.since = at
		}
	}
	return t
}

func containerStatus(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == name {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// ofTerminated is the state of a container that has ended. Its exit code is the truth, but for steps that go on after a
// failure: there Tekton's entrypoint ends with 0, and tells the exit code in its message.
func ofTerminated(pod *corev1.Pod, cs *corev1.ContainerStatus) State {
	t := cs.State.Terminated
	m := parseMessage(t.Message)
	st := State{ExitCode: int(t.ExitCode), Started: t.StartedAt.Time, Stopped: t.FinishedAt.Time, fatal: t.ExitCode != 0}
	if m.exit != nil {
		st.ExitCode = *m.exit
	}
	if st.ExitCode < 0 {
		st.ExitCode = exitKilled // The entrypoint knows that a signal ended the step, and does not tell which.
	}
	if !m.started.IsZero() && m.started.After(st.Started) && !m.started.After(st.Stopped) {
		st.Started = m.started
	}
	lost := podLost(pod)
	switch {
	case m.reason == "Skipped":
		return State{Status: api.StatusSkipped}
	case m.reason == "Cancelled" || m.reason == "TimeoutExceeded":
		st.Status, st.ExitCode = api.StatusKilled, exitKilled
	case t.Reason == "OOMKilled":
		st.Status, st.ExitCode, st.Error = api.StatusFailing, exitKilled, oomText(pod, cs.Name)
	case lost != "" && (st.ExitCode != 0 || isLast(pod, cs.Name)):
		st.Status, st.ExitCode, st.Error = api.StatusError, exitError, lost
	case t.Reason == "ContainerStatusUnknown":
		st.Status, st.ExitCode, st.Error = api.StatusError, exitError, "the node lost the container: "+t.Message
	case t.Reason == "StartError" || t.Reason == "ContainerCannotRun":
		st.Status, st.ExitCode, st.Error = api.StatusError, exitError, "the container could not start: "+t.Message
	case st.ExitCode == exitEarly:
		st.Status = api.StatusPassing
	case st.ExitCode != 0:
		st.Status = api.StatusFailing
	default:
		st.Status = api.StatusPassing
	}
	return st
}

// podLost is why a pod ended that was not ended by its containers; empty where it was.
func podLost(pod *corev1.Pod) string {
	if pod.Status.Phase != corev1.PodFailed {
		return ""
	}
	switch pod.Status.Reason {
	case "", "DeadlineExceeded": // A deadline is the task's.
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
				return c.Reason + ": " + c.Message
			}
		}
		return ""
	default:
		return pod.Status.Reason + ": " + pod.Status.Message
	}
}

func isLast(pod *corev1.Pod, container string) bool {
	last := ""
	for _, c := range pod.Spec.Containers {
		if strings.HasPrefix(c.Name, stepPrefix) {
			last = c.Name
		}
	}
	return last == "" || last == container
}

func oomText(pod *corev1.Pod, container string) string {
	for _, c := range pod.Spec.Containers {
		if limit, ok := c.Resources.Limits[corev1.ResourceMemory]; ok && c.Name == container {
			return "out of memory: the step used more than its limit of " + limit.String()
		}
	}
	return "out of memory"
}

// message is what Tekton's entrypoint says at the end of a step.
type message struct {
	exit    *int
	reason  string
	started time.Time
}

func parseMessage(text string) (m message) {
	results, err := termination.ParseMessage(zap.NewNop().Sugar(), text)
	if err != nil {
		return m // What a container without Tekton's entrypoint says is its own.
	}
	for _, r := range results {
		if r.ResultType != result.InternalTektonResultType {
			continue
		}
		switch r.Key {
		case "ExitCode":
			if n, err := strconv.Atoi(r.Value); err == nil {
				m.exit = &n
			}
		case "Reason":
			m.reason = r.Value
		case "StartedAt":
			if at, err := time.Parse(time.RFC3339, r.Value); err == nil {
				m.started = at
			}
		}
	}
	return m
}

// explain corrects what a container's end looks like by what is known of its task: a step that was killed from outside
// did not fail.
func (v *view) explain(st State, tr *v1.TaskRun, pod *corev1.Pod) State {
	if st.Status != api.StatusFailing || st.Error != "" {
		return st
	}
	cancelled := tr.Spec.Status == v1.TaskRunSpecStatusCancelled
	switch {
	case v.Ending != nil && v.Ending.Cause != EarlyExit && endedBy(st, v.Ending.At):
		st.Status, st.ExitCode = api.StatusKilled, exitKilled
	case cancelled && mayBeBySignal(st.ExitCode):
		st.Status, st.ExitCode = api.StatusKilled, exitKilled
	case taskReason(tr) == string(v1.TaskRunReasonTimedOut) && mayBeBySignal(st.ExitCode):
		st.Status, st.ExitCode, st.Error = api.StatusKilled, exitKilled, "the step ran longer than its timeout"
	case pod != nil && pod.DeletionTimestamp != nil && mayBeBySignal(st.ExitCode) && !cancelled:
		st.Status, st.ExitCode, st.Error = api.StatusError, exitError, "the pod was deleted"
	}
	return st
}

// endedBy reports whether a step that failed did so because it was ended at a time. The kubelet tells whole seconds: in
// the same second, only an exit code that stands for a signal tells.
func endedBy(st State, at time.Time) bool {
	second := at.Truncate(time.Second)
	return st.Stopped.After(second) || st.Stopped.Equal(second) && mayBeBySignal(st.ExitCode)
}

func bySignal(exit int) bool { return exit == 137 || exit == 143 }

// mayBeBySignal is the same for a step in a task. Tekton's entrypoint passes signals on to the step, and ends with -1,
// which comes out as 255, when the step's own process died of one. A step may exit with 255 by itself, too.
func mayBeBySignal(exit int) bool { return bySignal(exit) || exit == exitError }

func taskReason(tr *v1.TaskRun) string {
	if c := tr.Status.GetCondition(apis.ConditionSucceeded); c != nil {
		return c.Reason
	}
	return ""
}

// fromTaskRun is the state of a step whose task is done and whose container does not tell how: its pod is gone, or has
// never been. What Tekton has seen counts, but for what it makes up about steps that it stopped.
func (v *view) fromTaskRun(tr *v1.TaskRun, u Unit, last State) State {
	c := tr.Status.GetCondition(apis.ConditionSucceeded)
	last.Waiting, last.WaitsFor, last.Trouble = "", "", nil
	last.Stopped = v.Now
	if tr.Status.CompletionTime != nil {
		last.Stopped = tr.Status.CompletionTime.Time
	}
	ran := !last.Started.IsZero()
	for _, s := range tr.Status.Steps {
		if s.Name != u.Container {
			continue
		}
		ran = ran || s.Running != nil || s.Terminated != nil
		if s.Terminated != nil && !madeUp(s) {
			st := ofTerminated(&corev1.Pod{}, &corev1.ContainerStatus{Name: s.Container, State: s.ContainerState})
			switch s.TerminationReason {
			case "Skipped":
				return State{Status: api.StatusSkipped}
			case "Continued":
				st.fatal = false // The exit code is that of the process, in a container that did well.
			}
			// Its log is there, even where what is known of the pod is older than that the container has run.
			st.Output = &Output{Pod: tr.Status.PodName, Container: stepPrefix + u.Container, Terminated: true}
			if last.Output != nil {
				st.Output.UID = last.Output.UID
			}
			return v.explain(st, tr, nil)
		}
	}
	switch {
	case c.IsTrue() && last.Output != nil && v.Now.Sub(last.Stopped) < lag:
		// The TaskRun is ahead of what is known of its pod.
		v.behind = true
		last.Stopped = time.Time{}
		return last
	case c.IsTrue():
		// The task is well and nobody saw how the step ended: never a success.
		last.Status, last.ExitCode, last.Error = api.StatusError, exitError, "the pod vanished before the step had ended"
	case tr.Spec.Status == v1.TaskRunSpecStatusCancelled || c.Reason == v1.TaskRunReasonCancelled.String(),
		c.Reason == v1.TaskRunReasonTimedOut.String(), v.killed():
		last.Status, last.ExitCode = api.StatusKilled, exitKilled
		if !ran {
			return State{Status: api.StatusSkipped}
		}
	default:
		last.Status, last.ExitCode, last.Error = api.StatusError, exitError, describe(c)
	}
	if last.Started.IsZero() {
		last.Started = last.Stopped
	}
	return last
}

// lag is how long what is known of pods may be behind what is known of their TaskRuns.
const lag = 30 * time.Second

// madeUp reports whether Tekton itself ended a step on paper.
func madeUp(s v1.StepState) bool {
	switch s.Terminated.Reason {
	case v1.TaskRunReasonCancelled.String(), v1.TaskRunReasonTimedOut.String(), v1.TaskRunReasonImagePullFailed.String():
		return true
	}
	return false
}

func describe(c *apis.Condition) string {
	if c == nil {
		return "the task failed for no known reason"
	}
	return fmt.Sprintf("%s: %s", c.Reason, c.Message)
}
