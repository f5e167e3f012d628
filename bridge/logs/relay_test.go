package logs

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// fakeDrone takes logs.
type fakeDrone struct {
	mu       sync.Mutex
	took     time.Duration // how long it takes for a batch
	err      error         // what it answers to batches
	noUpload error
	noCard   error
	live     []Line
	at       []time.Time // when live lines came
	batches  int
	uploads  int
	log      []Line
	card     *Card
}

func (d *fakeDrone) Batch(ctx context.Context, step int64, lines []*Line) error {
	d.mu.Lock()
	took, err := d.took, d.err
	d.batches++
	d.mu.Unlock()
	select {
	case <-time.After(took):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, line := range lines {
		d.live = append(d.live, *line)
		d.at = append(d.at, time.Now())
	}
	return nil
}

func (d *fakeDrone) Upload(ctx context.Context, step int64, lines []*Line) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.uploads++
	if d.noUpload != nil {
		return d.noUpload
	}
	d.log = nil
	for _, line := range lines {
		d.log = append(d.log, *line)
	}
	return ctx.Err()
}

func (d *fakeDrone) UploadCard(ctx context.Context, step int64, card *Card) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.noCard != nil {
		return d.noCard
	}
	d.card = card
	return nil
}

func (d *fakeDrone) answer(err error, took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err, d.took = err, took
}

// said is the text of a line and its time.
type said struct {
	sec  int64
	text string
}

// numbered makes Drone's lines with positions from 0.
func numbered(lines ...said) []Line {
	var all []Line
	for i, line := range lines {
		all = append(all, Line{Number: i, Message: line.text, Timestamp: line.sec})
	}
	return all
}

func checkLines(t *testing.T, what string, got, want []Line) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%.3000s", what, diff)
	}
}

// script is a source that a test writes to.
type script func(deliver func(Record)) error

func (s script) Follow(ctx context.Context, deliver func(Record)) error { return s(deliver) }

// whole delivers whole lines.
func whole(deliver func(Record), at time.Time, lines ...string) {
	for _, line := range lines {
		deliver(Record{Time: at, Text: []byte(line), Start: true, End: true})
	}
}

func TestRelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drone := &fakeDrone{}
		relay := New(t.Context(), drone, Config{Step: 7, Start: at(0), Masker: NewMasker("hunter2", "two\nlines")})
		err := relay.Follow(t.Context(), script(func(deliver func(Record)) error {
			whole(deliver, at(1500*time.Millisecond), "password: hunter2\n", "\n")
			whole(deliver, at(2*time.Second), encodeCard(`{"schema":"s","data":{"by":"hunter2"}}`)+"\n", "two\n")
			whole(deliver, at(3*time.Second), "lines\n", "10%\r20%\r")
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		schema, err := relay.Close(t.Context())
		if err != nil || schema != "s" {
			t.Errorf("Close = %q, %v, want s", schema, err)
		}
		want := numbered(said{1, "password: ******\n"}, said{1, "\n"}, said{3, "******\n"}, said{3, "10%\r20%\r"})
		checkLines(t, "upload", drone.log, want)
		checkLines(t, "live", drone.live, want[:3])
		if diff := cmp.Diff(&Card{Schema: "s", Data: json.RawMessage(`{"by":"******"}`)}, drone.card); diff != "" {
			t.Errorf("card (-want +got):\n%s", diff)
		}
	})
}

// TestRelayUploadsAnEmptyLog too, as Drone's own runners do.
func TestRelayUploadsAnEmptyLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drone := &fakeDrone{}
		if _, err := New(t.Context(), drone, Config{}).Close(t.Context()); err != nil {
			t.Error(err)
		}
		if drone.uploads != 1 || drone.batches != 0 {
			t.Errorf("%d uploads and %d batches, want 1 and 0", drone.uploads, drone.batches)
		}
	})
}

func TestRelayTellsThatTheUploadFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drone := &fakeDrone{noUpload: errors.New("no")}
		if _, err := New(t.Context(), drone, Config{}).Close(t.Context()); !errors.Is(err, drone.noUpload) {
			t.Errorf("Close: %v, want %v", err, drone.noUpload)
		}
	})
}

// TestRelayGoesOnWithoutCards has a server that knows no cards.
func TestRelayGoesOnWithoutCards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		relay := New(t.Context(), &fakeDrone{noCard: errors.New("404")}, Config{})
		_ = relay.Follow(t.Context(), script(func(deliver func(Record)) error {
			whole(deliver, at(0), encodeCard(`{"schema":"s","data":1}`))
			return nil
		}))
		if schema, err := relay.Close(t.Context()); schema != "" || err != nil {
			t.Errorf("Close = %q, %v, want no schema and no error", schema, err)
		}
	})
}

// TestLiveLinesComeSoon has a line now and then, and then many.
func TestLiveLinesComeSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drone := &fakeDrone{took: 50 * time.Millisecond}
		relay := New(t.Context(), drone, Config{Start: time.Now()})
		written := map[int]time.Time{}
		n := 0
		_ = relay.Follow(t.Context(), script(func(deliver func(Record)) error {
			for range 10 {
				time.Sleep(3 * time.Second)
				written[n] = time.Now()
				whole(deliver, time.Now(), "rare\n")
				n++
			}
			for range 3000 {
				time.Sleep(time.Millisecond)
				written[n] = time.Now()
				whole(deliver, time.Now(), "often\n")
				n++
			}
			time.Sleep(time.Second)
			return nil
		}))
		if len(drone.live) != n {
			t.Fatalf("%d live lines, want %d", len(drone.live), n)
		}
		for i, line := range drone.live {
			if line.Number != i {
				t.Fatalf("live line %d has position %d", i, line.Number)
			}
			if late := drone.at[i].Sub(written[i]); late > liveInterval+100*time.Millisecond {
				t.Errorf("live line %d came after %v", i, late)
			}
		}
		if drone.batches > 10+8 {
			t.Errorf("%d batches for 10 single lines and 3 seconds of many", drone.batches)
		}
		if _, err := relay.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestLiveErrorsAreCountedAndForgotten has a Drone that has forgotten the step for a while.
func TestLiveErrorsAreCountedAndForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewPedanticRegistry()
		metrics := NewMetrics(registry)
		drone := &fakeDrone{}
		relay := New(t.Context(), drone, Config{Start: time.Now(), Metrics: metrics})
		_ = relay.Follow(t.Context(), script(func(deliver func(Record)) error {
			whole(deliver, time.Now(), "a\n")
			time.Sleep(time.Second)
			drone.answer(errors.New("stream: not found"), 0)
			for range 60 {
				whole(deliver, time.Now(), "b\n")
				time.Sleep(time.Second)
			}
			drone.answer(nil, 0)
			time.Sleep(20 * time.Second)
			whole(deliver, time.Now(), "c\n")
			return nil
		}))
		if drone.batches > 12 {
			t.Errorf("%d batches, want fewer while Drone takes none", drone.batches)
		}
		if _, err := relay.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if n := len(drone.log); n != 62 {
			t.Errorf("%d lines in the upload, want 62", n)
		}
		last := drone.live[len(drone.live)-1]
		if last.Message != "c\n" || last.Number != 61 {
			t.Errorf("last live line %+v, want c at 61", last)
		}
		lost := count(t, metrics.lostBatches)
		if lost < 3 || int(lost) > drone.batches-2 {
			t.Errorf("%v batches counted as lost, of %d", lost, drone.batches)
		}
		if n := count(t, metrics.lines); n != 62 {
			t.Errorf("%v lines counted, want 62", n)
		}
		if n := count(t, metrics.bytes); n != 124 {
			t.Errorf("%v bytes counted, want 124", n)
		}
		families, err := registry.Gather()
		if err != nil {
			t.Error(err)
		}
		for _, family := range families {
			if !strings.HasPrefix(family.GetName(), "drone_runner_tekton_log_") {
				t.Errorf("metric %s", family.GetName())
			}
			h := family.Metric[0].Histogram
			if taken := drone.batches - int(lost); h != nil && (int(h.GetSampleCount()) != taken || h.GetSampleSum() < .1) {
				t.Errorf("%d lags of %v s in all, want one for each of %d batches", h.GetSampleCount(), h.GetSampleSum(), taken)
			}
		}
	})
}

func count(t *testing.T, counter prometheus.Counter) float64 {
	t.Helper()
	var m dto.Metric
	if err := counter.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.Counter.GetValue()
}

// TestASlowDroneHoldsNothingUp writes faster than Drone takes: the earliest lines are left out of the live view.
func TestASlowDroneHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drone := &fakeDrone{took: 5 * time.Second}
		relay := New(t.Context(), drone, Config{Start: time.Now()})
		start := time.Now()
		_ = relay.Follow(t.Context(), script(func(deliver func(Record)) error {
			for i := range 20_000 {
				whole(deliver, time.Now(), fmt.Sprintf("line %d\n", i))
				time.Sleep(100 * time.Microsecond)
			}
			return nil
		}))
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("took %v, want 2s", took)
		}
		time.Sleep(20 * time.Second)
		if _, err := relay.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if n := len(drone.log); n != 20_000 {
			t.Errorf("%d lines in the upload, want 20000", n)
		}
		note := slices.IndexFunc(drone.live, func(l Line) bool { return strings.HasPrefix(l.Message, notePrefix) })
		if note < 0 {
			t.Fatal("no note about lines that were left out")
		}
		for i, line := range drone.live {
			if i > 0 && i != note && line.Number != drone.live[i-1].Number+1 {
				t.Errorf("position %d after %d", line.Number, drone.live[i-1].Number)
			}
			if i != note && line.Message != fmt.Sprintf("line %d\n", line.Number) {
				t.Errorf("live line %+v", line)
			}
		}
		if last := drone.live[len(drone.live)-1].Number; last != 19_999 {
			t.Errorf("last live position %d, want 19999", last)
		}
	})
}

// TestCloseDoesNotWaitForLiveLines has a Drone that does not answer to batches at all.
func TestCloseDoesNotWaitForLiveLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drone := &fakeDrone{took: time.Hour}
		relay := New(t.Context(), drone, Config{})
		_ = relay.Follow(t.Context(), script(func(deliver func(Record)) error {
			whole(deliver, time.Now(), "a\n")
			time.Sleep(2 * time.Second)
			whole(deliver, time.Now(), "b\n")
			return nil
		}))
		start := time.Now()
		if _, err := relay.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > closeTimeout {
			t.Errorf("took %v, want at most %v", took, closeTimeout)
		}
		checkLines(t, "upload", drone.log, numbered(said{0, "a\n"}, said{2, "b\n"}))
	})
}

// TestLiveViewThinsOutAboveTheLimit does not send what nobody reads.
func TestLiveViewThinsOutAboveTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drone := &fakeDrone{}
		relay := New(t.Context(), drone, Config{Start: time.Now(), Limit: Limit{Bytes: 10_000}})
		_ = relay.Follow(t.Context(), script(func(deliver func(Record)) error {
			for range 100_000 {
				whole(deliver, time.Now(), "0123456789abcdef\n")
				time.Sleep(100 * time.Microsecond)
			}
			whole(deliver, time.Now(), "last\n")
			time.Sleep(time.Second)
			return nil
		}))
		if n := len(drone.live); n > 5000 || n < 2000 {
			t.Errorf("%d live lines in 10 seconds", n)
		}
		if last := drone.live[len(drone.live)-1]; last.Message != "last\n" || last.Number != 100_000 {
			t.Errorf("last live line %+v", last)
		}
		if _, err := relay.Close(t.Context()); err != nil {
			t.Error(err)
		}
		size := 0
		for i, line := range drone.log {
			size += len(line.Message)
			if line.Number != i {
				t.Errorf("line %d has position %d", i, line.Number)
			}
		}
		if size > 10_200 || size < 10_000 {
			t.Errorf("%d bytes in the upload, want 10000 and the note", size)
		}
	})
}

func TestNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drone := &fakeDrone{}
		relay := New(t.Context(), drone, Config{Start: time.Now(), Masker: NewMasker("hunter2", "one\ntwo")})
		for range 3 {
			relay.Note("waiting: 0/2 nodes are available: 2 Insufficient cpu.")
			time.Sleep(time.Second)
		}
		relay.Note("waiting: pulling image hunter2")
		_ = relay.Follow(t.Context(), script(func(deliver func(Record)) error {
			start := time.Now()
			whole(deliver, start, "a\n")
			relay.Note("between")
			deliver(Record{Time: start, Text: []byte("half "), Start: true})
			relay.Note("not inside a line")
			deliver(Record{Time: start, Text: []byte("line\n"), End: true})
			whole(deliver, start, "x one\n")
			relay.Note("not inside a line that is held back")
			whole(deliver, start, "three\n", "no newline")
			relay.Note("at the end")
			return nil
		}))
		if _, err := relay.Close(t.Context()); err != nil {
			t.Error(err)
		}
		want := numbered(
			said{0, "[runner] waiting: 0/2 nodes are available: 2 Insufficient cpu.\n"},
			said{3, "[runner] waiting: pulling image ******\n"},
			said{3, "a\n"},
			said{3, "[runner] between\n"},
			said{3, "half line\n"},
			said{3, "[runner] not inside a line\n"},
			said{3, "x ******\n"},
			said{3, "three\n"},
			said{3, "[runner] not inside a line that is held back\n"},
			said{3, "no newline\n"},
			said{3, "[runner] at the end\n"},
		)
		checkLines(t, "upload", drone.log, want)
		checkLines(t, "live", drone.live, want)
	})
}

// TestRelayFollowsOneContainerAfterAnother as Tekton's retries have it.
func TestRelayFollowsOneContainerAfterAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drone := &fakeDrone{}
		relay := New(t.Context(), drone, Config{Start: time.Now(), Masker: NewMasker("secret")})
		for _, text := range []string{"first sec", "ret second\n"} {
			_ = relay.Follow(t.Context(), script(func(deliver func(Record)) error {
				whole(deliver, time.Now(), text)
				return nil
			}))
		}
		if _, err := relay.Close(t.Context()); err != nil {
			t.Error(err)
		}
		checkLines(t, "upload", drone.log, numbered(said{0, "first sec\n"}, said{0, "ret second\n"}))
	})
}

// TestRelaySaysWhatIsMissing in the log that it is missing from.
func TestRelaySaysWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drone := &fakeDrone{}
		relay := New(t.Context(), drone, Config{Start: time.Now()})
		gone := errors.New("pods \"x\" not found")
		err := relay.Follow(t.Context(), script(func(deliver func(Record)) error {
			whole(deliver, time.Now(), "a\n")
			deliver(Record{Time: time.Now(), Text: []byte("c\n"), Start: true, End: true, Gap: true})
			whole(deliver, time.Now(), "d")
			return gone
		}))
		if !errors.Is(err, gone) {
			t.Errorf("Follow: %v, want %v", err, gone)
		}
		if _, err := relay.Close(t.Context()); err != nil {
			t.Error(err)
		}
		checkLines(t, "upload", drone.log, numbered(
			said{0, "a\n"},
			said{0, "[runner] lines may be missing here: the node rotated this log while it could not be read\n"},
			said{0, "c\n"},
			said{0, "d\n"},
			said{0, "[runner] the rest of the log is missing: pods \"x\" not found\n"},
		))
	})
}

// TestLogSurvivesTheRunner kills runners at random moments and lets others go on from their cursors: Drone has each
// line live once, in order, and the upload has them all.
func TestLogSurvivesTheRunner(t *testing.T) {
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				drone, node := &fakeDrone{}, newFakeNode()
				masker := NewMasker("hunter2", "line 7\nline 8", "line 13")
				start := time.Now()
				go func() {
					random := rand.New(rand.NewPCG(seed, 2))
					for i := range 60 {
						text := fmt.Sprintf("line %d\n", i)
						if random.IntN(8) == 0 {
							text = "a hunter2\n" + text
						}
						for line := range strings.Lines(text) {
							node.write(time.Now(), line)
						}
						time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
						if random.IntN(8) == 0 {
							node.fail(fault{after: random.IntN(300), err: errReset})
						}
					}
					node.calm(2)
					node.terminate()
				}()

				var cursor Cursor
				for {
					ctx, kill := context.WithCancel(t.Context())
					relay := New(ctx, drone, Config{Start: start, Masker: masker, Head: []string{"warning: a hunter2", "warning: another"}, Cursor: cursor})
					relay.Note("waiting: pulling image")
					life := time.AfterFunc(time.Duration(random.IntN(15_000))*time.Millisecond, kill)
					err := relay.Follow(ctx, node.container())
					if life.Stop() {
						if err != nil {
							t.Fatal(err)
						}
						if _, err := relay.Close(ctx); err != nil {
							t.Fatal(err)
						}
						kill()
						break
					}
					synctest.Wait()
					stored, err := json.Marshal(relay.Cursor())
					if err != nil {
						t.Fatal(err)
					}
					cursor = Cursor{}
					if err := json.Unmarshal(stored, &cursor); err != nil {
						t.Fatal(err)
					}
				}

				want := numbered(said{0, "[runner] warning: a ******\n"}, said{0, "[runner] warning: another\n"}, said{0, "[runner] waiting: pulling image\n"})
				for line := range strings.Lines(masker.Mask(node.written.String())) {
					want = append(want, Line{Number: len(want), Message: line})
				}
				clearTimes := func(lines []Line) []Line {
					for i := range lines {
						lines[i].Timestamp = 0
					}
					return lines
				}
				checkLines(t, "upload", clearTimes(drone.log), want)
				checkLines(t, "live", clearTimes(drone.live), want)
			})
		})
	}
}

// TestRestartAfterARotationSaysSo has a node that has no longer what the first runner relayed.
func TestRestartAfterARotationSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drone, node := &fakeDrone{}, newFakeNode()
		start := time.Now()
		node.write(time.Now(), "a\n", "b\n")
		time.AfterFunc(time.Second, func() { node.write(time.Now(), "c\n", "d\n") })

		ctx, kill := context.WithTimeout(t.Context(), 3*time.Second)
		defer kill()
		first := New(ctx, drone, Config{Start: start})
		if err := first.Follow(ctx, node.container()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Follow: %v, want %v", err, context.DeadlineExceeded)
		}
		node.rotate()
		node.write(start.Add(time.Second), "d\n")
		node.write(time.Now(), "e\n")
		node.terminate()

		second := New(t.Context(), drone, Config{Start: start, Cursor: first.Cursor()})
		if err := second.Follow(t.Context(), node.container()); err != nil {
			t.Error(err)
		}
		if _, err := second.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkLines(t, "upload", drone.log, numbered(
			said{1, "[runner] the runner was restarted, and the node no longer has the beginning of this log\n"},
			said{1, "d\n"},
			said{3, "e\n"},
		))
		checkLines(t, "live", drone.live, numbered(
			said{0, "a\n"}, said{0, "b\n"}, said{1, "c\n"}, said{1, "d\n"}, said{3, "e\n"},
		))
	})
}

// TestCursorIsSmall, since it is kept in an annotation.
func TestCursorIsSmall(t *testing.T) {
	cursor := Cursor{Lines: 1e9, Bytes: 1e12, Next: 1e9}
	cursor.line(time.Now())
	for i := range 100 {
		cursor.note(Note{Text: fmt.Sprintf("%d: %s", i, strings.Repeat("x", 150)), Sec: 1e6})
	}
	stored, err := json.Marshal(cursor)
	if err != nil {
		t.Fatal(err)
	}
	if len(stored) > 4<<10 {
		t.Errorf("%d bytes, want at most 4 KiB", len(stored))
	}
	if last := cursor.Notes[len(cursor.Notes)-1].Text; !strings.HasPrefix(last, "99:") {
		t.Errorf("last note is %.10q, want the 99th", last)
	}
	if empty, _ := json.Marshal(Cursor{}); string(empty) != "{}" {
		t.Errorf("an empty cursor is %s, want {}", empty)
	}
}

// TestSecretsStayHiddenAcrossPieces has a secret on the border between two pieces of a long line.
func TestSecretsStayHiddenAcrossPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const secret = "s3cr3t-value"
		for shift := range len(secret) {
			drone, node := &fakeDrone{}, newFakeNode()
			text := strings.Repeat("x", pieceSize-stamped-shift) + secret + strings.Repeat("y", pieceSize) +
				base64.StdEncoding.EncodeToString([]byte(secret)) + "\n"
			node.write(time.Now(), text[:pieceSize], text[pieceSize:])
			node.terminate()
			relay := New(t.Context(), drone, Config{Masker: NewMasker(secret)})
			if err := relay.Follow(t.Context(), node.container()); err != nil {
				t.Fatal(err)
			}
			if _, err := relay.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := strings.Repeat("x", pieceSize-stamped-shift) + maskText + strings.Repeat("y", pieceSize) + maskText + "\n"
			if len(drone.log) != 1 || drone.log[0].Message != want {
				t.Errorf("with the secret %d bytes before the border, the log is not masked", shift)
			}
		}
	})
}
