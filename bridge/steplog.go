package bridge

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	api "github.com/drone/drone-go/drone"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"knative.dev/pkg/logging"

	"github.com/drone-tekton/drone-runner-tekton/bridge/journal"
	"github.com/drone-tekton/drone-runner-tekton/bridge/logs"
	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
	"github.com/drone-tekton/drone-runner-tekton/bridge/status"
)

// stepLogs opens the logs of steps.
type stepLogs struct {
	streams logs.Streams
	sender  logs.Sender
	options Options
	metrics *logs.Metrics
}

// stepLog carries one step's log from its containers to the server, beside the stage's worker.
type stepLog struct {
	relay     *logs.Relay
	namespace string
	streams   logs.Streams
	metrics   *logs.Metrics
	ctx       context.Context
	wake      func()
	ending    *atomic.Bool  // the pipeline is being ended, and its pods deleted
	ended     chan struct{} // closed when the goroutine has ended

	more chan struct{} // has room for one

	mu        sync.Mutex
	outputs   []*output // in the order in which they came
	finishing bool
	closed    bool // the relay has been closed, with what follows
	schema    string
	err       error
}

// output is one container of the step.
type output struct {
	status.Output
	terminated chan struct{}
	over       bool // terminated is closed
}

// open begins to carry a step's log, where an earlier process has left off.
func (ls *stepLogs) open(s *session, step *journal.Step) *stepLog {
	start := s.entry.Reserved
	if step.Told.Started > 0 {
		start = time.Unix(step.Told.Started, 0)
	}
	log := logging.FromContext(s.ctx).With(s.entry.Fields()...).With("step", step.Name)
	l := &stepLog{
		relay: logs.New(s.ctx, ls.sender, logs.Config{
			Step: step.Told.ID, Start: start, Masker: s.masker, Limit: ls.options.LogLimit, Head: step.Warnings, Cursor: step.Cursor,
			Metrics: ls.metrics, Log: log,
		}),
		namespace: s.entry.Namespace, streams: ls.streams, metrics: ls.metrics,
		ctx: logging.WithLogger(s.ctx, log), wake: s.wake, ending: &s.ending, more: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	s.logs[step.Number] = l
	go l.run()
	return l
}

// follow adds a container, or tells that one has terminated.
func (l *stepLog) follow(o status.Output) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, known := range l.outputs {
		if known.Pod == o.Pod && known.Container == o.Container && (o.UID == "" || known.UID == o.UID) {
			if o.Terminated {
				known.end()
			}
			return
		}
	}
	for _, earlier := range l.outputs { // A step runs in one container at a time.
		earlier.end()
	}
	added := &output{Output: o, terminated: make(chan struct{})}
	if o.Terminated || l.finishing {
		added.end()
	}
	l.outputs = append(l.outputs, added)
	l.poke()
}

func (o *output) end() {
	if !o.over {
		o.over = true
		close(o.terminated)
	}
}

// followed reports whether the log has any container.
func (l *stepLog) followed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.outputs) > 0
}

// finish tells that no more containers come, and that those that there are have ended.
func (l *stepLog) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.finishing {
		return
	}
	l.finishing = true
	for _, o := range l.outputs {
		o.end()
	}
	l.poke()
}

func (l *stepLog) poke() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// result tells whether the whole log has been uploaded, or why it has not.
func (l *stepLog) result() (schema string, ended bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.schema, l.closed, l.err
}

// worthAnother reports whether a log that could not be uploaded may be the next time.
func (l *stepLog) worthAnother(err error) bool { return rpc.OutcomeOf(err) != rpc.Refused }

// wait waits for the goroutine. The session's context has ended.
func (l *stepLog) wait() { <-l.ended }

// run relays container after container, and then closes the log.
func (l *stepLog) run() {
	defer close(l.ended)
	for n := 0; ; {
		next, finish := l.next(n)
		switch {
		case next != nil:
			n++
			l.relayOne(next)
		case finish:
			schema, err := l.relay.Close(l.ctx)
			if l.ctx.Err() != nil {
				return
			}
			l.mu.Lock()
			l.closed, l.schema, l.err = true, schema, err
			l.mu.Unlock()
			l.wake()
			return
		default:
			select {
			case <-l.more:
			case <-l.ctx.Done():
				return
			}
		}
		if l.ctx.Err() != nil {
			return
		}
	}
}

func (l *stepLog) next(n int) (*output, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n < len(l.outputs) {
		return l.outputs[n], false
	}
	return nil, l.finishing
}

func (l *stepLog) relayOne(o *output) {
	err := l.relay.Follow(l.ctx, killable{l.ending, &logs.Container{
		Streams: l.streams, Namespace: l.namespace, Pod: o.Pod, Name: o.Container,
		Terminated: o.terminated, Metrics: l.metrics, Log: logging.FromContext(l.ctx),
	}})
	if err != nil && l.ctx.Err() == nil {
		logging.FromContext(l.ctx).Warnw("Part of a log is missing", "error", err) // The log itself says so, too.
	}
}

// killable is a container whose pod is deleted when the pipeline is ended. Where this process has followed its log, its
// stream ended with the step's process then; that it cannot be read once more is no loss to tell of. A process that was
// started since has read nothing of it, and the log has to say so.
type killable struct {
	ending *atomic.Bool
	source logs.Source
}

// Follow implements logs.Source.
func (k killable) Follow(ctx context.Context, deliver func(logs.Record)) error {
	read := false
	err := k.source.Follow(ctx, func(r logs.Record) {
		read = true
		deliver(r)
	})
	if apierrors.IsNotFound(err) && k.ending.Load() && read {
		return nil
	}
	return err
}

// uploader is the server's side of logs.
type uploader interface {
	Batch(ctx context.Context, stepID int64, lines []*api.Line) error
	Upload(ctx context.Context, stepID int64, lines rpc.Lines) error
	UploadCard(ctx context.Context, stepID int64, card *api.CardInput) error
}

// sender makes an uploader a logs.Sender.
type sender struct{ uploader }

// Upload implements logs.Sender. A log that the server has already is ours: from before a crash.
func (s sender) Upload(ctx context.Context, step int64, lines []*logs.Line) error {
	err := s.uploader.Upload(ctx, step, rpc.LinesOf(lines))
	if errors.Is(err, rpc.ErrExists) {
		return nil
	}
	return err
}
