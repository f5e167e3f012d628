package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	api "github.com/drone/drone-go/drone"
	"knative.dev/pkg/logging"

	"github.com/drone-tekton/drone-runner-tekton/bridge/journal"
	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
	"github.com/drone-tekton/drone-runner-tekton/bridge/status"
)

// reporter takes what there is to tell about a stage.
type reporter interface {
	ReportStep(ctx context.Context, step *rpc.Step) (*rpc.Step, error)
	UpdateStep(ctx context.Context, step *rpc.Step) (*rpc.Step, error)
	FinishStage(ctx context.Context, stage *rpc.Stage) (*rpc.Stage, error)
}

// teller tells the server what it does not know yet, and writes down what it was told.
type teller struct {
	server  reporter
	journal *journal.Store
	events  *events
	options Options
	metrics *metrics
}

// tell tells the difference between what there is to tell and what was told, step by step, and reports whether all is
// told that there will ever be. The log of a step is complete on the server before its end is told.
func (t *teller) tell(ctx context.Context, s *session, a status.Answer) (all bool, err error) {
	all = a.Done
	dirty := false
	for i, step := range s.entry.Steps {
		changed, err := t.step(ctx, s, step, a.Steps[i], a.Done)
		dirty = dirty || changed
		if err != nil {
			return false, errors.Join(err, t.save(ctx, s, dirty))
		}
		all = all && status.Final(step.Told.Status)
	}
	dirty = t.cursors(s) || dirty
	return all, t.save(ctx, s, dirty)
}

func (t *teller) save(ctx context.Context, s *session, dirty bool) error {
	if !dirty {
		return nil
	}
	s.saved = t.options.Clock.Now()
	return t.journal.Save(ctx, s.entry)
}

// cursors takes over how far the live logs have come, now and then.
func (t *teller) cursors(s *session) bool {
	if t.options.Clock.Since(s.saved) < cursorEvery {
		return false
	}
	dirty := false
	for _, step := range s.entry.Steps {
		l := s.logs[step.Number]
		if l == nil || step.Uploaded {
			continue
		}
		if c := l.relay.Cursor(); c.Lines != step.Cursor.Lines || c.Next != step.Cursor.Next || len(c.Notes) != len(step.Cursor.Notes) || c.Container != step.Cursor.Container {
			step.Cursor, dirty = c, true
		}
	}
	return dirty
}

// step tells of one step.
func (t *teller) step(ctx context.Context, s *session, step *journal.Step, st status.State, over bool) (changed bool, err error) {
	if status.Final(step.Told.Status) {
		return false, nil // What was told once stays.
	}
	log := s.logs[step.Number]
	switch {
	case st.Status == api.StatusPending && st.Waiting != "":
		return t.wait(ctx, s, step, st)
	case st.Status == api.StatusPending:
		return false, nil
	case st.Status == api.StatusSkipped && step.Told.Status == api.StatusPending && log == nil && !step.Opened:
		st.Started, st.Stopped = t.options.Clock.Now(), t.options.Clock.Now()
		return t.report(ctx, s, step, st)
	case st.Status == api.StatusRunning && step.Told.Status == api.StatusPending:
		if changed, err = t.report(ctx, s, step, st); err != nil {
			return changed, err
		}
		t.metrics.started.Observe(t.options.Clock.Since(st.Started).Seconds())
	}
	if log == nil && !step.Uploaded {
		if log, err = t.open(ctx, s, step); err != nil {
			return changed, err
		}
	}
	if log != nil && st.Output != nil {
		log.follow(*st.Output)
	}
	if !status.Final(st.Status) {
		return changed, nil
	}
	// A step whose container is not known to have ended has no more to say once the run is over.
	if log != nil && !step.Uploaded {
		done, more, err := t.finishLog(ctx, s, step, log, st)
		changed = changed || more
		if err != nil || !done {
			return changed, err
		}
	}
	more, err := t.report(ctx, s, step, st)
	return changed || more, err
}

// open begins to carry a step's log. The first one of a stage begins with the warnings about the pipeline; that it does is
// written down first, so that no other one will.
func (t *teller) open(ctx context.Context, s *session, step *journal.Step) (*stepLog, error) {
	if e := s.entry; len(e.Warnings) > 0 {
		step.Warnings, e.Warnings = e.Warnings, nil
		if err := t.save(ctx, s, true); err != nil {
			return nil, err
		}
	}
	return s.open(s, step), nil
}

// finishLog has a step's log completed and uploaded, and reports whether it is.
func (t *teller) finishLog(ctx context.Context, s *session, step *journal.Step, log *stepLog, st status.State) (done, changed bool, err error) {
	if step.Told.Status == api.StatusRunning && st.Output == nil && !log.followed() {
		log.relay.Note("the rest of the log is missing: the pod was gone before the runner could read it")
	}
	if st.Error != "" {
		log.relay.Note(st.Error)
	}
	log.finish()
	schema, ended, err := log.result()
	switch {
	case !ended:
		return false, false, nil
	case err != nil && log.worthAnother(err):
		delete(s.logs, step.Number)
		return false, false, err
	case err != nil:
		logging.FromContext(ctx).Errorw("The log of a step is lost", "step", step.Name, "error", err)
	}
	delete(s.logs, step.Number)
	step.Uploaded, step.Schema, step.Cursor.Notes = true, schema, nil
	// Written down at once: the pod may be gone when it would be read again.
	return true, false, t.save(ctx, s, true)
}

// wait tells why a step does not run, in its log.
func (t *teller) wait(ctx context.Context, s *session, step *journal.Step, st status.State) (changed bool, err error) {
	if !step.Opened {
		// The server shows lines of a step only after it was told of the step.
		if changed, err = t.report(ctx, s, step, st); err != nil {
			return changed, err
		}
		step.Opened = true
	}
	log := s.logs[step.Number]
	if log == nil {
		if log, err = t.open(ctx, s, step); err != nil {
			return changed, err
		}
	}
	log.relay.Note(st.Waiting)
	return changed, nil
}

// report tells of a step once.
func (t *teller) report(ctx context.Context, s *session, step *journal.Step, st status.State) (changed bool, err error) {
	if s.entry.Ended && !status.Final(st.Status) {
		return false, nil // The server holds the step for ended. It is told how it really does.
	}
	told := step.Told.Clone()
	told.Status, told.ExitCode, told.Error = st.Status, st.ExitCode, st.Error
	told.Started, told.Stopped = unix(st.Started), unix(st.Stopped)
	if step.Schema != "" {
		told.Schema = step.Schema
	}
	if status.Final(st.Status) {
		if told.Stopped == 0 {
			told.Stopped = t.options.Clock.Now().Unix()
		}
		if told.Started == 0 {
			told.Started = told.Stopped
		}
	}
	call := t.server.ReportStep
	if s.entry.Ended {
		call = t.server.UpdateStep
	}
	answer, err := call(ctx, told)
	switch {
	case errors.Is(err, rpc.ErrEnded):
		// The user has cancelled the build, and the server has ended the step by itself.
		s.cancelled.Store(true)
		s.entry.Ended = true
		answer = told
		s.wake()
	case s.entry.Ended && isOver(err):
		answer = told
	case err != nil:
		return false, fmt.Errorf("telling of the step %s: %w", step.Name, err)
	}
	if s.entry.Ended && !status.Final(answer.Status) {
		return true, nil
	}
	step.Told = answer
	t.metrics.told.WithLabelValues(answer.Status).Inc()
	if d, ok := s.dues[step.Number]; ok && d.status == st.Status {
		t.metrics.delay.Observe(t.options.Clock.Since(d.since).Seconds())
	}
	if status.Final(st.Status) {
		logging.FromContext(ctx).Infow("Step ended", "step", step.Name, "status", st.Status, "exit", st.ExitCode)
	}
	return true, nil
}

// finish tells the end of the stage.
func (t *teller) finish(ctx context.Context, s *session, a status.Answer) error {
	return t.end(ctx, s, a.Status, a.ExitCode, a.Error)
}

// refuse ends a stage that could not be run.
func (t *teller) refuse(ctx context.Context, s *session, reason string) error {
	s.entry.Failure = reason
	return t.end(ctx, s, api.StatusError, 255, reason)
}

// abandon ends what is left of a stage that the server has ended, or given to somebody else.
func (t *teller) abandon(ctx context.Context, s *session) error {
	s.entry.Ended, s.entry.Phase = true, journal.Told
	t.metrics.finished.WithLabelValues(api.StatusKilled).Inc()
	return t.journal.Save(ctx, s.entry)
}

func (t *teller) end(ctx context.Context, s *session, to string, exit int, text string) error {
	e := s.entry
	stage := e.Stage.Clone()
	stage.Status, stage.ExitCode, stage.Error = to, exit, text
	stage.Stopped = t.options.Clock.Now().Unix()
	if stage.Started == 0 {
		stage.Started = e.Reserved.Unix()
	}
	finished, err := t.server.FinishStage(ctx, stage)
	switch {
	case isOver(err):
		e.Ended = true
	case errors.Is(err, rpc.ErrNotFound):
		logging.FromContext(ctx).Warnw("The server does not know the stage any more", "error", err)
	case err != nil:
		return fmt.Errorf("telling the end of the stage: %w", err)
	default:
		e.Stage = finished
		e.Stage.Steps = nil
	}
	t.metrics.finished.WithLabelValues(to).Inc()
	logging.FromContext(ctx).Infow("Stage ended", "status", to, "error", text)
	e.Phase = journal.Told
	t.events.ended(e, to, text)
	return t.journal.Save(ctx, e)
}

func unix(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.Unix()
}
