package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	api "github.com/drone/drone-go/drone"
	"github.com/google/go-cmp/cmp"

	"github.com/drone-tekton/drone-runner-tekton/bridge/dronetest"
	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
)

// What networks do to each call, and what the client makes of it. Each of mishaps happens once to the call.
var mishaps = []struct {
	name  string
	fault dronetest.Fault
}{
	{"lost call", dronetest.Fault{Drop: dronetest.DropCall}},
	{"lost answer", dronetest.Fault{Drop: dronetest.DropAnswer}},
	{"lost twice", dronetest.Fault{Drop: dronetest.DropAnswer, Times: 2}},
	{"doubled call", dronetest.Fault{Twice: true}},
	{"bad gateway", dronetest.Fault{Status: http.StatusBadGateway, Text: "<html>"}},
	{"internal error", dronetest.Fault{Status: http.StatusInternalServerError, Text: "database is locked"}},
	{"no content", dronetest.Fault{Status: http.StatusNoContent}},
	{"too many requests", dronetest.Fault{Status: http.StatusTooManyRequests}},
}

// eachMishap runs f for each mishap that befalls the method.
func eachMishap(t *testing.T, m dronetest.Method, f func(t *testing.T, w fake, c *rpc.Client, befall func())) {
	for _, mishap := range mishaps {
		t.Run(mishap.name, func(t *testing.T) {
			w := newFake(t)
			f(t, w, newClient(t, w), func() {
				fault := mishap.fault
				fault.On = m
				w.Inject(fault)
			})
		})
	}
}

func TestRequestGetsAStageThroughMishaps(t *testing.T) {
	eachMishap(t, dronetest.Request, func(t *testing.T, w fake, c *rpc.Client, befall func()) {
		b := w.enqueue(t, pipeline("docker", ""))
		befall()
		stage, err := c.Request(t.Context(), rpc.Filter{})
		if err != nil || stage.ID != b.Stages[0].ID {
			t.Errorf("Request() = %v, %v, want stage %d", stage, err, b.Stages[0].ID)
		}
	})
}

func TestRequestAsksAgainAtOnceWhenNothingCame(t *testing.T) {
	w := newFake(t)
	c := newClient(t, w, func(o *rpc.Options) {
		o.OnRetry = func(call rpc.Call, err error, wait time.Duration) {
			t.Errorf("waits %s before the next %s: %v", wait, call, err)
		}
	})
	var once sync.Once
	w.Hook(nil, func(call dronetest.Call) {
		if call.Seq == 3 {
			once.Do(func() { w.enqueue(t, pipeline("docker", "")) })
		}
	})
	if _, err := c.Request(t.Context(), rpc.Filter{}); err != nil {
		t.Fatal(err)
	}
	for _, call := range w.Calls() {
		if call.Aborted {
			t.Errorf("call %d was broken off", call.Seq)
		}
	}
}

func TestRequestDoesNotHurryWhenItIsAnsweredTooFast(t *testing.T) {
	w := newFake(t)
	w.enqueue(t, pipeline("docker", ""))
	w.Inject(dronetest.Fault{On: dronetest.Request, Status: http.StatusNoContent, Times: 3})
	retries := 0
	c := newClient(t, w, func(o *rpc.Options) {
		o.OnRetry = func(rpc.Call, error, time.Duration) { retries++ }
	})
	if _, err := c.Request(t.Context(), rpc.Filter{}); err != nil {
		t.Fatal(err)
	}
	if retries != 3 {
		t.Errorf("there were %d waits, want 3", retries)
	}
}

func TestRequestReturnsWhenItIsRefused(t *testing.T) {
	for _, test := range []struct {
		status int
		want   error
	}{
		{http.StatusUnauthorized, rpc.ErrUnauthorized},
		{http.StatusForbidden, rpc.ErrUnauthorized},
		{http.StatusNotFound, rpc.ErrNotFound},
	} {
		w := newFake(t)
		w.Inject(dronetest.Fault{Status: test.status, Times: -1})
		_, err := newClient(t, w).Request(t.Context(), rpc.Filter{})
		if !errors.Is(err, test.want) || rpc.OutcomeOf(err) != rpc.Refused {
			t.Errorf("Request() answered with %d = %v, want %v, refused", test.status, err, test.want)
		}
		if n := len(w.Calls()); n != 1 {
			t.Errorf("Request() answered with %d: %d calls, want 1", test.status, n)
		}
	}
}

func TestServerWithoutASecretRefusesAll(t *testing.T) {
	w := newFake(t, func(o *dronetest.Options) { o.NoSecret = true })
	if err := newClient(t, w).Ping(t.Context()); !errors.Is(err, rpc.ErrUnauthorized) {
		t.Errorf("Ping() = %v, want ErrUnauthorized", err)
	}
}

func TestAcceptedStageIsFoundToBeOursAfterMishaps(t *testing.T) {
	eachMishap(t, dronetest.Accept, func(t *testing.T, w fake, c *rpc.Client, befall func()) {
		b := w.enqueue(t, pipeline("docker", ""))
		befall()
		stage, err := c.Accept(t.Context(), b.Stages[0].ID, machine)
		if err != nil {
			t.Fatal(err)
		}
		got := w.Stage(stage.ID)
		if got.Machine != machine || got.Version != 2 || stage.Version != 2 || stage.Machine != machine {
			t.Errorf("stage = %+v, on the server %+v, want both of %s with version 2", stage, got, machine)
		}
	})
}

func TestAcceptAfterALostCallYieldsToTheOtherRunner(t *testing.T) {
	w := newFake(t)
	b := w.enqueue(t, pipeline("docker", ""))
	id := b.Stages[0].ID
	other := newClient(t, w)
	w.Inject(dronetest.Fault{On: dronetest.Accept, Drop: dronetest.DropCall, Before: func(dronetest.Call) {
		if _, err := other.Accept(t.Context(), id, "runner-2"); err != nil {
			t.Error(err)
		}
	}})
	if _, err := newClient(t, w).Accept(t.Context(), id, machine); !errors.Is(err, rpc.ErrConflict) {
		t.Errorf("Accept() = %v, want ErrConflict", err)
	}
}

func TestAcceptIsUnknownWhenItIsCutOff(t *testing.T) {
	w := newFake(t)
	b := w.enqueue(t, pipeline("docker", ""))
	ctx, cancel := context.WithCancel(t.Context())
	w.Inject(dronetest.Fault{On: dronetest.Accept, Drop: dronetest.DropAnswer, Before: func(dronetest.Call) { cancel() }})
	_, err := newClient(t, w).Accept(ctx, b.Stages[0].ID, machine)
	if !errors.Is(err, context.Canceled) || rpc.OutcomeOf(err) != rpc.Unknown {
		t.Errorf("Accept() = %v (%v), want context.Canceled, outcome unknown", err, rpc.OutcomeOf(err))
	}
	_, err = newClient(t, w).Accept(ctx, b.Stages[0].ID, machine)
	if !errors.Is(err, context.Canceled) || rpc.OutcomeOf(err) != rpc.NotApplied {
		t.Errorf("Accept() without a context = %v (%v), want context.Canceled, not applied", err, rpc.OutcomeOf(err))
	}
}

func TestDetailsAreAskedAgain(t *testing.T) {
	eachMishap(t, dronetest.Details, func(t *testing.T, w fake, c *rpc.Client, befall func()) {
		w.enqueue(t, pipeline("docker", ""))
		stage := accept(t.Context(), t, c, "docker")
		befall()
		if d, err := c.Details(t.Context(), stage.ID); err != nil || d.Stage.ID != stage.ID {
			t.Errorf("Details() = %v, %v, want stage %d", d, err, stage.ID)
		}
	})
}

func TestStartedStageHasUsableStepsAfterMishaps(t *testing.T) {
	eachMishap(t, dronetest.UpdateStage, func(t *testing.T, w fake, c *rpc.Client, befall func()) {
		b := w.enqueue(t, pipeline("docker", ""))
		accepted := accept(t.Context(), t, c, "docker")
		befall()
		stage, err := c.StartStage(t.Context(), running(accepted, "clone", "build"))
		if err != nil {
			t.Fatal(err)
		}
		checkUsable(t, w, c, b, stage)
	})
}

// TestStartedStageHasUsableStepsAfterTheProcessEnded: those that are there already where their ids can be had.
func TestStartedStageHasUsableStepsAfterTheProcessEnded(t *testing.T) {
	for _, test := range []struct {
		visibility    string
		first, second int // numbers of the steps
		all           int
	}{{"public", 1, 2, 2}, {"private", 5, 6, 6}} {
		w := newFake(t)
		c := newClient(t, w)
		b, err := w.Enqueue(dronetest.Spec{Config: pipeline("docker", ""), Repo: api.Repo{Visibility: test.visibility}})
		if err != nil {
			t.Fatal(err)
		}
		begun := running(accept(t.Context(), t, c, "docker"), "clone", "build")
		var stage *rpc.Stage
		for range 3 { // The first two times, the process ended before it had kept the result.
			if stage, err = c.StartStage(t.Context(), begun); err != nil {
				t.Fatal(err)
			}
		}
		if stage.Steps[0].Number != test.first || stage.Steps[1].Number != test.second {
			t.Errorf("%s: steps have numbers %d and %d, want %d and %d", test.visibility,
				stage.Steps[0].Number, stage.Steps[1].Number, test.first, test.second)
		}
		if n := len(w.Stage(stage.ID).Steps); n != test.all {
			t.Errorf("%s: there are %d steps, want %d", test.visibility, n, test.all)
		}
		checkUsable(t, w, c, b, stage)
		for _, call := range w.CallsTo(dronetest.Page) {
			if call.Header.Get("X-Drone-Token") != "" {
				t.Error("the secret of runners was sent to a page for people")
			}
		}
	}
}

// TestHalfInsertedStepsAreNotUsed: the server was stopped among the steps.
func TestHalfInsertedStepsAreNotUsed(t *testing.T) {
	w := newFake(t)
	c := newClient(t, w)
	b := w.enqueue(t, pipeline("docker", ""))
	begun := running(accept(t.Context(), t, c, "docker"), "clone", "build")
	half := begun.Clone()
	half.Steps = half.Steps[:1]
	if _, err := c.StartStage(t.Context(), half); err != nil {
		t.Fatal(err)
	}
	stage, err := c.StartStage(t.Context(), begun)
	if err != nil {
		t.Fatal(err)
	}
	if stage.Steps[0].Number != 3 {
		t.Errorf("the first step has number %d, want 3: a new one", stage.Steps[0].Number)
	}
	checkUsable(t, w, c, b, stage)
}

// checkUsable runs a stage to its end.
func checkUsable(t *testing.T, w fake, c *rpc.Client, b *api.Build, stage *rpc.Stage) {
	t.Helper()
	for i, name := range []string{"clone", "build"} {
		step := stage.Steps[i]
		if row := w.Step(step.ID); row == nil || row.Name != name || row.StageID != stage.ID || row.Version != step.Version {
			t.Fatalf("step %d is %+v, want %s with version %d", step.ID, row, name, step.Version)
		}
		for _, status := range []string{api.StatusRunning, api.StatusPassing} {
			var err error
			if step, err = c.UpdateStep(t.Context(), with(step, status, 0)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := c.UpdateStage(t.Context(), finished(stage, api.StatusPassing)); !errors.Is(err, rpc.ErrConflict) {
		t.Errorf("UpdateStage() with the steps of before = %v, want ErrConflict", err)
	}
	if _, err := c.FinishStage(t.Context(), finished(stage, api.StatusPassing)); err != nil {
		t.Fatal(err)
	}
	if got := w.build(t, b); got.Status != api.StatusPassing || got.Stages[0].Status != api.StatusPassing {
		t.Errorf("build is %s, stage %s, want success", got.Status, got.Stages[0].Status)
	}
}

func TestStartIsLeftToTheOtherRunner(t *testing.T) {
	w := newFake(t)
	c := newClient(t, w)
	w.enqueue(t, pipeline("docker", ""))
	stage := accept(t.Context(), t, c, "docker")
	theirs := running(stage, "build")
	theirs.Machine = "runner-2"
	if _, err := c.StartStage(t.Context(), theirs); err != nil { // Whoever wrote that.
		t.Fatal(err)
	}
	_, err := c.StartStage(t.Context(), running(stage, "build"))
	if !errors.Is(err, rpc.ErrConflict) || errors.Is(err, rpc.ErrEnded) {
		t.Errorf("StartStage() = %v, want ErrConflict alone", err)
	}
	if n := len(w.Stage(stage.ID).Steps); n != 1 {
		t.Errorf("there are %d steps, want 1", n)
	}
}

func TestUpdateStageIsNotRepeatedWhenItMayHaveBeenApplied(t *testing.T) {
	w := newFake(t)
	c := newClient(t, w)
	w.enqueue(t, pipeline("docker", ""))
	stage := running(accept(t.Context(), t, c, "docker"), "build")
	w.Inject(dronetest.Fault{On: dronetest.UpdateStage, Drop: dronetest.DropAnswer})
	if _, err := c.UpdateStage(t.Context(), stage); err == nil || rpc.OutcomeOf(err) != rpc.Unknown {
		t.Errorf("UpdateStage() = %v (%v), want outcome unknown", err, rpc.OutcomeOf(err))
	}
	if n := len(w.CallsTo(dronetest.UpdateStage)); n != 1 {
		t.Errorf("there were %d calls, want 1", n)
	}
}

func TestStepsMustBeNumbered(t *testing.T) {
	w := newFake(t)
	c := newClient(t, w)
	w.enqueue(t, pipeline("docker", ""))
	accepted := accept(t.Context(), t, c, "docker")
	for _, numbers := range [][]int{{0, 1}, {1, 1}, {-1, 2}} {
		stage := running(accepted, "clone", "build")
		stage.Steps[0].Number, stage.Steps[1].Number = numbers[0], numbers[1]
		if _, err := c.UpdateStage(t.Context(), stage); rpc.OutcomeOf(err) != rpc.Refused {
			t.Errorf("UpdateStage() with steps numbered %v = %v, want refused", numbers, err)
		}
	}
	if n := len(w.CallsTo(dronetest.UpdateStage)); n != 0 {
		t.Errorf("there were %d calls, want none", n)
	}
}

func TestStepIsReportedOnceThroughMishaps(t *testing.T) {
	for _, status := range []string{api.StatusRunning, api.StatusFailing} {
		t.Run(status, func(t *testing.T) {
			eachMishap(t, dronetest.UpdateStep, func(t *testing.T, w fake, c *rpc.Client, befall func()) {
				w.enqueue(t, pipeline("docker", ""))
				stage := start(t.Context(), t, c, "docker", "build")
				befall()
				step, err := c.ReportStep(t.Context(), with(stage.Steps[0], status, 7))
				if err != nil {
					t.Fatal(err)
				}
				row := w.Step(step.ID)
				if row.Status != status || row.ExitCode != 7 || row.Version != step.Version {
					t.Errorf("step = %+v, on the server %+v, want %s, exit code 7", step, row, status)
				}
				if _, err := c.UpdateStep(t.Context(), step); err != nil {
					t.Errorf("next update = %v, want the version to be right", err)
				}
			})
		})
	}
}

func TestStepIsReportedFromAnOlderVersion(t *testing.T) {
	w := newFake(t)
	c := newClient(t, w)
	w.enqueue(t, pipeline("docker", ""))
	stage := start(t.Context(), t, c, "docker", "build")
	known := stage.Steps[0]
	step := known
	for _, status := range []string{api.StatusPending, api.StatusRunning, api.StatusRunning} {
		var err error
		if step, err = c.UpdateStep(t.Context(), with(step, status, 0)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := c.ReportStep(t.Context(), with(known, api.StatusPassing, 0))
	if err != nil || got.Version != step.Version+1 || w.Step(known.ID).Status != api.StatusPassing {
		t.Errorf("ReportStep() = %+v, %v, on the server %+v, want success with version %d",
			got, err, w.Step(known.ID), step.Version+1)
	}
}

// A cancellation raises the version like any update, so a runner that is behind must not catch up with it.
func TestReportDoesNotUndoACancellation(t *testing.T) {
	for behind := range 3 {
		for at := range behind + 2 {
			t.Run(fmt.Sprintf("%d behind, cancelled at update %d", behind, at), func(t *testing.T) {
				w := newFake(t)
				c := newClient(t, w)
				b := w.enqueue(t, pipeline("docker", ""))
				stage := start(t.Context(), t, c, "docker", "build")
				known := stage.Steps[0]
				step := known
				for range behind {
					var err error
					if step, err = c.UpdateStep(t.Context(), with(step, api.StatusRunning, 0)); err != nil {
						t.Fatal(err)
					}
				}
				var cancelled atomic.Bool
				w.Inject(dronetest.Fault{On: dronetest.UpdateStep, Skip: at, Before: func(dronetest.Call) {
					w.Cancel(b.ID)
					cancelled.Store(true)
				}})
				_, err := c.ReportStep(t.Context(), with(known, api.StatusRunning, 0))
				if !cancelled.Load() {
					if err != nil {
						t.Errorf("ReportStep() = %v, want no error", err)
					}
					return
				}
				if !errors.Is(err, rpc.ErrEnded) || !errors.Is(err, rpc.ErrConflict) {
					t.Errorf("ReportStep() = %v, want ErrEnded and ErrConflict", err)
				}
				if got := w.Step(known.ID).Status; got != api.StatusKilled && got != api.StatusSkipped {
					t.Errorf("step is %s, want it as the cancellation left it", got)
				}
			})
		}
	}
}

func TestStageIsFinishedThroughMishaps(t *testing.T) {
	eachMishap(t, dronetest.UpdateStage, func(t *testing.T, w fake, c *rpc.Client, befall func()) {
		b := w.enqueue(t, pipeline("docker", ""))
		stage := start(t.Context(), t, c, "docker", "build")
		befall()
		got, err := c.FinishStage(t.Context(), finished(stage, api.StatusFailing))
		if err != nil {
			t.Fatal(err)
		}
		build := w.build(t, b)
		if build.Status != api.StatusFailing || build.Stages[0].Version != got.Version || len(got.Steps) != 1 {
			t.Errorf("build = %+v, stage = %+v, want failure, and the server's version", build, got)
		}
	})
}

func TestFinishIsRepeatedWhenTheBuildGoesOn(t *testing.T) {
	w := newFake(t)
	c := newClient(t, w)
	b := w.enqueue(t, pipeline("docker", "")+"---\n"+strings.Replace(pipeline("docker", ""), "one", "two", 1))
	stage := start(t.Context(), t, c, "docker", "build")
	w.Inject(dronetest.Fault{On: dronetest.UpdateStage, Drop: dronetest.DropAnswer})
	got, err := c.FinishStage(t.Context(), finished(stage, api.StatusPassing))
	if err != nil {
		t.Fatal(err)
	}
	// The stage is written twice: the server ends a build in the wake of an update, and may have been stopped in it.
	row := w.Stage(stage.ID)
	if row.Version != stage.Version+2 || got.Version != row.Version || row.Status != api.StatusPassing {
		t.Errorf("stage = %+v, on the server %+v, want success, version %d", got, row, stage.Version+2)
	}
	if s := w.build(t, b).Status; s != api.StatusRunning {
		t.Errorf("build is %s, want running", s)
	}
}

func TestFinishIsFromAnOlderVersion(t *testing.T) {
	w := newFake(t)
	c := newClient(t, w)
	b := w.enqueue(t, pipeline("docker", ""))
	accepted := accept(t.Context(), t, c, "docker")
	if _, err := c.StartStage(t.Context(), running(accepted, "build")); err != nil { // And its result was not kept.
		t.Fatal(err)
	}
	stage := finished(running(accepted), api.StatusError)
	if _, err := c.FinishStage(t.Context(), stage); err != nil {
		t.Fatal(err)
	}
	if got := w.build(t, b); got.Status != api.StatusError {
		t.Errorf("build is %s, want error", got.Status)
	}
}

func TestFinishIsLeftToTheOtherRunner(t *testing.T) {
	w := newFake(t)
	c := newClient(t, w)
	w.enqueue(t, pipeline("docker", ""))
	stage := start(t.Context(), t, c, "docker", "build")
	theirs := finished(stage, api.StatusRunning)
	theirs.Machine, theirs.Steps = "runner-2", nil
	if _, err := c.UpdateStage(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	_, err := c.FinishStage(t.Context(), finished(stage, api.StatusPassing))
	if !errors.Is(err, rpc.ErrConflict) || errors.Is(err, rpc.ErrEnded) {
		t.Errorf("FinishStage() = %v, want ErrConflict alone", err)
	}
}

// When the server cannot be asked, nothing is known; in particular not that the update was refused.
func TestUpdateIsUnknownWhenItsFateCannotBeAsked(t *testing.T) {
	w := newFake(t, func(o *dronetest.Options) { o.Old = true })
	c := newClient(t, w, func(o *rpc.Options) { o.RetryFor = time.Millisecond })
	w.enqueue(t, pipeline("docker", ""))
	stage := start(t.Context(), t, c, "docker", "build")
	if _, err := c.UpdateStep(t.Context(), with(stage.Steps[0], api.StatusRunning, 0)); err != nil {
		t.Fatal(err)
	}
	w.FailConfig(errors.New("no route to host"))
	_, err := c.ReportStep(t.Context(), with(stage.Steps[0], api.StatusPassing, 0))
	if err == nil || rpc.OutcomeOf(err) != rpc.Unknown || !strings.Contains(err.Error(), "no route to host") {
		t.Errorf("ReportStep() = %v (%v), want outcome unknown, and why", err, rpc.OutcomeOf(err))
	}
	w.FailConfig(nil)
	if _, err := c.ReportStep(t.Context(), with(stage.Steps[0], api.StatusPassing, 0)); err != nil {
		t.Errorf("ReportStep() later = %v, want no error", err)
	}
}

func TestWatchHearsOfACancellationThroughMishaps(t *testing.T) {
	for _, mishap := range mishaps {
		if mishap.fault.Drop == dronetest.DropAnswer || mishap.fault.Twice {
			continue // They happen when a poll is over.
		}
		t.Run(mishap.name, func(t *testing.T) {
			w := newFake(t, func(o *dronetest.Options) { o.Poll = time.Hour })
			b := w.enqueue(t, pipeline("docker", ""))
			mishap.fault.On, mishap.fault.Times = dronetest.Watch, 3
			w.Inject(mishap.fault)
			heard := make(chan error, 1)
			go func() { heard <- newClient(t, w).Watch(t.Context(), b.ID) }()
			if err := w.Wait(t.Context(), func() bool { return w.Watchers(b.ID) > 0 }); err != nil {
				t.Fatal(err)
			}
			w.cancel(t, b)
			if err := <-heard; err != nil {
				t.Errorf("Watch() = %v, want no error", err)
			}
			if n := len(w.CallsTo(dronetest.Watch)); n != 4 {
				t.Errorf("there were %d polls, want 4", n)
			}
		})
	}
}

func TestWatchBeginsTheNextPollBeforeTheLastHasEnded(t *testing.T) {
	w := newFake(t, func(o *dronetest.Options) { o.Poll = time.Hour })
	c := newClient(t, w, func(o *rpc.Options) { o.WatchEvery = time.Millisecond })
	b := w.enqueue(t, pipeline("docker", ""))
	// The first poll ends in vain when there is another one.
	w.Inject(dronetest.Fault{On: dronetest.Watch, Status: http.StatusNoContent, Before: func(dronetest.Call) {
		if err := w.Wait(t.Context(), func() bool { return w.Watchers(b.ID) == 1 }); err != nil {
			t.Error(err)
		}
	}})
	heard := make(chan error, 1)
	go func() { heard <- c.Watch(t.Context(), b.ID) }()
	if err := w.Wait(t.Context(), func() bool { return w.Watchers(b.ID) == 2 }); err != nil {
		t.Fatal(err)
	}
	w.cancel(t, b)
	if err := <-heard; err != nil {
		t.Errorf("Watch() = %v, want no error", err)
	}
	if n := len(w.CallsTo(dronetest.Watch)); n != 3 {
		t.Errorf("there were %d polls, want the first one and two at a time", n)
	}
}

func TestBatchIsSentOnce(t *testing.T) {
	for _, test := range []struct {
		fault dronetest.Fault
		want  rpc.Outcome
		lines int
	}{
		{dronetest.Fault{Drop: dronetest.DropCall}, rpc.Unknown, 0},
		{dronetest.Fault{Drop: dronetest.DropAnswer}, rpc.Unknown, 1},
		{dronetest.Fault{Status: http.StatusBadGateway}, rpc.Unknown, 0},
	} {
		w := newFake(t)
		c := newClient(t, w)
		w.enqueue(t, pipeline("docker", ""))
		stage := start(t.Context(), t, c, "docker", "build")
		step, err := c.ReportStep(t.Context(), with(stage.Steps[0], api.StatusRunning, 0))
		if err != nil {
			t.Fatal(err)
		}
		test.fault.On = dronetest.Batch
		w.Inject(test.fault)
		err = c.Batch(t.Context(), step.ID, []*api.Line{{Message: "hello\n"}})
		if err == nil || rpc.OutcomeOf(err) != test.want || len(w.LiveLog(step.ID)) != test.lines {
			t.Errorf("Batch() with %+v = %v (%v), %d lines, want %v, %d lines",
				test.fault, err, rpc.OutcomeOf(err), len(w.LiveLog(step.ID)), test.want, test.lines)
		}
	}
}

func TestEmptyBatchIsNotSent(t *testing.T) {
	w := newFake(t)
	if err := newClient(t, w).Batch(t.Context(), 1, nil); err != nil || len(w.Calls()) != 0 {
		t.Errorf("Batch() = %v, %d calls, want none", err, len(w.Calls()))
	}
}

func TestLiveLogEndsWithTheServersProcess(t *testing.T) {
	w := newFake(t)
	c := newClient(t, w)
	w.enqueue(t, pipeline("docker", ""))
	stage := start(t.Context(), t, c, "docker", "build")
	step, err := c.ReportStep(t.Context(), with(stage.Steps[0], api.StatusRunning, 0))
	if err != nil {
		t.Fatal(err)
	}
	w.Restart()
	if _, err := c.Details(t.Context(), stage.ID); err != nil { // Which notices the broken connections.
		t.Fatal(err)
	}
	if err := c.Batch(t.Context(), step.ID, []*api.Line{{Message: "hello\n"}}); !errors.Is(err, rpc.ErrNoStream) {
		t.Errorf("Batch() = %v, want ErrNoStream", err)
	}
	if _, err := c.ReportStep(t.Context(), with(step, api.StatusPassing, 0)); err != nil {
		t.Errorf("ReportStep() = %v, want no error", err)
	}
}

func TestLogIsStoredOnceThroughMishaps(t *testing.T) {
	lines := []*api.Line{{Number: 0, Message: "hello\n"}, {Number: 1, Message: "world\n", Timestamp: 1}}
	for _, bucket := range []bool{false, true} {
		for _, mishap := range mishaps {
			t.Run(fmt.Sprintf("%s, bucket %v", mishap.name, bucket), func(t *testing.T) {
				w := newFake(t, func(o *dronetest.Options) { o.LogBucket = bucket })
				c := newClient(t, w)
				w.enqueue(t, pipeline("docker", ""))
				stage := start(t.Context(), t, c, "docker", "build")
				mishap.fault.On = dronetest.Upload
				w.Inject(mishap.fault)
				err := c.Upload(t.Context(), stage.Steps[0].ID, rpc.LinesOf(lines))
				// A doubled call gets the second answer, and that says that there is a log. So there is.
				if err != nil && !(mishap.fault.Twice && errors.Is(err, rpc.ErrExists)) {
					t.Errorf("Upload() = %v, want no error", err)
				}
				got, err := w.Log(stage.Steps[0].ID)
				if diff := cmp.Diff(lines, got); err != nil || diff != "" {
					t.Errorf("log: %v (-sent +stored)\n%s", err, diff)
				}
			})
		}
	}
}

func TestHalfALogIsNotStored(t *testing.T) {
	w := newFake(t)
	c := newClient(t, w)
	w.enqueue(t, pipeline("docker", ""))
	step := start(t.Context(), t, c, "docker", "build").Steps[0]
	broken := errors.New("disk error")
	err := c.Upload(t.Context(), step.ID, func(yield func(*api.Line, error) bool) {
		for i := range 10000 {
			if !yield(&api.Line{Number: i, Message: "hello\n"}, nil) {
				return
			}
		}
		yield(nil, broken)
	})
	if !errors.Is(err, broken) || rpc.OutcomeOf(err) != rpc.Refused {
		t.Errorf("Upload() = %v (%v), want the error of the log, refused", err, rpc.OutcomeOf(err))
	}
	if log, err := w.Log(step.ID); err == nil {
		t.Errorf("there is a log of %d lines, want none", len(log))
	}
	if err := c.Upload(t.Context(), step.ID, rpc.LinesOf(nil)); err != nil {
		t.Errorf("next Upload() = %v, want no error", err)
	}
}

func TestCardIsStoredThroughMishaps(t *testing.T) {
	eachMishap(t, dronetest.UploadCard, func(t *testing.T, w fake, c *rpc.Client, befall func()) {
		befall()
		card := &api.CardInput{Schema: "https://example.com/card.json", Data: []byte(`{"a":1}`)}
		if err := c.UploadCard(t.Context(), 3, card); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(card, w.Card(3)); diff != "" {
			t.Errorf("card (-sent +stored):\n%s", diff)
		}
	})
}

func TestOldServerHasNoCards(t *testing.T) {
	w := newFake(t, func(o *dronetest.Options) { o.Old = true })
	err := newClient(t, w).UploadCard(t.Context(), 3, &api.CardInput{Data: []byte(`{}`)})
	if !errors.Is(err, rpc.ErrNotFound) || rpc.OutcomeOf(err) != rpc.Refused {
		t.Errorf("UploadCard() = %v, want ErrNotFound, refused", err)
	}
}

// An old server's answer lacks what it does not know; the runner must not lose it by that.
func TestOldServersAnswerTakesNothingAway(t *testing.T) {
	w := newFake(t, func(o *dronetest.Options) { o.Old = true })
	c := newClient(t, w)
	w.enqueue(t, pipeline("docker", ""))
	stage := running(accept(t.Context(), t, c, "docker"), "clone", "build")
	stage.Steps[1].Image, stage.Steps[1].DependsOn = "golang", []string{"clone"}
	started, err := c.StartStage(t.Context(), stage)
	if err != nil {
		t.Fatal(err)
	}
	step, err := c.ReportStep(t.Context(), with(started.Steps[1], api.StatusRunning, 0))
	if err != nil || step.Image != "golang" || !slices.Equal(step.DependsOn, []string{"clone"}) {
		t.Errorf("ReportStep() = %+v, %v, want image and dependencies", step, err)
	}
}
