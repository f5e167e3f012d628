package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/pkg/leaderelection"
	knative "knative.dev/pkg/reconciler"

	"github.com/drone-tekton/drone-runner-tekton/bridge/journal"
	"github.com/drone-tekton/drone-runner-tekton/bridge/logs"
)

// Server is a Drone server, as rpc.Client is one.
type Server interface {
	requester
	starter
	reporter
	watcher
	uploader
}

// Runner runs stages of a Drone server on a cluster.
type Runner struct {
	options    Options
	clients    Clients
	watched    *watched
	poller     *poller
	reconciler *reconciler
	leaders    *knative.LeaderAwareFuncs
	events     *events
	changes    *broadcast

	mu    sync.Mutex
	ready bool
}

// New puts a runner together. It reads and writes nothing before Run. The registerer may be nil, and streams are those of
// the cluster where nil.
func New(o Options, c Clients, server Server, streams logs.Streams, registerer prometheus.Registerer) (*Runner, error) {
	o = o.withDefaults()
	w, err := newWatched(c, o.Namespace, o.Namespaces)
	if err != nil {
		return nil, err
	}
	if streams == nil {
		streams = logs.ClusterStreams(c.Kube.CoreV1())
	}
	r := &Runner{options: o, clients: c, watched: w, events: newEvents(c), changes: newBroadcast()}
	m := newMetrics(registerer)
	store := journal.NewStore(c.Kube.CoreV1().ConfigMaps(o.Namespace))
	queue := newQueue()
	values := &values{clients: c, byStage: map[int64][]string{}}
	teller := &teller{server: server, journal: store, events: r.events, options: o, metrics: m}
	r.leaders = &knative.LeaderAwareFuncs{PromoteFunc: r.promote, DemoteFunc: r.demote}
	r.reconciler = &reconciler{
		queue: queue, news: &news{since: map[int64]time.Time{}}, watched: w, journal: store, busy: map[int64]time.Time{}, leads: r.leaders.IsLeaderFor, teller: teller, options: o, metrics: m,
		launcher: &launcher{
			server: server, clients: c, journal: store, compiler: o.Compiler, teller: teller, values: values,
			events: r.events, options: o, metrics: m,
		},
		ender:   &ender{clients: c, journal: store, options: o, metrics: m},
		cleaner: &cleaner{clients: c, journal: store, watched: w, options: o, metrics: m, more: make(chan struct{}, 1)},
		sessions: &sessions{
			watcher: server, values: values, wake: queue.Add, byID: map[int64]*session{},
			logs: &stepLogs{streams: streams, sender: sender{server}, options: o, metrics: logs.NewMetrics(registerer)},
		},
	}
	r.poller = &poller{
		server: server, journal: store, options: o, held: r.held, entryOf: w.entry, changed: r.changes.next, metrics: m,
	}
	gauges(registerer, w, r.reconciler.sessions, queue)
	if err := w.onEvent(queue.Add); err != nil {
		return nil, err
	}
	return r, w.onChange(func(stageID int64) {
		r.changes.send()
		r.reconciler.news.came(stageID, o.Clock.Now())
		queue.Add(stageID)
	})
}

// Run runs until ctx ends. Stages that are running then go on in the cluster, and are taken up again by the next process.
func (r *Runner) Run(ctx context.Context) error {
	defer r.events.stop()
	if err := r.watched.run(ctx); err != nil {
		return unlessStopped(ctx, err)
	}
	elect, err := r.elector(ctx)
	if err != nil {
		return err
	}
	r.setReady(true)
	defer r.setReady(false)
	var parts sync.WaitGroup
	parts.Go(func() { elect(ctx) })
	parts.Go(func() { r.reconciler.run(ctx) })
	parts.Go(func() { r.reconciler.cleaner.prune(ctx, r.leaders.IsLeaderFor) })
	parts.Go(func() { r.poller.run(ctx) })
	parts.Wait()
	return nil
}

// unlessStopped is nothing where the error comes from the end of the process's context.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// elector shares the stages among replicas, in buckets. A single replica that needs no election has them all.
func (r *Runner) elector(ctx context.Context) (elect func(context.Context), err error) {
	look := func(knative.Bucket, types.NamespacedName) {} // promote does it itself.
	if r.options.Buckets <= 0 {
		return func(context.Context) {}, r.leaders.Promote(knative.UniversalBucket(), look)
	}
	ctx = leaderelection.WithStandardLeaderElectorBuilder(ctx, r.clients.Kube, leaderelection.ComponentConfig{
		Component: component, Buckets: uint32(r.options.Buckets),
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
	})
	e, err := leaderelection.BuildElector(ctx, r.leaders, "stages", look)
	if err != nil {
		return nil, fmt.Errorf("sharing stages among replicas: %w", err)
	}
	return e.Run, nil
}

// promote looks at all stages of a bucket that is ours from now on.
func (r *Runner) promote(b knative.Bucket, _ func(knative.Bucket, types.NamespacedName)) error {
	for _, informer := range r.watched.all() {
		for _, object := range informer.GetStore().List() {
			if id, ok := stageOf(object); ok && b.Has(stageKey(r.options.Namespace, id)) {
				r.reconciler.queue.Add(id)
			}
		}
	}
	return nil
}

// demote looks at the stages of a bucket that is somebody else's from now on, which ends their sessions.
func (r *Runner) demote(b knative.Bucket) { _ = r.promote(b, nil) } // It does not fail.

// held is how many stages this machine has taken and not ended.
func (r *Runner) held() int {
	n := 0
	r.watched.briefs(func(machine string, phase journal.Phase) {
		if machine == r.options.Machine && phase != journal.Told {
			n++
		}
	})
	return n
}

func (r *Runner) setReady(ready bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready = ready
}

// Ready is an error while the runner cannot take on stages: it does not know the cluster yet, or the server refuses it.
func (r *Runner) Ready() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ready {
		return errors.New("the cluster's objects have not been read yet")
	}
	return r.poller.trouble()
}

// Live is an error where a look at a stage does not come to its end, which only a new process mends.
func (r *Runner) Live() error { return r.reconciler.stuck() }

// Disconnected tells that a watch for cancelled builds was broken.
func (r *Runner) Disconnected() { r.reconciler.sessions.recheck() }

// Entries are the stages at this moment, for people to look at.
func (r *Runner) Entries() []*journal.Entry { return r.watched.entries() }
