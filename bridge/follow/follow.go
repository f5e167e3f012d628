package follow

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/client/informers/externalversions"

	"github.com/drone-tekton/drone-runner-tekton/bridge/logs"
	"github.com/drone-tekton/drone-runner-tekton/bridge/status"
	"github.com/drone-tekton/drone-runner-tekton/translate"
)

// grace is how long an image may fail to be pulled before its step counts as failed.
const grace = time.Minute

// Shown is told how a run goes. Its methods are called by one goroutine at a time, but for Line.
type Shown interface {
	// Step tells that a step has a new status, or waits for a new reason.
	Step(step status.Step, state status.State)
	// Line is a line of a step's log, with its newline.
	Line(step string, text []byte)
}

// Follow watches a run until it is done, and returns what became of it. Logs are complete then. It ends early with ctx.
func Follow(ctx context.Context, c Clients, streams logs.Streams, run *v1.PipelineRun, b *translate.Bundle, shown Shown) (status.Answer, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	f := &following{
		steps: stepsOf(b), run: run, streams: streams, shown: shown, told: map[int]string{}, readers: map[string]*reader{},
		troubles: map[status.Trouble]time.Time{},
	}
	changed, err := f.watch(ctx, c)
	if err != nil {
		return status.Answer{}, err
	}
	tick := time.NewTicker(time.Second) // a trouble becomes a failure by the passing of time alone
	defer tick.Stop()
	for {
		answer := f.look(ctx)
		if answer.Done {
			f.wait.Wait()
			return answer, nil
		}
		for _, task := range answer.StopTasks {
			f.stopTask(ctx, c, task)
		}
		select {
		case <-ctx.Done():
			return answer, ctx.Err()
		case <-changed:
		case <-tick.C:
		}
	}
}

// stepsOf are a bundle's steps as the status knows them.
func stepsOf(b *translate.Bundle) []status.Step {
	steps := make([]status.Step, len(b.Plan.Steps))
	for i, p := range b.Plan.Steps {
		steps[i] = status.Step{
			Number: p.Number, Name: p.Name, IgnoreFailure: p.IgnoreFailure, FailFast: p.FailFast, Detached: p.Detached,
			OnlyOnFailure: p.Policy == translate.OnFailure,
		}
		for _, u := range b.Units {
			if u.Step == p {
				steps[i].Units = append(steps[i].Units, status.Unit{Task: u.Task, Pod: u.Pod, Container: u.Container})
			}
		}
	}
	return steps
}

// following is a run that is watched.
type following struct {
	steps    []status.Step
	run      *v1.PipelineRun
	streams  logs.Streams
	shown    Shown
	runs     cache.SharedIndexInformer
	taskRuns cache.SharedIndexInformer
	pods     cache.SharedIndexInformer

	told     map[int]string // what was shown of a step, by its index
	readers  map[string]*reader
	wait     sync.WaitGroup // for the readers
	troubles map[status.Trouble]time.Time
}

// reader reads a container's log.
type reader struct {
	terminated chan struct{}
	ended      bool
}

// watch mirrors the run, its TaskRuns and its Pods, and tells of changes.
func (f *following) watch(ctx context.Context, c Clients) (<-chan struct{}, error) {
	selector := translate.LabelRun + "=" + f.run.Labels[translate.LabelRun]
	narrow := func(o *metav1.ListOptions) { o.LabelSelector = selector }
	tekton := externalversions.NewSharedInformerFactoryWithOptions(c.Tekton, 0,
		externalversions.WithNamespace(f.run.Namespace), externalversions.WithTweakListOptions(narrow))
	kube := informers.NewSharedInformerFactoryWithOptions(c.Kube, 0,
		informers.WithNamespace(f.run.Namespace), informers.WithTweakListOptions(narrow))
	f.runs = tekton.Tekton().V1().PipelineRuns().Informer()
	f.taskRuns = tekton.Tekton().V1().TaskRuns().Informer()
	f.pods = kube.Core().V1().Pods().Informer()
	changed := make(chan struct{}, 1)
	tell := func(any) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(_, o any) { tell(o) }, DeleteFunc: tell}
	for _, informer := range []cache.SharedIndexInformer{f.runs, f.taskRuns, f.pods} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, fmt.Errorf("watching the run: %w", err)
		}
	}
	tekton.Start(ctx.Done())
	kube.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), f.runs.HasSynced, f.taskRuns.HasSynced, f.pods.HasSynced) {
		return nil, ctx.Err()
	}
	return changed, nil
}

// look asks how things stand, and shows what is new.
func (f *following) look(ctx context.Context) status.Answer {
	q := status.Question{Cluster: f.cluster(), Steps: f.steps, Now: time.Now(), Grace: grace, TroubleSince: func(t status.Trouble) time.Time {
		return f.troubles[t]
	}}
	answer := status.Of(q)
	for i, state := range answer.Steps {
		if state.Trouble != nil && f.troubles[*state.Trouble].IsZero() {
			f.troubles[*state.Trouble] = q.Now
		}
		f.read(ctx, f.steps[i], state.Output)
		if now := state.Status + state.Waiting; f.told[i] != now {
			f.told[i] = now
			f.shown.Step(f.steps[i], state)
		}
	}
	if answer.Done {
		for _, r := range f.readers {
			r.end()
		}
	}
	return answer
}

func (f *following) cluster() status.Cluster {
	var c status.Cluster
	for _, o := range f.runs.GetStore().List() {
		if run := o.(*v1.PipelineRun); run.UID == f.run.UID {
			c.Run = run
		}
	}
	for _, o := range f.taskRuns.GetStore().List() {
		c.TaskRuns = append(c.TaskRuns, o.(*v1.TaskRun))
	}
	for _, o := range f.pods.GetStore().List() {
		c.Pods = append(c.Pods, o.(*corev1.Pod))
	}
	return c
}

// read starts reading a container's log, and tells its reader when the container has terminated.
func (f *following) read(ctx context.Context, step status.Step, o *status.Output) {
	if o == nil {
		return
	}
	key := o.UID + "/" + o.Container
	r := f.readers[key]
	if r == nil {
		r = &reader{terminated: make(chan struct{})}
		f.readers[key] = r
		container := &logs.Container{
			Streams: f.streams, Namespace: f.run.Namespace, Pod: o.Pod, Name: o.Container, Terminated: r.terminated,
		}
		f.wait.Go(func() {
			var line []byte
			err := container.Follow(ctx, func(rec logs.Record) {
				line = append(line, rec.Text...)
				if rec.End {
					f.shown.Line(step.Name, line)
					line = line[:0]
				}
			})
			if len(line) > 0 {
				f.shown.Line(step.Name, append(line, '\n'))
			}
			if err != nil && ctx.Err() == nil {
				f.shown.Line(step.Name, fmt.Appendf(nil, "the rest of the log cannot be read: %v\n", err))
			}
		})
	}
	if o.Terminated {
		r.end()
	}
}

func (r *reader) end() {
	if !r.ended {
		r.ended = true
		close(r.terminated)
	}
}

// stopTask stops a task that hangs.
func (f *following) stopTask(ctx context.Context, c Clients, task string) {
	for _, o := range f.taskRuns.GetStore().List() {
		tr := o.(*v1.TaskRun)
		if tr.Labels["tekton.dev/pipelineTask"] == task && !tr.IsDone() && tr.Spec.Status == "" {
			tr = tr.DeepCopy()
			tr.Spec.Status = v1.TaskRunSpecStatusCancelled
			// A conflict means that something changed; the next look tries again.
			_, _ = c.Tekton.TektonV1().TaskRuns(tr.Namespace).Update(ctx, tr, metav1.UpdateOptions{})
		}
	}
}
