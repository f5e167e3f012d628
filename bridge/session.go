package bridge

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	api "github.com/drone/drone-go/drone"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/logging"

	"github.com/drone-tekton/drone-runner-tekton/bridge/compile"
	"github.com/drone-tekton/drone-runner-tekton/bridge/journal"
	"github.com/drone-tekton/drone-runner-tekton/bridge/logs"
	"github.com/drone-tekton/drone-runner-tekton/bridge/status"
)

// session is what a process holds of a stage: its entry, and what lives in memory alone. It is used by the stage's worker,
// apart from cancelled and the step logs, which know how to be shared.
type session struct {
	entry *journal.Entry
	gone  bool // the entry has been removed

	released bool // the run is not pending any more, whatever the mirror shows

	ctx    context.Context // of all that goes on beside the worker
	cancel context.CancelFunc
	wake   func() // puts the stage into the queue

	armed     bool // the stage's secrets are known, and the build is watched
	masker    *logs.Masker
	cancelled atomic.Bool // the server has said so
	ending    atomic.Bool // the entry says that the pipeline is being ended
	watching  atomic.Bool // the server is asked whether the build is cancelled
	logs      map[int]*stepLog
	troubles  map[status.Trouble]time.Time
	waits     atomic.Value   // what steps wait for, a []string
	last      status.Cluster // as it was last seen
	saved     time.Time      // when the entry was last written
	news      time.Time      // when what the present look is about came, zero where nothing has changed
	dues      map[int]due    // what is to be told, or was told last, by the steps' numbers

	open func(s *session, step *journal.Step) *stepLog
	arms func(ctx context.Context, s *session) error
}

// sessions are those of this process.
type sessions struct {
	watcher watcher
	logs    *stepLogs
	wake    func(stageID int64)
	values  *values

	mu         sync.Mutex
	byID       map[int64]*session
	rechecking bool
}

// watcher tells of cancelled builds.
type watcher interface {
	Watch(ctx context.Context, buildID int64) error
	detailer
}

func (ss *sessions) get(id int64) *session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.byID[id]
}

// begin makes a session.
func (ss *sessions) begin(ctx context.Context, e *journal.Entry) *session {
	s := &session{
		entry: e, logs: map[int]*stepLog{}, troubles: map[status.Trouble]time.Time{}, masker: &logs.Masker{},
		dues: map[int]due{},
		wake: func() { ss.wake(e.StageID) }, open: ss.logs.open, arms: ss.arm,
	}
	// It outlives the look at the stage that it began with, but not the workers.
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.ending.Store(e.Ending != nil)
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.byID[e.StageID] = s
	return s
}

// drop ends a session. What it knew that is not in the journal is found anew by the next one.
func (ss *sessions) drop(id int64) {
	ss.mu.Lock()
	s := ss.byID[id]
	delete(ss.byID, id)
	ss.mu.Unlock()
	if s != nil {
		s.close()
	}
}

// waiting counts the steps that wait, by what for.
func (ss *sessions) waiting() map[string]int {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	n := map[string]int{}
	for _, s := range ss.byID {
		waits, _ := s.waits.Load().([]string)
		for _, what := range waits {
			n[what]++
		}
	}
	return n
}

func (ss *sessions) closeAll() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, s := range ss.byID {
		s.close()
	}
	clear(ss.byID)
}

func (s *session) close() {
	s.cancel()
	for _, l := range s.logs {
		l.wait()
	}
}

// arm prepares a session for a stage that runs: the texts that must not show, and the watch for a cancelled build.
func (s *session) arm(ctx context.Context) error {
	if s.armed {
		return nil
	}
	if err := s.arms(ctx, s); err != nil {
		return err
	}
	s.armed = true
	return nil
}

func (ss *sessions) arm(ctx context.Context, s *session) error {
	values, err := ss.values.of(ctx, s.entry)
	if err != nil {
		return err
	}
	s.masker = logs.NewMasker(values...)
	if s.entry.Ending == nil {
		s.watching.Store(true)
		go ss.ask(s, settleTime)
		// The entry is the worker's, and changes.
		go ss.watch(s, s.entry.Stage.BuildID, logging.FromContext(s.ctx).With(s.entry.Fields()...))
	}
	return nil
}

// settleTime is how long after the first poll the server is asked once more whether the build was cancelled: it tells only
// those who were connected when it was.
const settleTime = 2 * time.Second

// watch waits for the build to be cancelled.
func (ss *sessions) watch(s *session, buildID int64, log *zap.SugaredLogger) {
	ctx := s.ctx
	for {
		err := ss.watcher.Watch(ctx, buildID)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			log.Infow("The server says that the build has ended")
			s.cancelled.Store(true)
			s.wake()
			return
		default:
			log.Warnw("Cannot watch the build; trying again", "error", err)
			sleep(ctx, 10*time.Second)
		}
	}
}

// ask asks once, after a while, whether the build has ended.
func (ss *sessions) ask(s *session, after time.Duration) {
	sleep(s.ctx, after)
	if s.ctx.Err() != nil {
		return
	}
	if d, err := ss.watcher.Details(s.ctx, s.entry.StageID); err == nil && d.Ended() {
		s.cancelled.Store(true)
		s.wake()
	}
}

// recheck asks about all builds that are watched, after connections to the server were broken: what was cancelled
// meanwhile, nobody was told. Many connections break at once, and it is asked once for all.
func (ss *sessions) recheck() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.rechecking {
		return
	}
	ss.rechecking = true
	time.AfterFunc(recheckAfter, func() {
		ss.mu.Lock()
		defer ss.mu.Unlock()
		ss.rechecking = false
		for _, s := range ss.byID {
			if s.watching.Load() {
				go ss.ask(s, 0)
			}
		}
	})
}

// recheckAfter is when it is asked: when the polls are open again, as a rule.
const recheckAfter = 20 * time.Second

// judge asks what there is to tell, and when the stage has to be looked at again by the clock alone.
func (s *session) judge(c status.Cluster, o Options) (status.Answer, time.Duration) {
	now := o.Clock.Now()
	steps := make([]status.Step, len(s.entry.Steps))
	known := map[int]status.State{}
	for i, step := range s.entry.Steps {
		steps[i] = step.Step
		known[step.Number] = step.Known()
	}
	q := status.Question{
		Cluster: c, Steps: steps, Known: known, Ending: s.entry.Ending, Now: now, Grace: o.Grace,
		TroubleSince: func(t status.Trouble) time.Time { return s.troubles[t] },
	}
	answer := status.Of(q)
	seen := map[status.Trouble]time.Time{}
	for _, st := range answer.Steps {
		if st.Trouble == nil {
			continue
		}
		since, known := s.troubles[*st.Trouble]
		if !known {
			since = now
		}
		seen[*st.Trouble] = since
	}
	s.troubles = seen
	var waits []string
	for i, st := range answer.Steps {
		if st.WaitsFor != "" {
			waits = append(waits, st.WaitsFor)
		}
		if status.Final(st.Status) && s.entry.Steps[i].End == nil {
			s.entry.Steps[i].End = &answer.Steps[i] // Written down with what follows from it.
		}
		answer.Steps[i].Error = s.masker.Mask(st.Error)
		answer.Steps[i].Waiting = s.masker.Mask(st.Waiting)
	}
	s.waits.Store(waits)
	answer.Error = s.masker.Mask(answer.Error)
	s.note(answer, now)
	again := s.alarm(now, o)
	for i := range answer.Steps {
		if answer.Steps[i].Status == api.StatusPending && len(c.Events) > 0 {
			again = min(again, slowWait) // For a pod that takes long.
		}
	}
	return answer, again
}

// slowWait is when a pod that does not run is looked at again.
const slowWait = 10 * time.Second

// cursorEvery is how often the place in running logs is written down.
const cursorEvery = 10 * time.Second

// alarm is when the clock alone changes something.
func (s *session) alarm(now time.Time, o Options) time.Duration {
	next := s.deadline().Sub(now)
	sooner := func(d time.Duration) { next = min(next, max(d, 10*time.Millisecond)) }
	for _, since := range s.troubles {
		sooner(since.Add(o.Grace).Sub(now))
	}
	if len(s.logs) > 0 {
		sooner(cursorEvery)
	}
	if s.entry.Ending != nil || s.last.Run != nil && s.last.Run.IsDone() {
		sooner(15 * time.Second) // What does not come by itself is given up after a while.
	}
	return max(next, 10*time.Millisecond)
}

// overtime is how much longer than Tekton the runner waits for the end of a pipeline whose time is over.
const overtime = 30 * time.Second

func (s *session) deadline() time.Time {
	return s.entry.Reserved.Add(s.entry.Timeout + overtime)
}

// look reads what the cluster shows, from the mirror where it has it. A run that is not in the mirror may be too new, and
// one that was seen to its end and is gone was tidied away by somebody.
func (r *reconciler) look(ctx context.Context, s *session) (status.Cluster, error) {
	c := r.watched.cluster(s.entry.StageID)
	if c.Run != nil {
		s.last = c
		return c, nil
	}
	if s.last.Run != nil && s.last.Run.IsDone() {
		return s.last, nil
	}
	run, err := r.launcher.clients.Tekton.TektonV1().PipelineRuns(s.entry.Namespace).Get(ctx, s.entry.Run, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return c, fmt.Errorf("reading the PipelineRun: %w", err)
	default:
		c.Run = run
	}
	return c, nil
}

// values finds the texts that must not show in logs: secrets, credentials and what an extension asks to hide. They are kept from the time when
// the run was made, and read from the cluster by whoever goes on with it.
type values struct {
	clients Clients
	mu      sync.Mutex
	byStage map[int64][]string
}

func (v *values) keep(id int64, texts []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.byStage[id] = texts
}

func (v *values) of(ctx context.Context, e *journal.Entry) ([]string, error) {
	v.mu.Lock()
	texts, known := v.byStage[e.StageID]
	delete(v.byStage, e.StageID)
	v.mu.Unlock()
	if known {
		return texts, nil
	}
	secret, err := v.clients.Kube.CoreV1().Secrets(e.Namespace).Get(ctx, e.Run+hiddenSuffix, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err): // There is nothing to hide, or all is over.
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading what must not show in logs: %w", err)
	}
	for _, value := range secret.Data {
		texts = append(texts, string(value))
	}
	return texts, nil
}

// hiddenSuffix ends the name of the Secret with all texts that must not show in a run's logs.
const hiddenSuffix = "-hidden"

// hiddenSecret is that Secret.
func hiddenSecret(w *compile.Work) *corev1.Secret {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: w.Name + hiddenSuffix, Namespace: w.Namespace},
		Type:       corev1.SecretTypeOpaque, Data: map[string][]byte{},
	}
	for i, text := range w.Values {
		secret.Data[strconv.Itoa(i)] = []byte(text)
	}
	return secret
}
