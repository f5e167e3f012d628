package bridge

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	api "github.com/drone/drone-go/drone"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"knative.dev/pkg/logging"

	"github.com/drone-tekton/drone-runner-tekton/bridge/compile"
	"github.com/drone-tekton/drone-runner-tekton/bridge/dronetest"
	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
	"github.com/drone-tekton/drone-runner-tekton/translate"
)

// world is a Drone server, a cluster, and one runner after the other between them.
type world struct {
	t       *testing.T
	drone   *dronetest.Server
	cluster *fakeCluster
	options Options
	metrics prometheus.Registerer
	ctx     context.Context
}

func newWorld(t *testing.T, steps map[string]behaviour) *world {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return &world{
		t: t, ctx: ctx, drone: dronetest.New(t, dronetest.Options{}), cluster: newFakeCluster(t, steps),
		options: Options{
			Machine: "runner", Filter: rpc.Filter{Kind: "pipeline", Type: "kubernetes"},
			Namespace: "drone", Namespaces: []string{"drone"}, Workers: 4, Grace: 50 * time.Millisecond,
			Compiler: &compile.Compiler{Options: translate.Options{Namespace: "drone"}},
		},
	}
}

var errDead = errors.New("the runner is dead")

// process is one life of a runner: it can be killed between any two calls, and none gets out afterwards.
type process struct {
	cancel context.CancelFunc
	ended  chan struct{}

	mu   sync.Mutex
	dead bool
	// watch is called with each call before and after it is made; true kills the process.
	watch func(call string, after bool) bool
}

func (p *process) gate(call string, after bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.dead && p.watch != nil && p.watch(call, after) {
		p.dead = true
		p.cancel()
	}
	if p.dead {
		return errDead
	}
	return nil
}

// RoundTrip passes on calls to the Drone server while the process is alive.
func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	call := r.Method + " " + shape(r.URL.Path)
	poll := strings.HasSuffix(call, "/watch") || call == "POST /rpc/v2/stage"
	if err := p.gate(call, false); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if poll {
		return res, nil
	}
	if err := p.gate(call, true); err != nil {
		res.Body.Close()
		return nil, err
	}
	return res, nil
}

// shape is a path without its ids.
func shape(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if part != "" && strings.Trim(part, "0123456789") == "" {
			parts[i] = "N"
		}
	}
	return strings.Join(parts, "/")
}

// start starts a runner.
func (w *world) start(watch func(call string, after bool) bool) *process {
	ctx, cancel := context.WithCancel(w.ctx)
	p := &process{cancel: cancel, ended: make(chan struct{}), watch: watch}
	client, err := rpc.New(rpc.Options{
		Server: w.drone.URL(), Secret: w.drone.Secret(), Transport: p, RetryFor: 5 * time.Second,
		BackOff: func() backoff.BackOff { return backoff.NewConstantBackOff(5 * time.Millisecond) },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := New(w.options, w.cluster.clients(p.gate), client, w.cluster.streams, w.metrics)
	if err != nil {
		w.t.Fatal(err)
	}
	log := zap.NewNop()
	if os.Getenv("DEBUG") != "" {
		log, _ = zap.NewDevelopment()
	}
	go func() {
		defer close(p.ended)
		if err := r.Run(logging.WithLogger(ctx, log.Sugar())); err != nil {
			w.t.Errorf("Run: %v", err)
		}
	}()
	w.t.Cleanup(p.stop)
	return p
}

func (p *process) stop() {
	p.cancel()
	<-p.ended
}

// build enqueues a build.
func (w *world) build(spec dronetest.Spec) *api.Build {
	b, err := w.drone.Enqueue(spec)
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

// ended waits for the end of a build.
func (w *world) ended(id int64) *api.Build {
	err := w.drone.Wait(w.ctx, func() bool {
		b := w.drone.Build(id)
		if b.Finished == 0 {
			return false
		}
		for _, s := range b.Stages {
			if s.Stopped == 0 {
				return false
			}
		}
		return true
	})
	b := w.drone.Build(id)
	if err != nil {
		w.t.Fatalf("the build has not ended: %v; it is %s, %v", err, b.Status, outcomes(b))
	}
	return b
}

// clean waits until nothing of the runner's is left in the cluster.
func (w *world) clean() {
	w.t.Helper()
	var left []string
	for w.ctx.Err() == nil {
		left = nil
		for _, o := range w.cluster.left(w.ctx) {
			left = append(left, o.GetName())
		}
		if len(left) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.t.Fatalf("objects left: %v", left)
}

// outcomes are the steps of a build as name:status:exit.
func outcomes(b *api.Build) []string {
	var all []string
	for _, stage := range b.Stages {
		for _, s := range stage.Steps {
			text := s.Name + ":" + s.Status
			if s.ExitCode != 0 {
				text += ":" + itoa(s.ExitCode)
			}
			all = append(all, text)
		}
	}
	return all
}

func itoa(n int) string { return formatID(int64(n)) }

// log is the text of a step's log.
func (w *world) log(b *api.Build, step string) []string {
	w.t.Helper()
	for _, stage := range b.Stages {
		i := slices.IndexFunc(stage.Steps, func(s *api.Step) bool { return s.Name == step })
		if i < 0 {
			continue
		}
		lines, err := w.drone.Log(stage.Steps[i].ID)
		if err != nil {
			w.t.Errorf("log of %s: %v", step, err)
		}
		var texts []string
		for n, line := range lines {
			if line.Number != n {
				w.t.Errorf("log of %s: line %d has number %d", step, n, line.Number)
			}
			texts = append(texts, strings.TrimSuffix(line.Message, "\n"))
		}
		return texts
	}
	w.t.Fatalf("there is no step %s", step)
	return nil
}

func (w *world) want(what string, got, want any) {
	w.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("%s: (-want +got)\n%s", what, diff)
	}
}
