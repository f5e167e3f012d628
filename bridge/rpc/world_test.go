package rpc_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	api "github.com/drone/drone-go/drone"

	"github.com/drone-tekton/drone-runner-tekton/bridge/dronetest"
	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
)

// world is a Drone server that the contract is checked against.
type world interface {
	url() string
	secret() string
	poll() time.Duration // How long a long poll lasts.
	enqueue(t *testing.T, config string) *api.Build
	cancel(t *testing.T, build *api.Build)
	build(t *testing.T, build *api.Build) *api.Build // As it is now, with stages and steps.
	log(t *testing.T, build *api.Build, stage, step int) []*api.Line
}

// onReal returns the real server, if one is under test.
var onReal func(*testing.T) world

// newWorld returns the fake server, one for each test, unless a real one is under test.
func newWorld(t *testing.T, change ...func(*dronetest.Options)) world {
	if onReal != nil {
		t.Parallel() // A long poll takes its 30 seconds.
		return onReal(t)
	}
	return newFake(t, change...)
}

// newFake returns a fake server.
func newFake(t *testing.T, change ...func(*dronetest.Options)) fake {
	o := dronetest.Options{Poll: 50 * time.Millisecond}
	for _, f := range change {
		f(&o)
	}
	return fake{dronetest.New(t, o)}
}

type fake struct{ *dronetest.Server }

func (f fake) url() string         { return f.URL() }
func (f fake) secret() string      { return f.Secret() }
func (f fake) poll() time.Duration { return 50 * time.Millisecond }

func (f fake) enqueue(t *testing.T, config string) *api.Build {
	t.Helper()
	b, err := f.Enqueue(dronetest.Spec{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (f fake) cancel(t *testing.T, b *api.Build) {
	t.Helper()
	if !f.Cancel(b.ID) {
		t.Fatalf("build %d was over before it was cancelled", b.ID)
	}
}

func (f fake) build(_ *testing.T, b *api.Build) *api.Build { return f.Build(b.ID) }

func (f fake) log(t *testing.T, b *api.Build, stage, step int) []*api.Line {
	t.Helper()
	lines, err := f.Log(f.Build(b.ID).Stages[stage-1].Steps[step-1].ID)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// newClient returns a client that tries again without much ado, and dumps its calls if RPC_DUMP is set.
func newClient(t *testing.T, w world, change ...func(*rpc.Options)) *rpc.Client {
	t.Helper()
	o := rpc.Options{Server: w.url(), Secret: w.secret(), BackOff: quick, RetryFor: time.Minute}
	if os.Getenv("RPC_DUMP") != "" {
		o.Dump, o.DumpBody = t.Output(), true
	}
	for _, f := range change {
		f(&o)
	}
	c, err := rpc.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// steps are what a runner would make of a pipeline.
func steps(names ...string) []*rpc.Step {
	var all []*rpc.Step
	for i, name := range names {
		all = append(all, &rpc.Step{Step: api.Step{Number: i + 1, Name: name, Status: api.StatusPending}})
	}
	return all
}

const machine = "runner-1"

// accept takes a stage of the type.
func accept(ctx context.Context, t *testing.T, c *rpc.Client, typ string) *rpc.Stage {
	t.Helper()
	offered, err := c.Request(ctx, rpc.Filter{Kind: "pipeline", Type: typ})
	if err != nil {
		t.Fatal(err)
	}
	stage, err := c.Accept(ctx, offered.ID, machine)
	if err != nil {
		t.Fatal(err)
	}
	return stage
}

// start takes a stage of the type, and reports it running with the steps.
func start(ctx context.Context, t *testing.T, c *rpc.Client, typ string, names ...string) *rpc.Stage {
	t.Helper()
	stage := running(accept(ctx, t, c, typ), names...)
	stage, err := c.StartStage(ctx, stage)
	if err != nil {
		t.Fatal(err)
	}
	return stage
}

// running is the stage as it is to be started.
func running(stage *rpc.Stage, names ...string) *rpc.Stage {
	stage = stage.Clone()
	stage.Status, stage.Started, stage.Steps = api.StatusRunning, time.Now().Unix(), steps(names...)
	return stage
}

// with returns the step in another status.
func with(step *rpc.Step, status string, exit int) *rpc.Step {
	step = step.Clone()
	step.Status, step.ExitCode = status, exit
	if step.Started == 0 {
		step.Started = time.Now().Unix()
	}
	if status != api.StatusRunning && status != api.StatusPending {
		step.Stopped = time.Now().Unix()
	}
	return step
}

// finished returns the stage in a final status.
func finished(stage *rpc.Stage, status string) *rpc.Stage {
	stage = stage.Clone()
	stage.Status, stage.Stopped = status, time.Now().Unix()
	return stage
}

// quick waits next to nothing between tries.
func quick() backoff.BackOff { return backoff.NewConstantBackOff(time.Millisecond) }
