package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	api "github.com/drone/drone-go/drone"
	"github.com/google/go-cmp/cmp"

	"github.com/drone-tekton/drone-runner-tekton/bridge/dronetest"
	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
)

// The contract: what the client relies on in a server. These tests run against the fake server, and with the build tag
// e2e against a real one, so that the fake is as good as its word. Each has a stage type of its own, since all share
// the one queue of a real server.

func pipeline(typ, rest string) string {
	return "kind: pipeline\ntype: " + typ + "\nname: one\n" + rest + "steps:\n- name: build\n  image: golang\n"
}

func TestContractPingTellsWhetherTheSecretIsRight(t *testing.T) {
	w := newWorld(t)
	if err := newClient(t, w).Ping(t.Context()); err != nil {
		t.Errorf("Ping() = %v, want no error", err)
	}
	wrong := newClient(t, w, func(o *rpc.Options) { o.Secret = "wrong" })
	if err := wrong.Ping(t.Context()); !errors.Is(err, rpc.ErrUnauthorized) {
		t.Errorf("Ping() with a wrong secret = %v, want ErrUnauthorized", err)
	}
}

func TestContractStageIsOfferedAgainUntilSomebodyAcceptsIt(t *testing.T) {
	w := newWorld(t)
	c := newClient(t, w)
	b := w.enqueue(t, pipeline("offered", ""))
	filter := rpc.Filter{Kind: "pipeline", Type: "offered"}
	for range 2 {
		stage, err := c.Request(t.Context(), filter)
		if err != nil || stage.ID != b.Stages[0].ID || stage.Machine != "" {
			t.Fatalf("Request() = %v, %v, want stage %d without a machine", stage, err, b.Stages[0].ID)
		}
	}
	if _, err := c.Accept(t.Context(), b.Stages[0].ID, machine); err != nil {
		t.Fatal(err)
	}
	offersNothing(t, w, "after Accept()", filter)
}

// offersNothing checks that a poll passes in vain. It is not made with the client, which would make the next one at
// once: to break that off can stall the queue of an old server.
func offersNothing(t *testing.T, w world, when string, filter rpc.Filter) {
	t.Helper()
	body, err := json.Marshal(filter)
	if err != nil {
		t.Fatal(err)
	}
	if status, answer := raw(t, w, w.secret(), http.MethodPost, "stage", string(body)); status != http.StatusNoContent {
		t.Errorf("request %s: %d %s, want nothing", when, status, answer)
	}
}

func TestContractStageIsOfferedToEqualLabelsOnly(t *testing.T) {
	w := newWorld(t)
	c := newClient(t, w)
	b := w.enqueue(t, pipeline("labels", "node: {zone: a}\n"))
	for name, labels := range map[string]map[string]string{
		"none": nil, "other": {"zone": "b"}, "more": {"zone": "a", "disk": "ssd"},
	} {
		offersNothing(t, w, "with labels "+name, rpc.Filter{Kind: "pipeline", Type: "labels", Labels: labels})
	}
	equal := map[string]string{"zone": "a"}
	stage, err := c.Request(t.Context(), rpc.Filter{Kind: "pipeline", Type: "labels", Labels: equal})
	if err != nil || stage.ID != b.Stages[0].ID {
		t.Errorf("Request() with equal labels = %v, %v, want stage %d", stage, err, b.Stages[0].ID)
	}
}

func TestContractPlatformIsComparedOnlyIfTheRunnerNamesOne(t *testing.T) {
	w := newWorld(t)
	c := newClient(t, w)
	b := w.enqueue(t, pipeline("platform", "platform: {os: linux, arch: arm64}\n"))
	offersNothing(t, w, "for amd64", rpc.Filter{Type: "platform", OS: "linux", Arch: "amd64"})
	for _, f := range []rpc.Filter{{Type: "platform"}, {Type: "platform", OS: "linux", Arch: "arm64"}} {
		if stage, err := c.Request(t.Context(), f); err != nil || stage.ID != b.Stages[0].ID {
			t.Errorf("Request(%+v) = %v, %v, want stage %d", f, stage, err, b.Stages[0].ID)
		}
	}
}

func TestContractAcceptIsForOneRunner(t *testing.T) {
	w := newWorld(t)
	c := newClient(t, w)
	b := w.enqueue(t, pipeline("accept", ""))
	offered, err := c.Request(t.Context(), rpc.Filter{Type: "accept"})
	if err != nil {
		t.Fatal(err)
	}
	stage, err := c.Accept(t.Context(), offered.ID, machine)
	if err != nil {
		t.Fatal(err)
	}
	if stage.Machine != machine || stage.Version != offered.Version+1 || stage.BuildID != b.ID {
		t.Errorf("Accept() = machine %q, version %d, build %d, want %q, %d, %d",
			stage.Machine, stage.Version, stage.BuildID, machine, offered.Version+1, b.ID)
	}
	_, err = c.Accept(t.Context(), offered.ID, "runner-2")
	if !errors.Is(err, rpc.ErrConflict) || rpc.OutcomeOf(err) != rpc.Refused {
		t.Errorf("Accept() by another runner = %v (%v), want ErrConflict, refused", err, rpc.OutcomeOf(err))
	}
	again, err := c.Accept(t.Context(), offered.ID, machine)
	if err != nil || again.Version != stage.Version {
		t.Errorf("second Accept() = %v, %v, want the stage that is ours", again, err)
	}
	_, err = c.Accept(t.Context(), 987654321, machine)
	if !errors.Is(err, rpc.ErrNotFound) {
		t.Errorf("Accept() of no stage = %v, want ErrNotFound", err)
	}
}

func TestContractAcceptDoesNotLookWhetherTheBuildWasCancelled(t *testing.T) {
	w := newWorld(t)
	c := newClient(t, w)
	b := w.enqueue(t, pipeline("accept-cancelled", ""))
	w.cancel(t, b)
	stage, err := c.Accept(t.Context(), b.Stages[0].ID, machine)
	if err != nil || stage.Status != api.StatusPending {
		t.Fatalf("Accept() of a cancelled stage = %v, %v, want a pending stage", stage, err)
	}
	d, err := c.Details(t.Context(), stage.ID)
	if err != nil || !d.Ended() {
		t.Errorf("Details().Ended() = %v, %v, want true", d.Ended(), err)
	}
}

func TestContractDetailsHasAllButSteps(t *testing.T) {
	w := newWorld(t)
	c := newClient(t, w)
	second := strings.Replace(pipeline("details", "depends_on: [one]\n"), "name: one", "name: two", 1)
	config := pipeline("details", "") + "---\n" + second
	b := w.enqueue(t, config)
	stage := start(t.Context(), t, c, "details", "clone", "build")
	d, err := c.Details(t.Context(), stage.ID)
	if err != nil {
		t.Fatal(err)
	}
	if string(d.Config.Data) != config {
		t.Errorf("Config.Data = %q, want %q", d.Config.Data, config)
	}
	if d.Stage.ID != stage.ID || d.Stage.Version != stage.Version || d.Stage.Machine != machine || d.Stage.Steps != nil {
		t.Errorf("Stage = %+v, want stage %d, version %d of %s, without steps", d.Stage, stage.ID, stage.Version, machine)
	}
	if d.Stage.RepoID != d.Repo.ID {
		t.Errorf("Stage.RepoID = %d, want %d", d.Stage.RepoID, d.Repo.ID)
	}
	if d.Build.ID != b.ID || d.Build.Status != api.StatusRunning || len(d.Build.Stages) != 2 {
		t.Errorf("Build = %+v, want running build %d with 2 stages", d.Build, b.ID)
	}
	if d.Repo.Slug == "" || d.Repo.Branch == "" || d.Repo.HTTPURL == "" || len(d.Repo.Secret) != 32 {
		t.Errorf("Repo = %+v, want slug, branch, address and a secret of 32 bytes", d.Repo)
	}
	if d.Netrc != nil {
		t.Errorf("Netrc of a public repository = %v, want nil", d.Netrc)
	}
	if d.System == nil || d.System.Host == "" {
		t.Errorf("System = %v, want a host", d.System)
	}
	if d.Ended() {
		t.Error("Ended() = true, want false")
	}
	if _, err := c.Details(t.Context(), 987654321); !errors.Is(err, rpc.ErrNotFound) {
		t.Errorf("Details() of no stage = %v, want ErrNotFound", err)
	}
}

func TestContractRunningStageHasItsStepsInserted(t *testing.T) {
	w := newWorld(t)
	c := newClient(t, w)
	b := w.enqueue(t, pipeline("insert", ""))
	accepted := accept(t.Context(), t, c, "insert")
	stage, err := c.UpdateStage(t.Context(), running(accepted, "clone", "build"))
	if err != nil {
		t.Fatal(err)
	}
	if stage.Version != accepted.Version+1 {
		t.Errorf("stage version = %d, want %d", stage.Version, accepted.Version+1)
	}
	got := w.build(t, b)
	if got.Status != api.StatusRunning || got.Started == 0 {
		t.Errorf("build is %s since %d, want running", got.Status, got.Started)
	}
	rows := got.Stages[0].Steps
	if len(rows) != 2 || len(stage.Steps) != 2 {
		t.Fatalf("there are %d steps, %d in the answer, want 2", len(rows), len(stage.Steps))
	}
	for i, step := range stage.Steps {
		if step.ID != rows[i].ID || step.ID == 0 || step.Version != 1 || step.StageID != stage.ID {
			t.Errorf("step %d = id %d, version %d, stage %d, want %d, 1, %d",
				i+1, step.ID, step.Version, step.StageID, rows[i].ID, stage.ID)
		}
	}
}

func TestContractStepsAreInsertedOnce(t *testing.T) {
	w := newWorld(t)
	c := newClient(t, w)
	b := w.enqueue(t, pipeline("insert-once", ""))
	accepted := accept(t.Context(), t, c, "insert-once")
	first, err := c.UpdateStage(t.Context(), running(accepted, "clone", "build"))
	if err != nil {
		t.Fatal(err)
	}

	// With the version of before, the stage is refused before any step.
	if _, err := c.UpdateStage(t.Context(), running(accepted, "clone", "build")); !errors.Is(err, rpc.ErrConflict) {
		t.Errorf("second update with the old version = %v, want ErrConflict", err)
	}

	// With the version of now, the stage is written, and the first step is one too many.
	again := running(accepted, "clone", "build")
	again.Version = first.Version
	_, err = c.UpdateStage(t.Context(), again)
	if !errors.Is(err, rpc.ErrExists) || rpc.OutcomeOf(err) != rpc.Unknown {
		t.Errorf("second update with the new version = %v (%v), want ErrExists, outcome unknown", err, rpc.OutcomeOf(err))
	}
	stage := w.build(t, b).Stages[0]
	if len(stage.Steps) != 2 {
		t.Errorf("there are %d steps, want 2", len(stage.Steps))
	}
	d, err := c.Details(t.Context(), stage.ID)
	if err != nil {
		t.Fatal(err)
	}
	if d.Stage.Version != first.Version+1 {
		t.Errorf("stage version after the failed insert = %d, want %d", d.Stage.Version, first.Version+1)
	}
}

func TestContractFieldsThatAreNotSentBackAreErased(t *testing.T) {
	w := newWorld(t)
	c := newClient(t, w)
	b := w.enqueue(t, pipeline("erase",
		"trigger: {status: [success, failure]}\nplatform: {os: linux, arch: arm64, variant: v8}\n"))
	accepted := accept(t.Context(), t, c, "erase")
	if !accepted.OnFailure || accepted.Arch != "arm64" {
		t.Fatalf("accepted stage = %+v, want on failure too, for arm64", accepted)
	}

	// The client sends back all that it got.
	stage, err := c.UpdateStage(t.Context(), running(accepted, "build"))
	if err != nil {
		t.Fatal(err)
	}
	got := w.build(t, b).Stages[0]
	if !got.OnSuccess || !got.OnFailure || got.Arch != "arm64" || got.Variant != "v8" || got.Machine != machine {
		t.Errorf("stage = %+v, want all fields as they were", got)
	}

	// A bare stage takes them away.
	bare := &rpc.Stage{Stage: api.Stage{
		ID: stage.ID, BuildID: stage.BuildID, Version: stage.Version, Status: api.StatusPassing,
	}}
	if _, err := c.UpdateStage(t.Context(), bare); err != nil {
		t.Fatal(err)
	}
	got = w.build(t, b).Stages[0]
	if got.OnSuccess || got.OnFailure || got.Arch != "" || got.Machine != "" {
		t.Errorf("stage after a bare update = %+v, want its fields erased", got)
	}
	if got.Name != "one" || got.Type != "erase" || got.Number != 1 {
		t.Errorf("stage after a bare update = %+v, want name, type and number, which no update writes", got)
	}
}

func TestContractStepIsUpdatedFromItsVersionOnly(t *testing.T) {
	w := newWorld(t)
	c := newClient(t, w)
	b := w.enqueue(t, pipeline("step-version", ""))
	stage := start(t.Context(), t, c, "step-version", "build")
	step, err := c.UpdateStep(t.Context(), with(stage.Steps[0], api.StatusRunning, 0))
	if err != nil || step.Version != 2 {
		t.Fatalf("UpdateStep() = %+v, %v, want version 2", step, err)
	}
	// The real server answers 409 to the one and 500 to the other.
	for _, status := range []string{api.StatusRunning, api.StatusPassing} {
		_, err := c.UpdateStep(t.Context(), with(stage.Steps[0], status, 0))
		if !errors.Is(err, rpc.ErrConflict) || rpc.OutcomeOf(err) != rpc.Refused {
			t.Errorf("UpdateStep() to %s with the old version = %v, want ErrConflict, refused", status, err)
		}
	}
	step, err = c.UpdateStep(t.Context(), with(step, api.StatusFailing, 3))
	if err != nil || step.Version != 3 {
		t.Fatalf("UpdateStep() = %+v, %v, want version 3", step, err)
	}
	row := w.build(t, b).Stages[0].Steps[0]
	if row.Status != api.StatusFailing || row.ExitCode != 3 || row.Version != 3 || row.Started == 0 || row.Stopped == 0 {
		t.Errorf("step = %+v, want failure, exit code 3, version 3", row)
	}
}

func TestContractErrorsAreCutBetweenCharacters(t *testing.T) {
	w := newWorld(t)
	c := newClient(t, w)
	b := w.enqueue(t, pipeline("error-cut", ""))
	stage := start(t.Context(), t, c, "error-cut", "build")
	text := "x\x00" + strings.Repeat("ä", 400)
	want := "x\uFFFD" + strings.Repeat("ä", 246) + "…"
	step := with(stage.Steps[0], api.StatusError, 255)
	step.Error = text
	if _, err := c.ReportStep(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	stage = finished(stage, api.StatusError)
	stage.Error = text
	if _, err := c.FinishStage(t.Context(), stage); err != nil {
		t.Fatal(err)
	}
	got := w.build(t, b).Stages[0]
	if diff := cmp.Diff([]string{want, want}, []string{got.Steps[0].Error, got.Error}); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func TestContractLiveLogIsOpenWhileTheStepRuns(t *testing.T) {
	w := newWorld(t)
	c := newClient(t, w)
	w.enqueue(t, pipeline("live-log", ""))
	stage := start(t.Context(), t, c, "live-log", "build")
	step := stage.Steps[0]
	send := func(when string, want error) {
		t.Helper()
		err := c.Batch(t.Context(), step.ID, []*api.Line{{Number: 0, Message: "hello\n"}})
		if !errors.Is(err, want) {
			t.Errorf("Batch() %s = %v, want %v", when, err, want)
		}
	}
	send("before the step runs", rpc.ErrNoStream)
	step, err := c.ReportStep(t.Context(), with(step, api.StatusRunning, 0))
	if err != nil {
		t.Fatal(err)
	}
	send("while the step runs", nil)
	if step, err = c.ReportStep(t.Context(), with(step, api.StatusPassing, 0)); err != nil {
		t.Fatal(err)
	}
	send("after the step", rpc.ErrNoStream)
}

func TestContractLogIsUploadedOnce(t *testing.T) {
	w := newWorld(t)
	c := newClient(t, w)
	b := w.enqueue(t, pipeline("upload", ""))
	stage := start(t.Context(), t, c, "upload", "build", "empty")
	lines := []*api.Line{
		{Number: 0, Message: "<a> & \"b\"\n"},
		{Number: 1, Message: strings.Repeat("long ", 1<<17) + "\n", Timestamp: 7},
	}
	if err := c.Upload(t.Context(), stage.Steps[0].ID, rpc.LinesOf(lines)); err != nil {
		t.Fatal(err)
	}
	if err := c.Upload(t.Context(), stage.Steps[1].ID, rpc.LinesOf(nil)); err != nil {
		t.Fatal(err)
	}
	err := c.Upload(t.Context(), stage.Steps[0].ID, rpc.LinesOf(nil))
	if !errors.Is(err, rpc.ErrExists) || rpc.OutcomeOf(err) != rpc.Refused {
		t.Errorf("second Upload() = %v (%v), want ErrExists, refused", err, rpc.OutcomeOf(err))
	}
	if diff := cmp.Diff(lines, w.log(t, b, 1, 1)); diff != "" {
		t.Errorf("log (-sent +stored):\n%s", diff)
	}
	if got := w.log(t, b, 1, 2); len(got) != 0 {
		t.Errorf("empty log = %v, want no lines", got)
	}
}

func TestContractCancelEndsEverythingOnTheServer(t *testing.T) {
	w := newWorld(t)
	c := newClient(t, w)
	b := w.enqueue(t, pipeline("cancel", ""))
	stage := start(t.Context(), t, c, "cancel", "done", "running", "pending")
	step := func(i int, status string) *rpc.Step {
		t.Helper()
		s, err := c.ReportStep(t.Context(), with(stage.Steps[i], status, 0))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	step(0, api.StatusPassing)
	current := step(1, api.StatusRunning)
	w.cancel(t, b)

	got := w.build(t, b)
	type row struct {
		Status string
		Exit   int
	}
	rows := []row{{got.Status, 0}, {got.Stages[0].Status, got.Stages[0].ExitCode}}
	for _, s := range got.Stages[0].Steps {
		rows = append(rows, row{s.Status, s.ExitCode})
	}
	want := []row{{"killed", 0}, {"killed", 0}, {"success", 0}, {"killed", 130}, {"skipped", 130}}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("build, stage, steps (-want +got):\n%s", diff)
	}

	// The runner hears of it from each of its updates.
	for _, status := range []string{api.StatusRunning, api.StatusPassing} {
		if _, err := c.UpdateStep(t.Context(), with(current, status, 0)); !errors.Is(err, rpc.ErrConflict) {
			t.Errorf("UpdateStep() to %s = %v, want ErrConflict", status, err)
		}
		if _, err := c.ReportStep(t.Context(), with(current, status, 0)); !errors.Is(err, rpc.ErrEnded) {
			t.Errorf("ReportStep() of %s = %v, want ErrEnded", status, err)
		}
	}
	if _, err := c.FinishStage(t.Context(), finished(stage, api.StatusPassing)); !errors.Is(err, rpc.ErrEnded) {
		t.Errorf("FinishStage() = %v, want ErrEnded", err)
	}
	// Logs go by another way.
	if err := c.Upload(t.Context(), current.ID, rpc.LinesOf(nil)); err != nil {
		t.Errorf("Upload() = %v, want no error", err)
	}
	if diff := cmp.Diff(got, w.build(t, b)); diff != "" {
		t.Errorf("build after the runner's updates (-before +after):\n%s", diff)
	}
}

func TestContractCancelOfAPendingBuildSkipsItsStages(t *testing.T) {
	w := newWorld(t)
	c := newClient(t, w)
	b := w.enqueue(t, pipeline("cancel-pending", ""))
	stage := accept(t.Context(), t, c, "cancel-pending")
	w.cancel(t, b)
	got := w.build(t, b)
	if got.Status != api.StatusKilled || got.Stages[0].Status != api.StatusSkipped {
		t.Errorf("build is %s, stage %s, want killed, skipped", got.Status, got.Stages[0].Status)
	}
	if _, err := c.StartStage(t.Context(), running(stage, "build")); !errors.Is(err, rpc.ErrEnded) {
		t.Errorf("StartStage() = %v, want ErrEnded", err)
	}
	if got := w.build(t, b).Stages[0]; got.Status != api.StatusSkipped || len(got.Steps) != 0 {
		t.Errorf("stage is %s with %d steps, want skipped with none", got.Status, len(got.Steps))
	}
}

func TestContractWatchHearsOfACancellation(t *testing.T) {
	w := newWorld(t)
	c := newClient(t, w)
	b := w.enqueue(t, pipeline("watch", ""))
	other := w.enqueue(t, pipeline("watch-other", ""))
	heard := make(chan error, 1)
	go func() { heard <- c.Watch(t.Context(), b.ID) }()
	ctx, cancel := context.WithTimeout(t.Context(), w.poll()*3/2)
	defer cancel()
	// In this time, the poll of the build passes in vain, and is made again.
	if err := c.Watch(ctx, other.ID); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Watch() of a build that goes on = %v, want its context's error", err)
	}
	w.cancel(t, b)
	if err := <-heard; err != nil {
		t.Errorf("Watch() of a cancelled build = %v, want no error", err)
	}
}

func TestContractWatchDoesNotHearOfAnEarlierCancellation(t *testing.T) {
	w := newWorld(t)
	c := newClient(t, w)
	b := w.enqueue(t, pipeline("watch-late", ""))
	w.cancel(t, b)
	ctx, cancel := context.WithTimeout(t.Context(), w.poll()*3/2)
	defer cancel()
	if err := c.Watch(ctx, b.ID); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Watch() = %v, want nothing until the deadline", err)
	}
}

func TestContractStageEndsTheBuild(t *testing.T) {
	for _, status := range []string{api.StatusPassing, api.StatusFailing, api.StatusError, api.StatusKilled} {
		t.Run(status, func(t *testing.T) {
			w := newWorld(t)
			c := newClient(t, w)
			b := w.enqueue(t, pipeline("end-"+status, ""))
			stage := start(t.Context(), t, c, "end-"+status, "build")
			if _, err := c.FinishStage(t.Context(), finished(stage, status)); err != nil {
				t.Fatal(err)
			}
			got := w.build(t, b)
			if got.Status != status || got.Finished == 0 || got.Stages[0].Status != status || got.Stages[0].Stopped == 0 {
				t.Errorf("build is %s, stage %s, want %s", got.Status, got.Stages[0].Status, status)
			}
		})
	}
}

func TestContractWaitingStagesAreScheduledOrSkipped(t *testing.T) {
	stage := func(typ, name, rest string) string {
		return "---\n" + strings.Replace(pipeline(typ, rest), "name: one", "name: "+name, 1)
	}
	for _, test := range []struct {
		first string
		next  string // The stage that is offered next.
		want  []string
		build string
	}{
		{api.StatusPassing, "then", []string{"success", "success", "skipped", "skipped"}, "success"},
		{api.StatusFailing, "rescue", []string{"failure", "skipped", "success", "skipped"}, "failure"},
	} {
		t.Run(test.first, func(t *testing.T) {
			w := newWorld(t)
			c := newClient(t, w)
			typ := "depends-" + test.first
			b := w.enqueue(t, stage(typ, "one", "")+
				stage(typ, "then", "depends_on: [one]\n")+
				stage(typ, "rescue", "depends_on: [one]\ntrigger: {status: [failure]}\n")+
				stage(typ, "after", "depends_on: [rescue]\ntrigger: {status: {include: [failure], exclude: [success, failure]}}\n"))
			statuses := func() []string {
				var all []string
				for _, s := range w.build(t, b).Stages {
					all = append(all, s.Status)
				}
				return all
			}
			const waiting = api.StatusWaiting
			if diff := cmp.Diff([]string{"pending", waiting, waiting, waiting}, statuses()); diff != "" {
				t.Errorf("stages before (-want +got):\n%s", diff)
			}
			for _, run := range []struct{ name, status string }{{"one", test.first}, {test.next, api.StatusPassing}} {
				s := start(t.Context(), t, c, typ, "build")
				if s.Name != run.name {
					t.Errorf("offered stage is %q, want %q", s.Name, run.name)
				}
				if _, err := c.FinishStage(t.Context(), finished(s, run.status)); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(test.want, statuses()); diff != "" {
				t.Errorf("stages after (-want +got):\n%s", diff)
			}
			if got := w.build(t, b).Status; got != test.build {
				t.Errorf("build is %s, want %s", got, test.build)
			}
		})
	}
}

func TestContractConcurrencyLimitHoldsBackYoungerBuilds(t *testing.T) {
	w := newWorld(t)
	c := newClient(t, w)
	// The limit is for pipelines of one name in one repository, and all tests share that.
	config := strings.Replace(pipeline("limit", "concurrency: {limit: 1}\n"), "name: one", "name: limited", 1)
	older, younger := w.enqueue(t, config), w.enqueue(t, config)
	stage := start(t.Context(), t, c, "limit", "build")
	if stage.BuildID != older.ID {
		t.Fatalf("offered build %d, want %d", stage.BuildID, older.ID)
	}
	offersNothing(t, w, "while the older build runs", rpc.Filter{Type: "limit"})
	if _, err := c.FinishStage(t.Context(), finished(stage, api.StatusPassing)); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Request(t.Context(), rpc.Filter{Type: "limit"}); err != nil || s.BuildID != younger.ID {
		t.Errorf("Request() = %v, %v, want build %d", s, err, younger.ID)
	}
}

// The answers themselves, which the client hides. The real server to compare with is one of the 2.0 series.
func TestContractAnswersToTheLetter(t *testing.T) {
	w := newWorld(t, func(o *dronetest.Options) { o.Old = true })
	c := newClient(t, w)
	w.enqueue(t, pipeline("letter", ""))
	stage := start(t.Context(), t, c, "letter", "build")
	encode := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	stale := func(status string) string {
		step := with(stage.Steps[0], status, 0)
		step.Version = 99
		return encode(step)
	}
	again := running(stage, "build")
	again.Steps[0].StageID = stage.ID
	nobodys := stage.Clone()
	nobodys.BuildID = 987654321
	last := finished(stage, api.StatusPassing)
	last.Steps = []*rpc.Step{with(stage.Steps[0], api.StatusPassing, 0)}
	last.Steps[0].Version = 99
	stages, step := fmt.Sprintf("stage/%d", stage.ID), fmt.Sprintf("step/%d", stage.Steps[0].ID)
	const (
		conflict = "Optimistic Lock Error"
		noRows   = "sql: no rows in result set"
		line     = `[{"pos":0,"out":"x","time":0}]`
	)
	batch, upload := step+"/logs/batch", step+"/logs/upload"
	for _, test := range []struct {
		name, method, path, body string
		status                   int
		answer                   string
	}{
		{"ping", "POST", "ping", "", 200, ""},
		{"accept of no stage", "POST", "stage/987654321?machine=m", "", 500, noRows},
		{"accept of a stage that is taken", "POST", stages + "?machine=m", "", 409, conflict},
		{"details of no stage", "GET", "stage/987654321", "", 500, noRows},
		{"filter that is no JSON", "POST", "stage", "", 500, "EOF"},
		{"stage of no build", "PUT", stages, encode(nobodys), 500, noRows},
		{"steps inserted twice", "PUT", stages, encode(again), 500,
			"UNIQUE constraint failed: steps.step_stage_id, steps.step_number"},
		{"stage with the version of before", "PUT", stages, encode(again), 409, conflict},
		{"stage with a stale step", "PUT", stages, encode(last), 409, conflict},
		{"stale step that runs", "PUT", step, stale(api.StatusRunning), 409, conflict},
		{"lines for the log that this has opened", "POST", batch, line, 200, ""},
		{"stale step that ends", "PUT", step, stale(api.StatusPassing), 500, "1 error occurred:\n\t* " + conflict + "\n\n"},
		{"lines for the log that this has closed", "POST", batch, line, 500, "stream: not found"},
		{"no lines for no log", "POST", batch, `[]`, 200, ""},
		{"log of no step", "POST", "step/987654321/logs/upload", `[]`, 200, ""},
		{"log", "POST", upload, `[]`, 200, ""},
		{"second log", "POST", upload, `[]`, 500, "UNIQUE constraint failed: logs.log_id"},
	} {
		status, answer := raw(t, w, w.secret(), test.method, test.path, test.body)
		if status != test.status || answer != test.answer {
			t.Errorf("%s: %d %q, want %d %q", test.name, status, answer, test.status, test.answer)
		}
	}
	if status, answer := raw(t, w, "wrong", "POST", "ping", ""); status != 401 || answer != "" {
		t.Errorf("wrong secret: %d %q, want 401", status, answer)
	}
	if status, _ := raw(t, w, w.secret(), "POST", step+"/card", `{"schema":"s","data":{}}`); status != 404 {
		t.Errorf("card on an old server: %d, want 404", status)
	}
}

// Texts are cut by bytes, and ids are taken from the body, not from the address.
func TestContractUpdateTakesIdsFromTheBody(t *testing.T) {
	w := newWorld(t)
	c := newClient(t, w)
	b := w.enqueue(t, pipeline("body", ""))
	stage := start(t.Context(), t, c, "body", "build")
	step := with(stage.Steps[0], api.StatusError, 1)
	step.Error = strings.Repeat("x", 501)
	body, err := json.Marshal(step)
	if err != nil {
		t.Fatal(err)
	}
	if status, answer := raw(t, w, w.secret(), "PUT", "step/987654321", string(body)); status != 200 {
		t.Fatalf("step: %d %q, want 200", status, answer)
	}
	last := finished(stage, api.StatusError)
	last.Steps, last.Error = nil, strings.Repeat("y", 501)
	if body, err = json.Marshal(last); err != nil {
		t.Fatal(err)
	}
	if status, answer := raw(t, w, w.secret(), "PUT", "stage/987654321", string(body)); status != 200 {
		t.Fatalf("stage: %d %q, want 200", status, answer)
	}
	got := w.build(t, b).Stages[0]
	if got.Error != strings.Repeat("y", 500) || got.Steps[0].Error != strings.Repeat("x", 500) {
		t.Errorf("errors have %d and %d bytes, want 500", len(got.Error), len(got.Steps[0].Error))
	}
}

// raw makes a call without the client.
func raw(t *testing.T, w world, secret, method, path, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, w.url()+"/rpc/v2/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Drone-Token", secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// lossy loses the first answer to each call.
type lossy struct {
	mu   sync.Mutex
	lost []string
}

func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if name := r.Method + " " + r.URL.Path; !slices.Contains(l.lost, name) {
		l.lost = append(l.lost, name)
		res.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return res, nil
}

func TestContractBuildEndsWellThoughAnswersAreLost(t *testing.T) {
	w := newWorld(t)
	client := func() *rpc.Client {
		return newClient(t, w, func(o *rpc.Options) { o.Transport = new(lossy) }) // Each loses the answers anew.
	}
	b := w.enqueue(t, pipeline("lossy", ""))
	stage, err := client().StartStage(t.Context(), running(accept(t.Context(), t, client(), "lossy"), "clone", "build"))
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range stage.Steps {
		for _, status := range []string{api.StatusRunning, api.StatusPassing} {
			if step, err = client().ReportStep(t.Context(), with(step, status, i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := client().Upload(t.Context(), step.ID, rpc.LinesOf([]*api.Line{{Message: step.Name}})); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client().FinishStage(t.Context(), finished(stage, api.StatusPassing)); err != nil {
		t.Fatal(err)
	}
	got := w.build(t, b)
	if got.Status != api.StatusPassing || got.Stages[0].Status != api.StatusPassing {
		t.Errorf("build is %s, stage %s, want success", got.Status, got.Stages[0].Status)
	}
	var rows []string
	for _, s := range got.Stages[0].Steps {
		rows = append(rows, fmt.Sprintf("%d %s %s %d", s.Number, s.Name, s.Status, s.ExitCode))
	}
	want := []string{"1 clone success 0", "2 build success 1"} // Though the answer that told their ids was lost.
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	for i, name := range []string{"clone", "build"} {
		if diff := cmp.Diff([]*api.Line{{Message: name}}, w.log(t, b, 1, i+1)); diff != "" {
			t.Errorf("log of step %d (-want +got):\n%s", i+1, diff)
		}
	}
}
