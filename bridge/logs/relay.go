package logs

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Sender is what takes the logs: Drone's calls for a step, which is named by Drone's id.
type Sender interface {
	// Batch shows lines while the step runs. It may fail, as it does when Drone has forgotten that the step runs.
	Batch(ctx context.Context, step int64, lines []*Line) error
	// Upload stores the whole log of a step. Drone takes it once.
	Upload(ctx context.Context, step int64, lines []*Line) error
	// UploadCard stores the card of a step.
	UploadCard(ctx context.Context, step int64, card *Card) error
}

// Source is where the output of a container comes from; see Container.
type Source interface {
	Follow(ctx context.Context, deliver func(Record)) error
}

// Config of a Relay. Step is required.
type Config struct {
	Step    int64     // Drone's id of the step
	Start   time.Time // when the step started; the times of lines count from here; by default from now
	Masker  *Masker
	Limit   Limit
	Head    []string // the runner's own lines that the log begins with, the same in each process
	Cursor  Cursor   // of an earlier process
	Metrics *Metrics
	Log     *zap.SugaredLogger
}

// Relay carries the log of one step from its containers to Drone.
//
//	relay := logs.New(ctx, sender, config)
//	relay.Note("waiting: 0/2 nodes are available")  // as long as there is no container
//	err := relay.Follow(ctx, container)             // again for another container of the step
//	schema, err := relay.Close(ctx)                 // before the step's final state is reported
//
// A relay that is not closed, because another process will go on with the step, ends with the context of New.
type Relay struct {
	sender Sender
	config Config
	live   *live

	mu     sync.Mutex
	cards  cards
	masked *MaskWriter
	store  *store

	at      Cursor    // where the relay is
	seen    *seen     // the lines of the current container that the cursor covers
	old     bool      // the current line is one of them
	resumed bool      // the cursor covers no line any more
	sec     int64     // seconds from the step's start to the current line
	stamp   time.Time // the current line's timestamp
	open    bool      // the log so far does not end with a newline
	follows int       // containers so far

	restore []Note // notes of the cursor that are still to come
	waiting []Note // new notes that are still to come
	said    string // the last note
}

// New makes a Relay. ctx ends its live view.
func New(ctx context.Context, sender Sender, config Config) *Relay {
	config.Masker = cmp.Or(config.Masker, &Masker{})
	config.Log = cmp.Or(config.Log, zap.NewNop().Sugar())
	if config.Metrics == nil {
		config.Metrics = NewMetrics(nil)
	}
	if config.Start.IsZero() {
		config.Start = time.Now()
	}
	r := &Relay{sender: sender, config: config, store: newStore(config.Limit), restore: config.Cursor.Notes}
	r.live = newLive(ctx, &r.mu, func(ctx context.Context, lines []*Line) error {
		return sender.Batch(ctx, config.Step, lines)
	}, config)
	r.masked = config.Masker.Writer(writerFunc(r.text))
	r.cards.pass = func(p []byte) { _, _ = r.masked.Write(p) } // r.text does not fail.
	if n := len(r.restore); n > 0 {
		r.said = r.restore[n-1].Text
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.head()
	r.expect()
	return r
}

// Follow relays the output of one container, until it has terminated and all of it is read. If the rest of a log cannot
// be had, the step's log says so, and the error is returned.
func (r *Relay) Follow(ctx context.Context, source Source) error {
	r.begin()
	err := source.Follow(ctx, r.record)
	if err != nil && ctx.Err() == nil {
		r.end()
		r.Note("the rest of the log is missing: " + err.Error())
		return err
	}
	if err == nil {
		r.end()
	}
	return err
}

// begin prepares for a container.
func (r *Relay) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.follows++; r.follows == 1 {
		return
	}
	if r.open {
		_, _ = r.text([]byte{'\n'})
	}
	r.at.nextContainer()
	r.expect()
}

// expect finds out what the cursor covers of the current container, and relays the notes that came before it.
func (r *Relay) expect() {
	r.seen = r.config.Cursor.seen(r.at.Container)
	r.notes()
	if r.seen.done {
		r.resume()
	}
}

// end takes what was held back of a container's output.
func (r *Relay) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cards.end()
	_ = r.masked.Flush() // r.text does not fail.
	r.reach()
	if r.at.Container >= r.config.Cursor.Container {
		r.resume()
	}
}

// record takes a line of a container, or a piece of it.
func (r *Relay) record(rec Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stamp = rec.Time
	r.sec = max(0, int64(rec.Time.Sub(r.config.Start)/time.Second))
	if rec.Start {
		r.line(rec)
	}
	r.at.Bytes += int64(len(rec.Text))
	if !r.old {
		r.config.Metrics.bytes.Add(float64(len(rec.Text)))
	}
	r.cards.write(rec.Text)
	if !rec.End {
		return
	}
	r.reach()
	r.notes()
	if r.seen.done {
		r.resume()
	}
}

// line begins a line.
func (r *Relay) line(rec Record) {
	if r.old = r.seen.has(mark{at: rec.Time.UnixNano()}); !r.old {
		r.resume()
		r.config.Metrics.lines.Inc()
	}
	if r.seen.rotated { // At the first line: none is open.
		r.seen.rotated = false
		r.say(Note{Text: "the runner was restarted, and the node no longer has the beginning of this log", Sec: r.sec})
	}
	if rec.Gap {
		r.insert("lines may be missing here: the node rotated this log while it could not be read")
	}
	r.at.line(rec.Time)
}

// text takes what goes into the log.
func (r *Relay) text(p []byte) (int, error) {
	for piece, ended := range pieces(p) {
		r.store.write(piece, r.sec, ended)
		r.live.write(piece, r.sec, ended, r.store.tail.lost.bytes > 0)
		r.open = !ended
	}
	return len(p), nil
}

// reach tells the live view where the relay is.
func (r *Relay) reach() {
	if r.old {
		r.live.skip(r.at)
	} else {
		r.live.reach(r.at, r.stamp)
	}
}

// resume goes on where the cursor ended.
func (r *Relay) resume() {
	if !r.resumed {
		r.resumed = true
		r.live.resume(r.config.Cursor.Next)
	}
	r.notes()
}

// Cursor tells how far the live view has come.
func (r *Relay) Cursor() Cursor {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live.shown
}

// Close relays what is left and uploads the log, and the card if there is one, whose schema it returns: Drone wants it
// with the step. A card that Drone does not take is no error; servers before 2.5 know no cards.
func (r *Relay) Close(ctx context.Context) (schema string, err error) {
	r.end()
	r.mu.Lock()
	if r.open && len(r.restore)+len(r.waiting) > 0 {
		_, _ = r.text([]byte{'\n'})
	}
	r.old = false
	r.resume()
	r.mu.Unlock()
	r.live.close()

	r.mu.Lock()
	card := r.cards.card
	r.config.Metrics.leftOutUpload.Add(float64(r.store.tail.lost.bytes))
	lines := r.store.take()
	r.mu.Unlock()
	if err := r.sender.Upload(ctx, r.config.Step, lines); err != nil {
		return "", fmt.Errorf("uploading the log of step %d: %w", r.config.Step, err)
	}
	if card == nil {
		return "", nil
	}
	if card, err = maskCard(r.config.Masker, card); err == nil {
		err = r.sender.UploadCard(ctx, r.config.Step, card)
	}
	if err != nil {
		r.config.Log.Warnw("Drone did not take a card", zap.Error(err))
		return "", nil
	}
	return card.Schema, nil
}

// writerFunc is a function as an io.Writer.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
