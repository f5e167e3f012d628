package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/expect"
)

// Observe reads a finished run as its user would: PipelineRun, TaskRuns, Pods and their logs. Steps are found by the
// variable with Drone's name of the step, which helpers do not have.
func (c *Cluster) Observe(ctx context.Context, namespace, name string) (*expect.Observed, error) {
	object, err := c.Objects.Resource(PipelineRuns).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the PipelineRun %s: %w", name, err)
	}
	run, err := Decode[v1.PipelineRun](object)
	if err != nil {
		return nil, err
	}
	tasks, err := c.taskRunsOf(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	o := &expect.Observed{Result: expect.Failure, Steps: map[string]*expect.Observation{}}
	if run.Status.GetCondition("Succeeded").IsTrue() {
		o.Result = expect.Success
	}
	for _, pt := range slices.Concat(run.Spec.PipelineSpec.Tasks, run.Spec.PipelineSpec.Finally) {
		if err := c.observeTask(ctx, o, pt, tasks[pt.Name]); err != nil {
			return nil, err
		}
	}
	pods, err := c.Core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "drone.io/detached=true,drone.io/run=" + run.Labels["drone.io/run"],
	})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of detached steps: %w", err)
	}
	for _, p := range pods.Items {
		log, err := c.Log(ctx, &p, p.Spec.Containers[0].Name)
		if err != nil {
			return nil, err
		}
		o.Steps[p.Annotations["drone.io/step"]] = &expect.Observation{Outcome: expect.Detached, Log: log, Runs: 1}
	}
	return o, nil
}

func (c *Cluster) taskRunsOf(ctx context.Context, namespace, run string) (map[string]*v1.TaskRun, error) {
	list, err := c.Objects.Resource(TaskRuns).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: "tekton.dev/pipelineRun=" + run})
	if err != nil {
		return nil, fmt.Errorf("listing the TaskRuns of %s: %w", run, err)
	}
	byTask := map[string]*v1.TaskRun{}
	for i := range list.Items {
		tr, err := Decode[v1.TaskRun](&list.Items[i])
		if err != nil {
			return nil, err
		}
		byTask[tr.Labels["tekton.dev/pipelineTask"]] = tr
	}
	return byTask, nil
}

// observeTask adds what the steps of one task did; tr is nil where the task was skipped.
func (c *Cluster) observeTask(ctx context.Context, o *expect.Observed, pt v1.PipelineTask, tr *v1.TaskRun) error {
	var pod *corev1.Pod
	if tr != nil && tr.Status.PodName != "" {
		var err error
		pod, err = c.Core.CoreV1().Pods(tr.Namespace).Get(ctx, tr.Status.PodName, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err): // Tekton deletes a pod that could not start
			pod = nil
		case err != nil:
			return fmt.Errorf("reading the pod of task %s: %w", pt.Name, err)
		}
	}
	for _, step := range pt.TaskSpec.Steps {
		name, ok := stepName(step.Env)
		if !ok {
			continue
		}
		found := stepState(tr, step.Name)
		if pod != nil {
			found.Pod = pod.Name
		}
		if pod != nil && (found.Outcome == expect.Success || found.Outcome == expect.Failure) {
			var err error
			if found.Log, err = c.Log(ctx, pod, "step-"+step.Name); err != nil {
				return err
			}
		}
		add(o, name, found)
	}
	for _, sidecar := range pt.TaskSpec.Sidecars {
		name, ok := stepName(sidecar.Env)
		if !ok || pod == nil {
			continue
		}
		log, err := c.Log(ctx, pod, "sidecar-"+sidecar.Name)
		if err != nil {
			return err
		}
		add(o, name, &expect.Observation{Outcome: expect.Detached, Log: log, Runs: 1})
	}
	return nil
}

// add joins the runs of one step: a step that has several places in a PipelineRun runs in one of them.
func add(o *expect.Observed, name string, found *expect.Observation) {
	known := o.Steps[name]
	switch {
	case known == nil || known.Runs == 0:
		o.Steps[name] = found
	case found.Runs > 0:
		known.Runs++
	}
}

// stepName is the step's name in Drone. In values of an environment, a dollar sign is doubled or comes from a variable.
func stepName(env []corev1.EnvVar) (string, bool) {
	for _, v := range env {
		if v.Name == "DRONE_STEP_NAME" {
			return strings.NewReplacer("$$", "$", "$(DRONE_TEKTON_DOLLAR)", "$").Replace(v.Value), true
		}
	}
	return "", false
}

func stepState(tr *v1.TaskRun, name string) *expect.Observation {
	if tr == nil {
		return &expect.Observation{Outcome: expect.Skipped}
	}
	i := slices.IndexFunc(tr.Status.Steps, func(s v1.StepState) bool { return s.Name == name })
	if i < 0 || tr.Status.Steps[i].Terminated == nil {
		if reason := tr.Status.GetCondition("Succeeded").GetReason(); reason == "TaskRunCancelled" || reason == "TaskRunTimeout" {
			return &expect.Observation{Outcome: expect.Killed, Runs: 1}
		}
		return &expect.Observation{Outcome: expect.Broken, Runs: 1}
	}
	state := tr.Status.Steps[i]
	end := state.Terminated
	found := &expect.Observation{Outcome: expect.Success, Exit: end.ExitCode, Start: end.StartedAt.Time, End: end.FinishedAt.Time, Runs: 1}
	switch {
	case state.TerminationReason == "Skipped":
		return &expect.Observation{Outcome: expect.Skipped}
	case state.TerminationReason == "TaskRunImagePullFailed":
		return &expect.Observation{Outcome: expect.Broken, Runs: 1}
	case state.TerminationReason == "TaskRunCancelled" || state.TerminationReason == "TaskRunTimeout":
		return &expect.Observation{Outcome: expect.Killed, Runs: 1}
	case end.ExitCode != 0:
		found.Outcome = expect.Failure
	}
	return found
}

// Log is what a container wrote. Tekton ends a sidecar by giving its container another image; its log is then that of
// the container before.
func (c *Cluster) Log(ctx context.Context, pod *corev1.Pod, container string) (string, error) {
	state := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == container })
	if state < 0 {
		return "", nil
	}
	status := pod.Status.ContainerStatuses[state]
	if status.ContainerID == "" && status.RestartCount == 0 {
		return "", nil // it never ran
	}
	text, err := c.Core.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container, Previous: status.RestartCount > 0,
	}).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the log of %s in pod %s: %w", container, pod.Name, err)
	}
	return string(text), nil
}
