package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	api "github.com/drone/drone-go/drone"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/pkg/logging"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/bridge/journal"
	"github.com/drone-tekton/drone-runner-tekton/bridge/policy"
	"github.com/drone-tekton/drone-runner-tekton/bridge/status"
	"github.com/drone-tekton/drone-runner-tekton/translate"
)

// Labels of runs of which all is told: the time of their end in Unix seconds, and how they ended to Drone.
const (
	labelEnded  = "drone.io/ended"
	labelStatus = "drone.io/status"
)

// cleaner removes what stages leave in the cluster.
type cleaner struct {
	clients Clients
	journal *journal.Store
	watched *watched
	options Options
	metrics *metrics
	more    chan struct{} // has room for one
}

// stage cleans up after a stage of which all is told. The Secrets go first; the entry goes last, since it is how the rest
// is found again after a crash.
func (c *cleaner) stage(ctx context.Context, s *session) error {
	e := s.entry
	if e.Run != "" {
		if err := c.objects(ctx, e); err != nil {
			return err
		}
		if err := c.run(ctx, e); err != nil {
			return err
		}
	}
	if err := c.journal.Remove(ctx, e); err != nil {
		return err
	}
	s.gone = true
	c.poke()
	return nil
}

// deleter deletes objects of one kind.
type deleter interface {
	Delete(ctx context.Context, name string, o metav1.DeleteOptions) error
}

// objects removes what stands beside a run.
func (c *cleaner) objects(ctx context.Context, e *journal.Entry) error {
	core := c.clients.Kube.CoreV1()
	remove := func(in deleter, name string) error {
		if err := ignoreNotFound(in.Delete(ctx, name, metav1.DeleteOptions{})); err != nil {
			return fmt.Errorf("cleaning up %s: %w", name, err)
		}
		return nil
	}
	for _, suffix := range []string{hiddenSuffix, "-secrets", "-netrc", "-pull"} {
		if err := remove(core.Secrets(e.Namespace), e.Run+suffix); err != nil {
			return err
		}
	}
	pods := map[string]bool{}
	for _, step := range e.Steps {
		for _, u := range step.Units {
			pods[u.Pod] = u.Pod != ""
		}
	}
	for _, pod := range c.watched.cluster(e.StageID).Pods {
		pods[pod.Name] = pods[pod.Name] || pod.Labels["tekton.dev/taskRun"] == ""
	}
	beside := false
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		if !pods[name] {
			continue
		}
		beside = true
		if err := remove(core.Pods(e.Namespace), name); err != nil {
			return err
		}
	}
	if err := removeClaims(ctx, c.clients, e.Namespace, e.Run); err != nil {
		return err
	}
	if !beside && len(e.Steps) > 0 {
		return nil
	}
	return remove(core.Services(e.Namespace), e.Run)
}

// run removes a run, or marks it to be kept for a while.
func (c *cleaner) run(ctx context.Context, e *journal.Entry) error {
	runs := c.clients.Tekton.TektonV1().PipelineRuns(e.Namespace)
	run, err := runs.Get(ctx, e.Run, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading the PipelineRun: %w", err)
	case run.Labels[journal.LabelStageID] != formatID(e.StageID):
		return nil // Not ours.
	}
	outcome := e.Stage.Status
	if e.Ended && !status.Final(outcome) {
		outcome = api.StatusKilled
	}
	if c.options.Keep.of(run, outcome).For <= 0 || !run.IsDone() {
		return c.remove(ctx, run)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{
		labelEnded: strconv.FormatInt(c.options.Clock.Now().Unix(), 10), labelStatus: outcome}}})
	if err != nil {
		return fmt.Errorf("marking the PipelineRun: %w", err)
	}
	if _, err := runs.Patch(ctx, e.Run, types.MergePatchType, patch, metav1.PatchOptions{}); ignoreNotFound(err) != nil {
		return fmt.Errorf("marking the PipelineRun as ended: %w", err)
	}
	return nil
}

// remove deletes a run, and with it everything that it owns.
func (c *cleaner) remove(ctx context.Context, run *v1.PipelineRun) error {
	background := metav1.DeletePropagationBackground
	err := c.clients.Tekton.TektonV1().PipelineRuns(run.Namespace).Delete(ctx, run.Name, metav1.DeleteOptions{
		PropagationPolicy: &background, Preconditions: metav1.NewUIDPreconditions(string(run.UID)),
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("removing the PipelineRun %s: %w", run.Name, err)
	}
	c.metrics.removed.Inc()
	return nil
}

// orphan removes a run that nobody knows anything about: its entry is gone, and it was not marked as ended. There is no
// entry that is younger than its run.
func (c *cleaner) orphan(ctx context.Context, found status.Cluster) {
	if found.Run == nil || found.Run.Labels[labelEnded] != "" || found.Run.DeletionTimestamp != nil {
		return
	}
	log := logging.FromContext(ctx).With("run", found.Run.Name)
	run, err := c.clients.Tekton.TektonV1().PipelineRuns(found.Run.Namespace).Get(ctx, found.Run.Name, metav1.GetOptions{})
	if err != nil || run.Labels[labelEnded] != "" {
		return
	}
	id, _ := stageOf(run)
	if e, err := c.journal.Get(ctx, id); err != nil || e != nil {
		return
	}
	log.Warnw("Removing a PipelineRun that has lost its entry in the journal")
	if err := c.remove(ctx, run); err != nil {
		log.Warnw("Cannot remove it", "error", err)
	}
}

func (c *cleaner) poke() {
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// prune removes runs whose time is over, until ctx ends. It sleeps until the next one is due.
func (c *cleaner) prune(ctx context.Context, leads func(types.NamespacedName) bool) {
	for ctx.Err() == nil {
		next := c.pruneOnce(ctx, leads)
		timer := time.NewTimer(next)
		select {
		case <-timer.C:
		case <-c.more:
			sleep(ctx, time.Second) // For the mirror to have it.
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// pruneOnce removes what is due, and tells when the next is.
func (c *cleaner) pruneOnce(ctx context.Context, leads func(types.NamespacedName) bool) time.Duration {
	var runs []*v1.PipelineRun
	for _, i := range c.watched.runs {
		for _, object := range i.GetStore().List() {
			run, ok := object.(*v1.PipelineRun)
			if id, marked := stageOf(object); ok && marked && leads(stageKey(c.options.Namespace, id)) {
				runs = append(runs, run)
			}
		}
	}
	due, next := expired(runs, c.options.Keep, c.options.Clock.Now())
	for _, run := range due {
		if err := c.remove(ctx, run); err != nil {
			logging.FromContext(ctx).Warnw("Cannot remove a finished run", "run", run.Name, "error", err)
			next = min(next, time.Minute)
		}
	}
	return next
}

// longestSleep is how long prune waits at most; it is woken when a run ends.
const longestSleep = time.Hour

// keepRun is what holds for one run.
type keepRun struct {
	Keep
	apart string // runs of a repository are counted apart by it
}

// of is what holds for a run that ended so: what its policy has written on it, else the runner's settings.
func (k Keep) of(run *v1.PipelineRun, outcome string) keepRun {
	out, written := keepRun{Keep: k}, policy.RetentionOf(run.Annotations)
	if written.Keep != nil {
		out.For = *written.Keep
	}
	if written.KeepFailed != nil {
		out.Failed = written.KeepFailed
	}
	if out.Failed != nil && outcome != api.StatusPassing && outcome != "" {
		out.For = *out.Failed
	}
	if written.PerRepo != nil {
		out.PerRepo, out.apart = *written.PerRepo, "\x00"+run.Annotations[policy.AnnotationPolicy]
	}
	return out
}

// expired are the ended runs that do not stay, and the time until another one's time is over.
func expired(runs []*v1.PipelineRun, keep Keep, now time.Time) (due []*v1.PipelineRun, next time.Duration) {
	next = longestSleep
	ended := map[*v1.PipelineRun]int64{}
	for _, run := range runs {
		if at, err := strconv.ParseInt(run.Labels[labelEnded], 10, 64); err == nil && run.DeletionTimestamp == nil {
			ended[run] = at
		}
	}
	latest := slices.SortedFunc(maps.Keys(ended), func(a, b *v1.PipelineRun) int {
		if ended[a] != ended[b] {
			return int(ended[b] - ended[a])
		}
		return int(b.CreationTimestamp.Unix() - a.CreationTimestamp.Unix())
	})
	perRepo := map[string]int{}
	for _, run := range latest {
		keep := keep.of(run, run.Labels[labelStatus])
		repo := run.Namespace + "/" + run.Labels[translate.LabelRepo] + keep.apart
		perRepo[repo]++
		left := time.Unix(ended[run], 0).Add(keep.For).Sub(now)
		if left <= 0 || keep.PerRepo > 0 && perRepo[repo] > keep.PerRepo {
			due = append(due, run)
		} else {
			next = min(next, left)
		}
	}
	return due, max(next, time.Second)
}
