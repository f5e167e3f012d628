package bridge

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"knative.dev/pkg/logging"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/bridge/journal"
	"github.com/drone-tekton/drone-runner-tekton/bridge/status"
)

// ender ends pipelines, and single tasks of them, before they have come to their end by themselves.
type ender struct {
	clients Clients
	journal *journal.Store
	options Options
	metrics *metrics
}

// killSeconds is how long a step that is cancelled has to end. Kubernetes would give it 30 s.
const killSeconds = 2

// end does what has to be done to end the pipeline, or some of its tasks. That it ends is written down first.
func (x *ender) end(ctx context.Context, s *session, c status.Cluster, a status.Answer) error {
	if cause := x.cause(s, a); cause != "" {
		s.entry.Ending = &status.Ending{Cause: cause, At: x.options.Clock.Now()}
		// A cancelled build has been ended by the server, all its steps included.
		s.entry.Ended = s.entry.Ended || cause == status.Cancelled
		if err := x.journal.Save(ctx, s.entry); err != nil {
			return err
		}
		s.ending.Store(true)
		x.metrics.ended.WithLabelValues(string(cause)).Inc()
		logging.FromContext(ctx).Infow("Ending the pipeline", "cause", cause)
		s.wake() // To be looked at in the light of that.
	}
	if s.entry.Ending != nil {
		return x.stopRun(ctx, c)
	}
	for _, name := range a.StopTasks {
		if err := cancelTask(ctx, x.clients, s.entry.Namespace, name); err != nil {
			return fmt.Errorf("stopping the TaskRun %s: %w", name, err)
		}
	}
	return nil
}

func (x *ender) cause(s *session, a status.Answer) status.Cause {
	switch {
	case s.entry.Ending != nil || a.Done:
		return ""
	case s.cancelled.Load():
		return status.Cancelled
	case a.End != "":
		return a.End
	case x.options.Clock.Now().After(s.deadline()):
		return status.TimedOut
	default:
		return ""
	}
}

// stopRun cancels a run. Tekton deletes the pods then; they are deleted here with less time to end. While a run is being
// deleted Tekton does not look at it, and its tasks are cancelled one by one.
func (x *ender) stopRun(ctx context.Context, c status.Cluster) error {
	if c.Run == nil {
		return nil
	}
	if !c.Run.IsDone() && c.Run.Spec.Status != v1.PipelineRunSpecStatusCancelled {
		if err := setRunStatus(ctx, x.clients, c.Run, v1.PipelineRunSpecStatusCancelled); err != nil {
			return fmt.Errorf("cancelling the PipelineRun: %w", err)
		}
	}
	cancelled := map[string]bool{}
	for _, tr := range c.TaskRuns {
		if tr.Spec.Status == v1.TaskRunSpecStatusCancelled {
			cancelled[tr.Name] = true
		} else if c.Run.DeletionTimestamp != nil && !tr.IsDone() {
			if err := cancelTask(ctx, x.clients, tr.Namespace, tr.Name); err != nil {
				return fmt.Errorf("cancelling the TaskRun %s: %w", tr.Name, err)
			}
		}
	}
	// A pod that is deleted before its task is cancelled would count as lost.
	hanging := slices.DeleteFunc(slices.Clone(c.Pods), func(pod *corev1.Pod) bool {
		over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		shortened := pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds <= killSeconds
		task := pod.Labels["tekton.dev/taskRun"]
		return over || shortened || task != "" && !cancelled[task]
	})
	return deletePods(ctx, x.clients, hanging, killSeconds)
}
