package bridge

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	api "github.com/drone/drone-go/drone"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"knative.dev/pkg/logging"

	"github.com/drone-tekton/drone-runner-tekton/bridge/journal"
	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
	"github.com/drone-tekton/drone-runner-tekton/bridge/status"
)

// reconciler brings stages forward, one look at a time.
type reconciler struct {
	queue    workqueue.TypedRateLimitingInterface[int64]
	news     *news
	watched  *watched
	journal  *journal.Store
	leads    func(types.NamespacedName) bool // whether this replica leads the bucket of a key
	launcher *launcher
	teller   *teller
	ender    *ender
	cleaner  *cleaner
	sessions *sessions
	options  Options
	metrics  *metrics

	mu   sync.Mutex
	busy map[int64]time.Time // since when stages are being looked at
}

// tooLong is longer than all calls of one look at a stage can take, with their repetitions.
const tooLong = 20 * time.Minute

// stuck is an error where a look at a stage takes too long.
func (r *reconciler) stuck() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, since := range r.busy {
		if d := r.options.Clock.Since(since); d > tooLong {
			return fmt.Errorf("stage %d has been looked at for %s", id, d.Round(time.Second))
		}
	}
	return nil
}

func (r *reconciler) begin(id int64) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy[id] = r.options.Clock.Now()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.busy, id)
	}
}

func newQueue() workqueue.TypedRateLimitingInterface[int64] {
	return workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[int64](200*time.Millisecond, time.Minute))
}

// stageKey is a stage as the buckets of leader election know it.
func stageKey(home string, stageID int64) types.NamespacedName {
	return types.NamespacedName{Namespace: home, Name: journal.Name(stageID)}
}

// run works until ctx ends.
func (r *reconciler) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, r.queue.ShutDown)
	defer stop()
	var workers sync.WaitGroup
	for range r.options.Workers {
		workers.Go(func() {
			for r.next(ctx) {
			}
		})
	}
	workers.Wait()
	r.sessions.closeAll()
}

// next looks at one stage.
func (r *reconciler) next(ctx context.Context) bool {
	id, down := r.queue.Get()
	if down {
		return false
	}
	defer r.queue.Done(id)
	defer r.begin(id)()
	again, err := r.stage(ctx, id, r.news.take(id))
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, journal.ErrStale):
		r.sessions.drop(id)
		r.queue.AddAfter(id, time.Second)
	case err != nil:
		r.metrics.retries.Inc()
		logging.FromContext(ctx).Warnw("Stage not brought forward; trying again", "stage-id", id, "error", err)
		r.queue.AddRateLimited(id)
	default:
		r.queue.Forget(id)
		if again > 0 {
			r.queue.AddAfter(id, again)
		}
	}
	return true
}

// stage brings one stage forward as far as it can be now, and tells when it has to be looked at again even if nothing
// happens; 0 is never. news is when the oldest change came that led to the look.
func (r *reconciler) stage(ctx context.Context, id int64, news time.Time) (again time.Duration, err error) {
	if !r.leads(stageKey(r.options.Namespace, id)) {
		r.sessions.drop(id)
		return 0, nil
	}
	s, err := r.session(ctx, id)
	if err != nil || s == nil {
		return 0, err
	}
	s.news = news
	ctx = logging.WithLogger(ctx, logging.FromContext(ctx).With(s.entry.Fields()...))
	for {
		before := s.entry.Phase
		switch before {
		case journal.Reserved:
			err = r.launcher.take(ctx, s)
		case journal.Taken:
			err = r.launcher.launch(ctx, s)
		case journal.Running:
			again, err = r.follow(ctx, s)
		case journal.Told:
			err = r.cleaner.stage(ctx, s)
		}
		if s.gone {
			r.sessions.drop(id)
			return 0, err
		}
		if err != nil || s.entry.Phase == before {
			return again, err
		}
	}
}

// session is the session of a stage, begun if need be; nil where the stage has no entry.
func (r *reconciler) session(ctx context.Context, id int64) (*session, error) {
	if s := r.sessions.get(id); s != nil {
		return s, nil
	}
	e, err := r.watched.entry(id)
	if err != nil {
		return nil, err
	}
	if e == nil {
		r.cleaner.orphan(ctx, r.watched.cluster(id))
		return nil, nil
	}
	// The mirror may lag behind what an earlier session wrote, or another replica.
	if e, err = r.journal.Get(ctx, id); err != nil || e == nil {
		return nil, err
	}
	if e.Phase != journal.Reserved {
		r.metrics.adopted.Inc()
		logging.FromContext(ctx).Infow("Going on with a stage", append(e.Fields(), "phase", e.Phase)...)
	}
	return r.sessions.begin(ctx, e), nil
}

// follow looks at a stage that runs: it ends it where it has to end, tells the server what is new, and ends the stage when
// all is told.
func (r *reconciler) follow(ctx context.Context, s *session) (again time.Duration, err error) {
	if s.entry.Run == "" { // No step runs in this build.
		return 0, r.teller.finish(ctx, s, status.Answer{Status: api.StatusPassing})
	}
	if err := s.arm(ctx); err != nil {
		return 0, err
	}
	c, err := r.look(ctx, s)
	if err != nil {
		return 0, err
	}
	answer, again := s.judge(c, r.options)
	if err := r.ender.end(ctx, s, c, answer); err != nil {
		return 0, err
	}
	if err := r.launcher.release(ctx, s, c.Run); err != nil {
		return 0, err
	}
	told, err := r.teller.tell(ctx, s, answer)
	if err != nil || !told {
		return again, err
	}
	return again, r.teller.finish(ctx, s, answer)
}

// isOver reports whether the server has ended a stage by itself, or given it to somebody else: nothing is left to tell.
func isOver(err error) bool { return errors.Is(err, rpc.ErrEnded) || errors.Is(err, rpc.ErrConflict) }

func formatID(id int64) string { return strconv.FormatInt(id, 10) }
