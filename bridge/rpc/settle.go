package rpc

import (
	"context"
	"errors"
	"fmt"
)

// maxRounds is how often an update is adjusted before settle gives up. Each round stands for an answer that was lost,
// and in its whole life a step is written a handful of times.
const maxRounds = 8

// StartStage tells the server that a stage runs, and which steps it has, and returns it with the steps' ids. The stage
// is the one that Accept returned, with its version, and with the steps numbered from 1.
//
// The steps' ids come with the answer, and no other call of runners tells them. When the answer is lost, by the network
// or by the end of the process, the steps are in the database for good. StartStage then looks for them on the build's
// page, which anybody can see where the repository is public. Where it is not, nobody can ever update those steps, and
// StartStage inserts them anew, with numbers above those of the lost ones. Call it again with the same stage, of the same
// version, as long as its result has not been kept: the server's version of the stage tells how often it was written.
//
// The error is ErrEnded if the build was cancelled meanwhile, and ErrConflict alone if the stage is another runner's.
func (c *Client) StartStage(ctx context.Context, stage *Stage) (*Stage, error) {
	highest := 0
	for _, step := range stage.Steps {
		highest = max(highest, step.Number)
	}
	attempt := stage
	var started *Stage
	var found []*Step
	err := c.settle(ctx, CallUpdateStage, stage.ID, func() (err error) {
		started, err = c.updateStage(ctx, attempt)
		return err
	}, func(d *Details) (settled bool, err error) {
		lost := d.Stage.Version - stage.Version
		switch {
		case d.Ended():
			return false, ErrEnded
		case d.Stage.Machine != stage.Machine, lost < 0:
			return false, ErrConflict
		}
		attempt = stage.Clone()
		attempt.Version = d.Stage.Version
		if found = inserted(stage.outgoing().Steps, c.stepsOf(ctx, d)); found != nil {
			attempt.Steps = nil // Written once more, since the server may have been stopped before it set the build running.
			return false, nil
		}
		for _, step := range attempt.Steps {
			step.Number += int(lost) * highest
		}
		return false, nil
	})
	if err == nil && found != nil {
		started.Steps = found
	}
	return started, err
}

// ReportStep tells the server of a step, and returns it with its new version. The step's version may be an older one:
// after a lost answer, and after the end of a process that did not keep it, ReportStep finds the right one.
//
// The error is ErrEnded if the build was cancelled meanwhile; as a rule the server has then ended the step by itself.
// It has not where an update of ours came between: once a build is known to be cancelled, send each step's end with
// UpdateStep, and take ErrConflict for consent.
func (c *Client) ReportStep(ctx context.Context, step *Step) (*Step, error) {
	attempt := step.Clone()
	var reported *Step
	err := c.settle(ctx, CallUpdateStep, step.StageID, func() (err error) {
		reported, err = c.updateStep(ctx, attempt)
		return err
	}, func(d *Details) (settled bool, err error) {
		if d.Ended() {
			return false, ErrEnded
		}
		// Nobody but us and a cancellation writes steps, and there was none. So the version is one that we made and do
		// not know: a higher one, by as little as possible, since a cancellation raises it too and must not be undone.
		attempt.Version++
		return false, nil
	})
	return reported, err
}

// FinishStage tells the server that a stage has ended, and returns it with its new version. All steps must have been
// reported before: they are not sent again, so that there is one version to be right or wrong.
//
// The error is ErrEnded if the build was cancelled meanwhile: the server has then ended the stage by itself. It is
// ErrConflict alone if the stage is another runner's.
func (c *Client) FinishStage(ctx context.Context, stage *Stage) (*Stage, error) {
	attempt := stage.Clone()
	attempt.Steps = nil
	var finished *Stage
	again := false
	err := c.settle(ctx, CallUpdateStage, stage.ID, func() (err error) {
		finished, err = c.updateStage(ctx, attempt)
		return err
	}, func(d *Details) (settled bool, err error) {
		ours := d.Stage.Status == stage.Status && d.Stage.Stopped == stage.Stopped
		switch {
		case d.Stage.Machine != stage.Machine:
			return false, ErrConflict
		case d.Ended() && !ours:
			return false, ErrEnded
		}
		attempt.Version = d.Stage.Version
		if ours && (done(d.Build.Status) || again) {
			finished = attempt.Clone()
			return true, nil
		}
		// When the stage has ended and the build has not, other stages go on; or the server was stopped before it got
		// to end the build, which it only does in the wake of a stage's update. So the update is made once more.
		again = ours
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	finished.Steps = stage.Clone().Steps
	return finished, nil
}

// settle makes an update until it is known what became of it. The version in the update makes a repeat harmless after
// a lost answer: it is applied once or refused. After each refusal, judge sees what the server has, and finds that all
// is well, or that it cannot be, or adjusts what is tried next.
func (c *Client) settle(ctx context.Context, call Call, stageID int64, try func() error,
	judge func(*Details) (settled bool, err error)) error {
	for round := 0; ; round++ {
		err := c.retry(ctx, call, policy{lost: true, limit: c.o.RetryFor}, try)
		if !errors.Is(err, ErrConflict) || round == maxRounds {
			return err
		}
		d, derr := c.Details(ctx, stageID)
		if derr != nil {
			return &Error{Call: call, ID: stageID, Err: fmt.Errorf("asking who wrote it meanwhile: %w", derr)}
		}
		settled, jerr := judge(d)
		switch {
		case settled:
			return nil
		case errors.Is(jerr, ErrEnded):
			return fmt.Errorf("%w: %w", jerr, err)
		case jerr != nil:
			return err
		}
	}
}
