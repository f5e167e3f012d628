package bridge

import (
	"context"
	"errors"
	"sync"
	"time"

	"knative.dev/pkg/logging"

	"github.com/drone-tekton/drone-runner-tekton/bridge/journal"
	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
)

// requester offers stages.
type requester interface {
	Request(ctx context.Context, filter rpc.Filter) (*rpc.Stage, error)
}

// adder writes down that a stage may be taken.
type adder interface {
	Add(ctx context.Context, e *journal.Entry) error
}

// poller asks the server for stages, and reserves those that are offered. It has one question open at a time: whoever
// has room for a stage gets the next one.
type poller struct {
	server  requester
	journal adder
	options Options
	// held is how many stages this machine has, and entryOf a stage's entry.
	held    func() int
	entryOf func(stageID int64) (*journal.Entry, error)
	// changed is a channel that is closed at the next change of the journal.
	changed func() <-chan struct{}
	metrics *metrics

	mu   sync.Mutex
	last error // of the last attempt to get a stage
}

// trouble is why the runner gets no stages, if it does not.
func (p *poller) trouble() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

func (p *poller) note(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = err
}

// takeTimeout is how long the poller waits for a reserved stage to be taken, before it asks for the next one. Until it is
// taken, the server offers the same stage again.
const takeTimeout = 30 * time.Second

// run polls until ctx ends.
func (p *poller) run(ctx context.Context) {
	log := logging.FromContext(ctx)
	for ctx.Err() == nil {
		if !p.waitForRoom(ctx) {
			return
		}
		stage, err := p.server.Request(ctx, p.options.Filter)
		if err == nil {
			err = p.reserve(ctx, stage)
		}
		p.note(err)
		if err != nil && ctx.Err() == nil {
			log.Errorw("Cannot take stages; trying again", "error", err)
			sleep(ctx, 10*time.Second)
		}
	}
}

func (p *poller) waitForRoom(ctx context.Context) bool {
	for {
		changed := p.changed()
		if p.held() < p.options.Capacity {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// reserve writes the stage down and waits until it is taken.
func (p *poller) reserve(ctx context.Context, stage *rpc.Stage) error {
	p.metrics.offered.Inc()
	now := p.options.Clock.Now()
	err := p.journal.Add(ctx, &journal.Entry{StageID: stage.ID, Machine: p.options.Machine, Phase: journal.Reserved, Reserved: now})
	if err != nil && !errors.Is(err, journal.ErrExists) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, takeTimeout)
	defer cancel()
	for seen := false; ; {
		changed := p.changed()
		e, err := p.entryOf(stage.ID)
		seen = seen || e != nil
		if err != nil || e == nil && seen || e != nil && e.Phase != journal.Reserved {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
