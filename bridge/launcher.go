package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	api "github.com/drone/drone-go/drone"
	"knative.dev/pkg/logging"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/bridge/compile"
	"github.com/drone-tekton/drone-runner-tekton/bridge/journal"
	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
	"github.com/drone-tekton/drone-runner-tekton/bridge/status"
	"github.com/drone-tekton/drone-runner-tekton/translate"
	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// detailer tells what has to be known to run a stage.
type detailer interface {
	Details(ctx context.Context, stageID int64) (*rpc.Details, error)
}

// starter takes stages and starts them.
type starter interface {
	Accept(ctx context.Context, stageID int64, machine string) (*rpc.Stage, error)
	StartStage(ctx context.Context, stage *rpc.Stage) (*rpc.Stage, error)
	detailer
}

// launcher takes a stage from the server and brings it to life in the cluster. Each of its steps can be done twice.
type launcher struct {
	server   starter
	clients  Clients
	journal  *journal.Store
	compiler *compile.Compiler
	teller   *teller
	values   *values
	events   *events
	options  Options
	metrics  *metrics
}

// acceptTimeout is how long one look at a stage waits for the server to give it; the next look goes on.
const acceptTimeout = 2 * time.Minute

// take takes a reserved stage. A stage that another runner has is forgotten.
func (l *launcher) take(ctx context.Context, s *session) error {
	e := s.entry
	accept, cancel := context.WithTimeout(ctx, acceptTimeout)
	defer cancel()
	stage, err := l.server.Accept(accept, e.StageID, e.Machine)
	switch {
	case errors.Is(err, rpc.ErrConflict), errors.Is(err, rpc.ErrNotFound):
		s.gone = true
		return l.journal.Remove(ctx, e)
	case err != nil:
		return fmt.Errorf("taking the stage: %w", err)
	}
	l.metrics.taken.Inc()
	e.Stage, e.Phase = stage, journal.Taken
	e.Stage.Steps = nil
	return l.journal.Save(ctx, e)
}

// giveUp is how long a stage that cannot be launched is tried, where the reason may pass.
const giveUp = 10 * time.Minute

// launch creates what runs a stage, and tells the server its steps. The PipelineRun comes first and pending, so that one
// object owns all others, and runs when everything is there.
func (l *launcher) launch(ctx context.Context, s *session) error {
	err := l.tryLaunch(ctx, s)
	if err == nil || ctx.Err() != nil || errors.Is(err, journal.ErrStale) {
		return err
	}
	reason := ""
	switch age := l.options.Clock.Since(s.entry.Reserved); {
	case compile.IsRefusal(err), refusedByCluster(err):
		reason = err.Error()
	case age > giveUp:
		reason = fmt.Sprintf("gave up after %s: %v", age.Round(time.Second), err)
	default:
		return err
	}
	logging.FromContext(ctx).Infow("Stage cannot run", "reason", reason)
	return l.teller.refuse(ctx, s, reason)
}

func (l *launcher) tryLaunch(ctx context.Context, s *session) error {
	e := s.entry
	d, err := l.server.Details(ctx, e.StageID)
	if err != nil {
		return fmt.Errorf("asking for the stage's details: %w", err)
	}
	e.Repo, e.Build = d.Repo.Slug, d.Build.Number
	if d.System != nil {
		e.Link = fmt.Sprintf("%s://%s/%s/%d", d.System.Proto, d.System.Host, d.Repo.Slug, d.Build.Number)
	}
	if d.Ended() {
		return l.teller.abandon(ctx, s)
	}
	w, err := l.compiler.Stage(ctx, d, e.Stage, e.Reserved)
	if err != nil {
		return err
	}
	if w.Bundle == nil {
		return l.start(ctx, s, nil)
	}
	if e.Run != w.Name || e.Namespace != w.Namespace {
		// Written down before the run is made: whoever cleans up has to know where to look.
		e.Namespace, e.Run, e.Timeout = w.Namespace, w.Name, w.Bundle.Plan.Timeout
		e.Warnings = warningsOf(w.Warnings)
		if err := l.journal.Save(ctx, e); err != nil {
			return err
		}
	}
	if _, err := createAll(ctx, l.clients, w, e); err != nil {
		return err
	}
	l.metrics.created.Observe(l.options.Clock.Since(e.Reserved).Seconds())
	l.values.keep(e.StageID, w.Values)
	return l.start(ctx, s, w.Bundle)
}

// maxWarnings bounds the lines that a log begins with. A pipeline with more has a fault that is repeated.
const maxWarnings = 20

// warningsOf are the lines for the author of a pipeline. What merely differs needs no change, and is not told each time.
func warningsOf(list diag.List) []string {
	var lines []string
	for _, d := range list.Sorted() {
		if d.Severity != diag.Info {
			lines = append(lines, d.String())
		}
	}
	if more := len(lines) - maxWarnings; more > 0 {
		lines = append(lines[:maxWarnings], fmt.Sprintf("%d more warnings: drone-runner-tekton lint tells them all", more))
	}
	return lines
}

// start tells the server that the stage runs, with all its steps, and keeps the ids that they get.
func (l *launcher) start(ctx context.Context, s *session, b *translate.Bundle) error {
	e := s.entry
	stage := e.Stage.Clone()
	stage.Status, stage.Started = api.StatusRunning, e.Reserved.Unix()
	var steps []*journal.Step
	if b != nil {
		steps = stepsOf(b)
	}
	for _, step := range steps {
		step.Told.StageID = stage.ID
		stage.Steps = append(stage.Steps, step.Told)
	}
	started, err := l.server.StartStage(ctx, stage)
	switch {
	case errors.Is(err, rpc.ErrEnded):
		return l.teller.abandon(ctx, s)
	case errors.Is(err, rpc.ErrConflict):
		logging.FromContext(ctx).Warnw("The stage has another runner now", "error", err)
		return l.teller.abandon(ctx, s)
	case err != nil:
		return fmt.Errorf("telling the server of the steps: %w", err)
	}
	for i, step := range steps {
		step.Told = started.Steps[i]
	}
	started.Steps = nil
	e.Stage, e.Steps, e.Phase = started, steps, journal.Running
	return l.journal.Save(ctx, e)
}

// stepsOf are the steps of a plan, as the server gets to know them and as they are found in the cluster.
func stepsOf(b *translate.Bundle) []*journal.Step {
	steps := make([]*journal.Step, len(b.Plan.Steps))
	for i, p := range b.Plan.Steps {
		step := &journal.Step{
			Step: status.Step{
				Number: p.Number, Name: p.Name, IgnoreFailure: p.IgnoreFailure, FailFast: p.FailFast, Detached: p.Detached,
				OnlyOnFailure: p.Policy == translate.OnFailure,
			},
			Told: &rpc.Step{Step: api.Step{
				Number: p.Number, Name: p.Name, Status: api.StatusPending, ErrIgnore: p.IgnoreFailure,
				Detached: p.Detached, Image: p.Spec.Image,
			}},
		}
		for _, n := range p.Needs {
			step.Told.DependsOn = append(step.Told.DependsOn, n.Name)
		}
		for _, u := range b.Units {
			if u.Step == p {
				step.Units = append(step.Units, status.Unit{Task: u.Task, Pod: u.Pod, Container: u.Container})
			}
		}
		steps[i] = step
	}
	return steps
}

// release lets a pending run go. It is the first thing done with a run whose stage the server knows to be running.
func (l *launcher) release(ctx context.Context, s *session, run *v1.PipelineRun) error {
	if run == nil || run.Spec.Status != v1.PipelineRunSpecStatusPending || s.entry.Ending != nil {
		return nil
	}
	if s.released {
		return nil // The mirror does not have it yet.
	}
	if err := setRunStatus(ctx, l.clients, run, ""); err != nil {
		return fmt.Errorf("starting the PipelineRun: %w", err)
	}
	s.released = true
	l.events.started(run)
	return nil
}
