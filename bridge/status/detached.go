package status

import (
	api "github.com/drone/drone-go/drone"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// beside is the state of a service or detached step in a Pod of its own. Drone's runners never look at how such a step
// ends; here one that crashes is shown as failed, which does not count for the pipeline.
func (v *view) beside(u Unit) State {
	pod := v.pods[u.Pod]
	if pod == nil {
		return State{Status: api.StatusPending}
	}
	return v.asDetached(v.inPod(pod, u.Container), pod)
}

// sidecar is the state of a service or detached step in the pod of the one task of the layout pod.
func (v *view) sidecar(tr *v1.TaskRun, u Unit) State {
	pod := v.pods[tr.Status.PodName]
	if pod == nil {
		return State{Status: api.StatusPending}
	}
	cs := containerStatus(pod, sidecarPrefix+u.Container)
	if cs == nil || cs.State.Waiting != nil {
		return v.waiting(pod, cs)
	}
	output := &Output{Pod: pod.Name, UID: string(pod.UID), Container: cs.Name, Terminated: cs.State.Terminated != nil}
	if cs.State.Running != nil {
		return State{Status: api.StatusRunning, Started: cs.State.Running.StartedAt.Time, Output: output}
	}
	st := ofTerminated(pod, cs)
	st.Output = output
	// Tekton ends sidecars by replacing their image by one that does nothing, or with a signal.
	if tr.IsDone() || cs.ImageID != "" && cs.Image != imageOf(pod, cs.Name) || bySignal(st.ExitCode) {
		st.Status, st.ExitCode, st.Error = api.StatusPassing, 0, ""
	}
	return st
}

func imageOf(pod *corev1.Pod, container string) string {
	for _, c := range pod.Spec.Containers {
		if c.Name == container {
			return c.Image
		}
	}
	return ""
}

// asDetached lets what the runner itself ended at the end of the pipeline be a success, as in Drone.
func (v *view) asDetached(st State, pod *corev1.Pod) State {
	switch {
	case !Final(st.Status):
		return st
	case v.killed() && st.ExitCode != 0:
		st.Status, st.ExitCode, st.Error = api.StatusKilled, exitKilled, ""
	case bySignal(st.ExitCode) && st.Error == "" && (pod.DeletionTimestamp != nil || v.done()):
		st.Status, st.ExitCode = api.StatusPassing, 0
	}
	return st
}
