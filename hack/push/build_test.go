//go:build e2e

package push

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/drone/drone-go/drone"

	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/expect"
)

// patience is how long a build may take on a slow machine with many others.
const patience = 6 * time.Minute

// build is a build as its Drone server shows it.
type build struct {
	*repo
	number int64
}

func (r *repo) build(number int64) *build {
	b := &build{r, number}
	r.t.Cleanup(func() {
		if r.t.Failed() {
			r.t.Log(b.describe(context.Background()))
		}
	})
	return b
}

func (b *build) path(below string) string {
	return b.repo.path(fmt.Sprintf("/builds/%d%s", b.number, below))
}

// get is the build as it is now.
func (b *build) get() *drone.Build {
	b.t.Helper()
	found := &drone.Build{}
	b.drone(http.MethodGet, b.path(""), nil, found)
	return found
}

// waitFor waits until the build is as wanted.
func (b *build) waitFor(what string, wanted func(*drone.Build) bool) (found *drone.Build) {
	b.t.Helper()
	b.poll(fmt.Sprintf("%s (build %d of %s)", what, b.number, b.slug), patience, func() bool {
		found = b.get()
		return wanted(found)
	})
	return found
}

// ended waits until the build has ended.
func (b *build) ended() *drone.Build {
	b.t.Helper()
	return b.waitFor("the build has ended", func(found *drone.Build) bool { return isOver(found.Status) })
}

func isOver(status string) bool {
	return slices.Contains([]string{
		drone.StatusPassing, drone.StatusFailing, drone.StatusKilled, drone.StatusError, drone.StatusSkipped, drone.StatusDeclined,
	}, status)
}

// running waits until a step runs.
func (b *build) running(step string) *drone.Build {
	b.t.Helper()
	return b.waitFor("step "+step+" runs", func(found *drone.Build) bool {
		s := stepOf(found, step)
		if isOver(found.Status) {
			b.t.Fatalf("the build has ended before step %q was seen running", step)
		}
		return s != nil && s.Status == drone.StatusRunning
	})
}

func stepOf(b *drone.Build, name string) *drone.Step {
	for _, stage := range b.Stages {
		for _, s := range stage.Steps {
			if s.Name == name {
				return s
			}
		}
	}
	return nil
}

func (b *build) cancel() {
	b.t.Helper()
	b.drone(http.MethodDelete, b.path(""), nil, nil)
}

// restart makes a new build of the same commit.
func (b *build) restart() *build {
	b.t.Helper()
	return b.started(b.path(""))
}

func (b *build) promote(target string, params map[string]string) *build {
	b.t.Helper()
	return b.started(b.path("/promote?" + query(params, "target", target)))
}

func (b *build) rollback(target string, params map[string]string) *build {
	b.t.Helper()
	return b.started(b.path("/rollback?" + query(params, "target", target)))
}

// lines is the log of a step, by numbers. Drone has none of a step that never ran.
func (b *build) lines(ctx context.Context, stage, step int) (lines []*drone.Line, err error) {
	err = droneAPI.call(ctx, http.MethodGet, b.path(fmt.Sprintf("/logs/%d/%d", stage, step)), nil, &lines)
	return lines, err
}

// check waits for the end of a build of one stage, and compares it with what is expected.
func (b *build) check(want expect.Stage) {
	b.t.Helper()
	found := b.ended()
	if len(found.Stages) != 1 {
		b.t.Fatalf("the build has %d stages, want 1", len(found.Stages))
	}
	if found.Status != want.Result {
		b.t.Errorf("the build is %s, want %s", found.Status, want.Result)
	}
	b.checkStage(found, found.Stages[0], want)
}

// checkStages does the same with a build of several stages.
func (b *build) checkStages(result string, want map[string]expect.Stage) {
	b.t.Helper()
	found := b.waitFor("all stages are as wanted or have ended", func(found *drone.Build) bool {
		for _, stage := range found.Stages {
			if !isOver(stage.Status) && stage.Status != want[stage.Name].Result {
				return false
			}
		}
		return isOver(found.Status) || !isOver(result)
	})
	if found.Status != result {
		b.t.Errorf("the build is %s, want %s", found.Status, result)
	}
	if len(found.Stages) != len(want) {
		b.t.Errorf("the build has %d stages, want %d", len(found.Stages), len(want))
	}
	for _, stage := range found.Stages {
		if w, ok := want[stage.Name]; ok {
			b.checkStage(found, stage, w)
		} else {
			b.t.Errorf("stage %q is not expected", stage.Name)
		}
	}
}

func (b *build) checkStage(found *drone.Build, stage *drone.Stage, want expect.Stage) {
	b.t.Helper()
	o, faults := b.observe(stage)
	for _, fault := range append(faults, want.Compare(o)...) {
		b.t.Errorf("stage %q: %s", stage.Name, fault)
	}
}

// observe reads what the server shows of a stage. faults are what can be of no pipeline.
func (b *build) observe(stage *drone.Stage) (o *expect.Observed, faults []string) {
	b.t.Helper()
	faultf := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	o = &expect.Observed{Result: stage.Status, Error: stage.Error, Steps: map[string]*expect.Observation{}}
	if isOver(stage.Status) && (stage.Stopped < stage.Started || stage.Stopped == 0) {
		faultf("it started at %d and stopped at %d", stage.Started, stage.Stopped)
	}
	for i, step := range stage.Steps {
		if step.Number != i+1 {
			faultf("step %q has the number %d, want %d", step.Name, step.Number, i+1)
		}
		got := &expect.Observation{Outcome: step.Status, Error: step.Error, Runs: 1, Pod: b.pod(stage)}
		o.Steps[step.Name] = got
		// The server ends the stages of a cancelled build at once, and their steps end later.
		late := step.Stopped > stage.Stopped && stage.Status != drone.StatusKilled
		if isOver(step.Status) && (step.Stopped < step.Started || step.Stopped == 0 || late) {
			faultf("step %q started at %d and stopped at %d, its stage at %d", step.Name, step.Started, step.Stopped, stage.Stopped)
		}
		switch got.Start, got.End = time.Unix(step.Started, 0), time.Unix(step.Stopped, 0); step.Status {
		case drone.StatusSkipped:
			if step.ExitCode != 0 && step.ExitCode != cancelCode {
				faultf("step %q is skipped with exit code %d", step.Name, step.ExitCode)
			}
		case drone.StatusError:
			if step.ExitCode != 255 {
				faultf("step %q has exit code %d, want 255 with an error", step.Name, step.ExitCode)
			}
		case drone.StatusKilled:
			if step.ExitCode != 137 && step.ExitCode != cancelCode {
				faultf("step %q has exit code %d, want 137 or %d of one that was killed", step.Name, step.ExitCode, cancelCode)
			}
		default:
			got.Exit = int32(step.ExitCode)
		}
		lines, err := b.lines(b.t.Context(), stage.Number, step.Number)
		if err != nil && step.Status != drone.StatusSkipped {
			faultf("the log of step %q: %v", step.Name, err)
		}
		var text strings.Builder
		for i, line := range lines {
			if line.Number != i {
				faultf("line %d of the log of step %q has the number %d", i, step.Name, line.Number)
				break
			}
			text.WriteString(line.Message)
		}
		got.Log = text.String()
	}
	return o, faults
}

// pod stands for the pod of a stage's steps, where the policies have several steps in one.
func (b *build) pod(stage *drone.Stage) string {
	if strings.HasSuffix(b.slug, "-chains") || strings.HasSuffix(b.slug, "-pod") {
		return stage.Name
	}
	return ""
}

// cancelCode is the exit code that the server gives to the steps of a cancelled build.
const cancelCode = 130

// describe tells all that is known of a build, for a test that has failed.
func (b *build) describe(ctx context.Context) string {
	var text strings.Builder
	printf := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	found := &drone.Build{}
	if err := droneAPI.call(ctx, http.MethodGet, b.path(""), nil, found); err != nil {
		return err.Error()
	}
	since := func(at int64) int64 { return max(at-found.Created, -1) }
	printf("Build %d of %s: %s, %s of %s at %s", b.number, b.slug, found.Status, found.Event, found.Ref,
		time.Unix(found.Created, 0).Format(time.TimeOnly))
	for _, stage := range found.Stages {
		printf("stage %d (id %d) %q %s on %q, %d to %d s, exit %d, error %q", stage.Number, stage.ID, stage.Name, stage.Status,
			stage.Machine, since(stage.Started), since(stage.Stopped), stage.ExitCode, stage.Error)
		for _, step := range stage.Steps {
			printf("  step %d %q %s, %d to %d s, exit %d, error %q", step.Number, step.Name, step.Status, since(step.Started),
				since(step.Stopped), step.ExitCode, step.Error)
			lines, err := b.lines(ctx, stage.Number, step.Number)
			if err != nil {
				continue // It has none.
			}
			for i, line := range lines {
				if i < 20 || i >= len(lines)-20 {
					printf("    | %d %.300q", line.Number, line.Message)
				}
			}
		}
		for _, r := range allRunners() {
			text.WriteString(r.describe(ctx, stage.ID))
		}
	}
	return text.String()
}
