package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// Ping asks once whether the server is there and knows the secret.
func (c *Client) Ping(ctx context.Context) error {
	return c.do(ctx, request{call: CallPing, method: http.MethodPost, path: "ping", timeout: callTimeout})
}

// Accept takes a stage for the machine, and returns it as the server has it now. Servers accept on behalf of a runner
// even if the build was cancelled a moment before: see [Details.Ended].
//
// The error is ErrConflict when another runner was faster. The server refuses us in the same way when the stage is
// ours already: when an answer was lost, or a call was doubled on its way. So Accept asks whose the stage is, and the
// machine's name must be that of this runner alone. The same stage may be offered to a runner twice, and both calls of
// Accept then return it: the caller has to know what it runs.
//
// Accept tries until its context ends, because a stage that was accepted is never offered again; so that context should
// outlive the one that work is requested with. If it fails with outcome Unknown all the same, the stage may be ours,
// and Accept has to be called again.
func (c *Client) Accept(ctx context.Context, stageID int64, machine string) (*Stage, error) {
	var stage *Stage
	err := c.retry(ctx, CallAccept, policy{lost: true}, func() error {
		stage = new(Stage)
		return c.do(ctx, request{call: CallAccept, id: stageID, method: http.MethodPost,
			path: fmt.Sprintf("stage/%d", stageID), query: url.Values{"machine": {machine}},
			out: stage, timeout: callTimeout})
	})
	switch {
	case err == nil:
		return stage, nil
	case !errors.Is(err, ErrConflict):
		return nil, err
	}
	d, derr := c.Details(ctx, stageID)
	if derr != nil {
		return nil, &Error{Call: CallAccept, ID: stageID, Err: fmt.Errorf("asking whose the stage is: %w", derr)}
	}
	if d.Stage.Machine != machine {
		return nil, err
	}
	return d.Stage, nil
}

// Details fetches what has to be known to run a stage. The server reads and converts the configuration file for each
// call, so this is not a call to make often. When that fails, servers from 2.28 on end the stage with an error; older
// ones leave it to the runner, that would otherwise stay pending for good.
func (c *Client) Details(ctx context.Context, stageID int64) (*Details, error) {
	var d *Details
	err := c.retry(ctx, CallDetails, policy{lost: true, limit: c.o.RetryFor}, func() error {
		d = new(Details)
		err := c.do(ctx, request{call: CallDetails, id: stageID, method: http.MethodGet,
			path: fmt.Sprintf("stage/%d", stageID), out: d, timeout: detailsTimeout})
		if err == nil && (d.Stage == nil || d.Build == nil || d.Repo == nil) {
			err = &Error{Call: CallDetails, ID: stageID, Outcome: Refused, Err: errStranger}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// UpdateStage writes a stage, and returns it with the version and the step ids that the server answered.
//
// To a status of pending or running, the server updates the stage, then inserts all its steps, then sets the build
// running. To any other status, it updates all its steps, then the stage, then what depends on it and the build.
// Neither is done in a transaction. The call is repeated only when it was certainly not applied: see StartStage and
// FinishStage for calls that get to their end.
//
// Error texts are cut to the 500 bytes that the server keeps. The steps' stage ids are set.
func (c *Client) UpdateStage(ctx context.Context, stage *Stage) (*Stage, error) {
	var out *Stage
	err := c.retry(ctx, CallUpdateStage, policy{limit: c.o.RetryFor}, func() (err error) {
		out, err = c.updateStage(ctx, stage)
		return err
	})
	return out, err
}

// updateStage tries once.
func (c *Client) updateStage(ctx context.Context, stage *Stage) (*Stage, error) {
	out := stage.outgoing()
	if err := out.check(); err != nil {
		return nil, err
	}
	body, err := encode(out)
	if err != nil {
		return nil, err
	}
	answer := new(Stage)
	err = c.do(ctx, request{call: CallUpdateStage, id: stage.ID, method: http.MethodPut,
		path: fmt.Sprintf("stage/%d", stage.ID), body: body, out: answer, timeout: callTimeout})
	if err != nil {
		return nil, err
	}
	out.adopt(answer)
	return out, nil
}

// UpdateStep writes a step, and returns it with the version that the server answered.
//
// To a status of pending or running, the server opens the step's live log, an empty one, even if it then refuses the
// update; to any other status, it closes it likewise. The call is repeated only when it was certainly not applied: see
// ReportStep for a call that gets to its end.
func (c *Client) UpdateStep(ctx context.Context, step *Step) (*Step, error) {
	var out *Step
	err := c.retry(ctx, CallUpdateStep, policy{limit: c.o.RetryFor}, func() (err error) {
		out, err = c.updateStep(ctx, step)
		return err
	})
	return out, err
}

// updateStep tries once.
func (c *Client) updateStep(ctx context.Context, step *Step) (*Step, error) {
	out := step.outgoing()
	body, err := encode(out)
	if err != nil {
		return nil, err
	}
	answer := new(Step)
	err = c.do(ctx, request{call: CallUpdateStep, id: step.ID, method: http.MethodPut,
		path: fmt.Sprintf("step/%d", step.ID), body: body, out: answer, timeout: callTimeout})
	if err != nil {
		return nil, err
	}
	out.Version = answer.Version
	return out, nil
}
