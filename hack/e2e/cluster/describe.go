package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// Describe tells all that a namespace has to say about a failed test: conditions, states of containers, events and logs. A
// selector restricts it to objects with some labels, and to the events about them.
func (c *Cluster) Describe(ctx context.Context, namespace, selector string) string {
	selected := metav1.ListOptions{LabelSelector: selector}
	about := map[string]bool{} // names of objects
	var b strings.Builder
	printf := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	complain := func(err error) {
		if err != nil {
			printf("  (%v)", err)
		}
	}
	runs, err := c.Objects.Resource(PipelineRuns).Namespace(namespace).List(ctx, selected)
	complain(err)
	if err == nil {
		for i := range runs.Items {
			run, err := Decode[v1.PipelineRun](&runs.Items[i])
			complain(err)
			if err != nil {
				continue
			}
			about[run.Name] = true
			printf("PipelineRun %s", run.Name)
			for _, condition := range run.Status.Conditions {
				printf("  %s %s: %s", condition.Status, condition.Reason, condition.Message)
			}
			for _, s := range run.Status.SkippedTasks {
				printf("  %s was skipped: %s", s.Name, s.Reason)
			}
		}
	}
	tasks, err := c.Objects.Resource(TaskRuns).Namespace(namespace).List(ctx, selected)
	complain(err)
	if err == nil {
		for i := range tasks.Items {
			tr, err := Decode[v1.TaskRun](&tasks.Items[i])
			complain(err)
			if err != nil {
				continue
			}
			about[tr.Name] = true
			printf("TaskRun %s", tr.Name)
			for _, condition := range tr.Status.Conditions {
				printf("  %s %s: %s", condition.Status, condition.Reason, condition.Message)
			}
		}
	}
	pods, err := c.Core.CoreV1().Pods(namespace).List(ctx, selected)
	complain(err)
	if err == nil {
		for _, p := range pods.Items {
			about[p.Name] = true
			printf("Pod %s on %q: %s %s", p.Name, p.Spec.NodeName, p.Status.Phase, p.Status.Message)
			for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
				printf("  %s: %s", s.Name, containerState(s.State))
			}
			for _, container := range p.Spec.Containers {
				log, err := c.Log(ctx, &p, container.Name)
				complain(err)
				if log != "" {
					printf("  log of %s:\n%s", container.Name, indent(shorten(log)))
				}
			}
		}
	}
	events, err := c.Core.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
	complain(err)
	if err == nil {
		slices.SortStableFunc(events.Items, func(x, y corev1.Event) int {
			return cmp.Compare(x.LastTimestamp.Unix(), y.LastTimestamp.Unix())
		})
		for _, e := range events.Items {
			if e.Type != corev1.EventTypeNormal && (selector == "" || about[e.InvolvedObject.Name]) {
				printf("Event %s %s of %s %s: %s", e.LastTimestamp.Format("15:04:05"), e.Reason, e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Message)
			}
		}
	}
	return b.String()
}

func containerState(s corev1.ContainerState) string {
	switch {
	case s.Waiting != nil:
		return "waiting: " + s.Waiting.Reason + " " + s.Waiting.Message
	case s.Terminated != nil:
		return fmt.Sprintf("ended with %d: %s %s", s.Terminated.ExitCode, s.Terminated.Reason, s.Terminated.Message)
	default:
		return "running"
	}
}

// shorten leaves out the middle of a long log.
func shorten(log string) string {
	const most = 4000
	if len(log) <= most {
		return log
	}
	return log[:most/2] + "\n…\n" + log[len(log)-most/2:]
}

func indent(text string) string {
	return "    | " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    | ")
}
