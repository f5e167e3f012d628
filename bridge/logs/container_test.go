package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// collector joins records to the lines that they make.
type collector struct {
	lines []string
	gaps  int
	open  bool
}

func (c *collector) deliver(r Record) {
	if r.Start == c.open {
		panic(fmt.Sprintf("record %+v while open is %v", r, c.open))
	}
	if r.Start {
		c.lines = append(c.lines, "")
	}
	if r.Gap {
		c.gaps++
	}
	c.lines[len(c.lines)-1] += string(r.Text)
	c.open = !r.End
}

// at is a time of the fake clock's first day.
func at(d time.Duration) time.Time {
	return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(d)
}

// stamped is the length of a timestamp before a line.
const stamped = len("2000-01-01T00:00:00.000000000Z ")

var (
	errReset    = errors.New("connection reset by peer")
	errServer   = apierrors.NewInternalError(errors.New("dial tcp: connection refused"))
	errNotFound = apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "pod")
	errRefused  = apierrors.NewBadRequest("container is not available")
)

// TestFollowDeliversEachLineOnceAndInOrder breaks the log's way in all ways that are known.
func TestFollowDeliversEachLineOnceAndInOrder(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 5*pieceSize/16)
	tests := []struct {
		name string
		play func(n *fakeNode)
	}{
		{"nothing at all", func(n *fakeNode) {}},
		{"one line", func(n *fakeNode) { n.write(time.Now(), "a\n") }},
		{"empty lines", func(n *fakeNode) { n.write(time.Now(), "\n", "\n", "a\n", "\n") }},
		{"no newline at the end", func(n *fakeNode) { n.write(time.Now(), "a\n", "b") }},
		{"only a line without newline", func(n *fakeNode) { n.write(time.Now(), "a") }},
		{"lines over time", func(n *fakeNode) {
			for i := range 100 {
				n.write(time.Now(), fmt.Sprintf("line %d\n", i))
				time.Sleep(300 * time.Millisecond)
			}
		}},
		{"a stream that breaks between lines", func(n *fakeNode) {
			n.fail(fault{after: 2 * (stamped + 2), err: errReset})
			n.write(time.Now(), "a\n", "b\n", "c\n", "d\n")
			time.Sleep(time.Minute)
		}},
		{"a stream that breaks in the middle of a line", func(n *fakeNode) {
			n.fail(fault{after: stamped + 4, err: errReset})
			n.write(time.Now(), "a line\n", "b\n")
			time.Sleep(time.Minute)
		}},
		{"a stream that breaks in a timestamp", func(n *fakeNode) {
			n.fail(fault{after: stamped + 2 + 10, err: errReset}, fault{after: 5, err: errReset})
			n.write(time.Now(), "a\n", "b\n")
			time.Sleep(time.Minute)
		}},
		{"a stream that breaks among lines of one timestamp", func(n *fakeNode) {
			n.fail(fault{after: 3 * (stamped + 2), err: errReset}, fault{after: 5 * (stamped + 2), err: errReset})
			n.write(time.Now(), "a\n", "a\n", "a\n", "a\n", "b\n", "a\n", "a\n")
			time.Sleep(time.Minute)
		}},
		{"a clock that stands still", func(n *fakeNode) {
			n.fail(fault{after: 3000 * (stamped + 2), err: errReset}, fault{after: 4000 * (stamped + 2), err: errReset})
			for range 5000 {
				n.write(at(time.Hour), "a\n")
			}
			time.Sleep(time.Minute)
		}},
		{"timestamps in another order than lines", func(n *fakeNode) {
			n.fail(fault{after: 2 * (stamped + 2), err: errReset})
			n.write(at(time.Hour+20*time.Microsecond), "b\n")
			n.write(at(time.Hour), "a\n") // The other output stream, across a second.
			n.write(at(time.Hour-10*time.Microsecond), "c\n")
			n.write(at(time.Hour+30*time.Microsecond), "d\n")
			time.Sleep(time.Minute)
		}},
		{"a clock that is set back", func(n *fakeNode) {
			n.fail(fault{after: 3000 * (stamped + 2), err: errReset})
			for i := range 2000 {
				n.write(at(time.Hour+time.Duration(i)*time.Millisecond), "a\n")
			}
			for i := range 2000 {
				n.write(at(time.Duration(i)*time.Millisecond), "b\n")
			}
			time.Sleep(time.Minute)
		}},
		{"a clock that is set back while the stream holds", func(n *fakeNode) {
			n.write(at(time.Hour), "a\n", "b\n")
			time.Sleep(time.Second)
			n.write(at(time.Minute), "c\n")
			time.Sleep(time.Second)
			n.write(at(time.Minute+time.Second), "d\n")
			time.Sleep(time.Minute)
			n.write(at(time.Hour), "e\n")
		}},
		{"a kubelet that reads a file again", func(n *fakeNode) {
			for i := range 5000 {
				n.write(at(time.Duration(i)*time.Millisecond), "a\n")
			}
			time.Sleep(time.Second)
			n.readAgain()
			time.Sleep(time.Minute)
			n.write(time.Now(), "b\n")
			time.Sleep(time.Minute)
		}},
		{"a time zone", func(n *fakeNode) {
			n.fail(fault{after: stamped + 5 + 2, err: errReset})
			n.write(time.Now().In(time.FixedZone("", 2*60*60)), "a\n", "b\n")
			time.Sleep(time.Minute)
		}},
		{"a rotated log", func(n *fakeNode) {
			n.write(time.Now(), "a\n", "b\n")
			time.Sleep(time.Second)
			n.rotate()
			n.write(time.Now(), "c\n")
			time.Sleep(time.Second)
		}},
		{"a stream that ends with the rotation", func(n *fakeNode) {
			n.endsWith = true
			n.write(time.Now(), "a\n", "b\n")
			time.Sleep(time.Second)
			n.rotate()
			n.write(time.Now(), "c\n")
			time.Sleep(time.Second)
			n.write(time.Now(), "d\n")
			time.Sleep(time.Second)
		}},
		{"a rotation within one timestamp", func(n *fakeNode) {
			n.endsWith = true
			n.write(at(time.Hour), "a\n", "b\n")
			time.Sleep(time.Second)
			n.rotate()
			n.write(at(time.Hour), "c\n", "d\n")
			time.Sleep(time.Second)
		}},
		{"errors at first", func(n *fakeNode) {
			for _, err := range []error{errServer, errServer, errNotFound, errRefused, errReset} {
				n.fail(fault{open: err})
			}
			n.write(time.Now(), "a\n", "b\n")
			time.Sleep(time.Minute)
		}},
		{"ten minutes of silence, then a reset", func(n *fakeNode) {
			n.write(time.Now(), "a\n", "b\n")
			time.Sleep(5 * time.Second)
			n.fail(fault{after: 1e6, err: errReset})
			time.Sleep(10 * time.Minute)
			n.fail(fault{after: 1, err: errReset})
			n.write(time.Now(), "c\n")
			time.Sleep(time.Minute)
			n.write(time.Now(), "d\n")
		}},
		{"a container that ends while its stream is broken", func(n *fakeNode) {
			n.fail(fault{after: stamped + 2, err: errReset}, fault{open: errServer}, fault{open: errServer})
			n.write(time.Now(), "a\n", "b\n", "c\n")
			time.Sleep(300 * time.Millisecond)
		}},
		{"a last reading that breaks", func(n *fakeNode) {
			n.fail(fault{after: stamped + 2, err: io.EOF}, fault{after: 3*stamped + 5, err: errReset}, fault{open: errServer})
			n.write(time.Now(), "a\n", "b\n", "c\n")
		}},
		{"a long line in parts", func(n *fakeNode) {
			n.write(time.Now(), "a\n", long[:16<<10], long[16<<10:32<<10], long[32<<10:], "\n", "b\n")
		}},
		{"a stream that breaks in the middle of a long line", func(n *fakeNode) {
			n.fail(fault{after: 40 << 10, err: errReset}, fault{after: 20 << 10, err: errReset})
			n.fail(fault{after: 60 << 10, err: io.EOF})
			n.write(time.Now(), "a\n")
			for part := range 5 {
				n.write(time.Now(), long[part*pieceSize:][:pieceSize])
				time.Sleep(700 * time.Millisecond)
			}
			n.write(time.Now(), "\n", "b\n")
			time.Sleep(time.Minute)
		}},
		{"a long line without newline at the end", func(n *fakeNode) {
			n.fail(fault{after: 40 << 10, err: errReset})
			n.write(time.Now(), long)
			time.Sleep(time.Minute)
		}},
		{"both output streams in one line", func(n *fakeNode) {
			n.fail(fault{after: stamped + 3, err: errReset})
			n.write(at(time.Second-time.Millisecond), "out, ")
			n.write(at(time.Second), "err\n", "rest of out\n", "more\n")
			time.Sleep(time.Minute)
		}},
		{"a line across seconds before the place to resume", func(n *fakeNode) {
			n.fail(fault{after: 2*stamped + 3 + 6, err: errReset})
			n.write(at(time.Second-time.Millisecond), "ab")
			n.write(at(time.Second), "c\n")
			n.write(at(2*time.Second), "later\n", "and\n")
			time.Sleep(time.Minute)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				node, got := newFakeNode(), &collector{}
				go func() {
					test.play(node)
					node.terminate()
				}()
				synctest.Wait() // The play has begun.
				if err := node.container().Follow(t.Context(), got.deliver); err != nil {
					t.Fatalf("Follow: %v", err)
				}
				var want []string
				for line := range strings.Lines(node.written.String()) {
					want = append(want, line)
				}
				if diff := cmp.Diff(want, got.lines); diff != "" {
					t.Errorf("lines (-want +got):\n%.2000s", diff)
				}
				if got.gaps != 0 {
					t.Errorf("%d gaps, want none", got.gaps)
				}
			})
		})
	}
}

// TestFollowSurvivesRandomFaults plays random logs with random faults.
func TestFollowSurvivesRandomFaults(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 0))
				node, got := newFakeNode(), &collector{}
				node.endsWith = random.IntN(2) == 0
				breaks := random.IntN(2) == 0 // Else, the clock may be set back; both at once is too much for Kubernetes.
				rereads := random.IntN(2) == 0
				go func() {
					setBack := time.Duration(0)
					now := func() time.Time {
						if rereads {
							time.Sleep(time.Microsecond) // With equal timestamps, nobody can tell.
						}
						return time.Now().Add(-setBack)
					}
					node.write(now(), "first\n")
					time.Sleep(time.Second)
					for i := range random.IntN(60) {
						text := fmt.Sprint("line ", i, strings.Repeat("x", random.IntN(40)))
						if random.IntN(10) == 0 {
							text += strings.Repeat("y", random.IntN(4*pieceSize))
						}
						for len(text) > pieceSize {
							node.write(now(), text[:pieceSize])
							text = text[pieceSize:]
							time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
						}
						node.write(now(), text+"\n")
						switch random.IntN(12) {
						case 0:
							time.Sleep(time.Duration(random.IntN(100)) * time.Second)
						case 1, 2, 3:
							time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
						case 4, 5:
							if !breaks {
								setBack += time.Duration(1100+random.IntN(10_000)) * time.Millisecond
								continue
							}
							err := []error{errReset, io.ErrUnexpectedEOF, io.EOF}[random.IntN(3)]
							node.fail(fault{after: random.IntN(3 * pieceSize), err: err})
						case 6:
							if breaks {
								node.fail(fault{open: errServer})
							}
						case 7:
							if rereads {
								node.readAgain()
							}
						}
					}
					node.calm(3)
					node.terminate()
				}()
				if err := node.container().Follow(t.Context(), got.deliver); err != nil {
					t.Fatalf("Follow: %v", err)
				}
				if diff := cmp.Diff(summary(node.written.String()), summary(strings.Join(got.lines, ""))); diff != "" {
					t.Errorf("lines (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// summary lists the beginnings and the lengths of lines.
func summary(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		all = append(all, fmt.Sprintf("%.10q…, %d bytes", line, len(line)))
	}
	return all
}

// TestFollowSaysWhereLinesMayBeMissing rotates the log while its stream is broken: what was in the old file and had not
// been read is gone.
func TestFollowSaysWhereLinesMayBeMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, got := newFakeNode(), &collector{}
		node.fail(fault{after: 40, err: errReset}, fault{open: errServer})
		node.write(time.Now(), "a\n", "lost\n")
		go func() {
			time.Sleep(100 * time.Millisecond)
			node.rotate()
			node.write(time.Now(), "c\n", "d\n")
			time.Sleep(time.Minute)
			node.terminate()
		}()
		if err := node.container().Follow(t.Context(), got.deliver); err != nil {
			t.Fatal(err)
		}
		if want := []string{"a\n", "c\n", "d\n"}; !cmp.Equal(got.lines, want) || got.gaps != 1 {
			t.Errorf("lines %q with %d gaps, want %q with 1", got.lines, got.gaps, want)
		}
	})
}

// TestFollowGivesUp ends, with what could be read, when a terminated container's log cannot be had.
func TestFollowGivesUp(t *testing.T) {
	kubelet := "unable to retrieve container logs for containerd://0123"
	tests := []struct {
		name  string
		fault fault
		words bool
		after time.Duration // no earlier and not much later
		want  string
	}{
		{name: "the pod is gone", fault: fault{open: errNotFound}, want: "not found"},
		{name: "the kubelet has no log", fault: fault{open: errRefused}, after: refusedTries, want: "not available"},
		{name: "the node does not answer", fault: fault{open: errServer}, after: lastTries, want: "connection refused"},
		{name: "streams break at once", fault: fault{err: errReset}, after: lastTries, want: "reset by peer"},
		{name: "words of the kubelet instead of a log", words: true, after: lastTries, want: kubelet},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				node, got := newFakeNode(), &collector{}
				node.write(time.Now(), "a\n", "half a line")
				node.fail(fault{after: 2*stamped + 2 + 6, err: errReset})
				for range 100 {
					node.fail(test.fault)
				}
				container := node.container()
				if test.words {
					container.Streams = wordsAfter{node, kubelet}
				}
				time.AfterFunc(200*time.Millisecond, node.terminate)
				start := time.Now()
				err := container.Follow(t.Context(), got.deliver)
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("Follow: %v, want an error with %q", err, test.want)
				}
				if took := time.Since(start); took < test.after || took > 2*test.after+time.Second {
					t.Errorf("gave up after %v, want %v or a little more", took, test.after)
				}
				if want := []string{"a\n", "half a"}; !cmp.Equal(got.lines, want) {
					t.Errorf("lines %q, want %q", got.lines, want)
				}
			})
		})
	}
}

// wordsAfter serves the first stream of a node, and then what a kubelet says when it has sent its header already.
type wordsAfter struct {
	node  *fakeNode
	words string
}

func (s wordsAfter) Open(ctx context.Context, which Stream) (io.ReadCloser, error) {
	if len(s.node.opened()) == 0 {
		return s.node.Open(ctx, which)
	}
	return io.NopCloser(strings.NewReader(s.words)), nil
}

// TestFollowDoesNotWaitForADeadStream has a stream that neither brings anything nor ends.
func TestFollowDoesNotWaitForADeadStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, got := newFakeNode(), &collector{}
		container := node.container()
		container.Streams = deadStream{node}
		node.write(time.Now(), "a\n")
		time.AfterFunc(time.Minute, node.terminate)
		start := time.Now()
		if err := container.Follow(t.Context(), got.deliver); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > time.Minute+time.Second {
			t.Errorf("took %v, want no more than a second after the container's end", took)
		}
		if want := []string{"a\n"}; !cmp.Equal(got.lines, want) {
			t.Errorf("lines %q, want %q", got.lines, want)
		}
	})
}

type deadStream struct{ node *fakeNode }

func (s deadStream) Open(ctx context.Context, which Stream) (io.ReadCloser, error) {
	if which.Follow {
		r, _ := io.Pipe()
		return r, nil
	}
	return s.node.Open(ctx, which)
}

// TestFollowOpensASilentStreamAnew has a stream that is stuck at a rotated file.
func TestFollowOpensASilentStreamAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, got := newFakeNode(), &collector{}
		container := node.container()
		first := true
		container.Streams = streamsFunc(func(ctx context.Context, which Stream) (io.ReadCloser, error) {
			if first {
				first = false
				r, _ := io.Pipe()
				return r, nil
			}
			return node.Open(ctx, which)
		})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(silence+time.Second, func() { node.write(time.Now(), "a\n") })
		time.AfterFunc(silence+2*time.Second, cancel)
		if err := container.Follow(ctx, got.deliver); !errors.Is(err, context.Canceled) {
			t.Errorf("Follow: %v, want %v", err, context.Canceled)
		}
		if want := []string{"a\n"}; !cmp.Equal(got.lines, want) {
			t.Errorf("lines %q, want %q", got.lines, want)
		}
	})
}

type streamsFunc func(context.Context, Stream) (io.ReadCloser, error)

func (f streamsFunc) Open(ctx context.Context, which Stream) (io.ReadCloser, error) {
	return f(ctx, which)
}

// TestFollowAsksForLittle counts the calls for a container that nothing happens to.
func TestFollowAsksForLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, got := newFakeNode(), &collector{}
		go func() {
			for range 100 {
				node.write(time.Now(), "a\n")
				time.Sleep(time.Second)
			}
			node.terminate()
		}()
		if err := node.container().Follow(t.Context(), got.deliver); err != nil {
			t.Fatal(err)
		}
		want := []Stream{
			{Namespace: "builds", Pod: "pod", Container: "step", Follow: true},
			{Namespace: "builds", Pod: "pod", Container: "step", Since: at(98 * time.Second)},
		}
		if diff := cmp.Diff(want, node.opened()); diff != "" {
			t.Errorf("streams (-want +got):\n%s", diff)
		}
	})
}

// TestFollowEndsWithItsContext ends at once, whatever it is at.
func TestFollowEndsWithItsContext(t *testing.T) {
	for _, fault := range []fault{{}, {open: errServer}} {
		synctest.Test(t, func(t *testing.T) {
			node := newFakeNode()
			for range 100 {
				node.fail(fault)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			start := time.Now()
			if err := node.container().Follow(ctx, (&collector{}).deliver); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Follow: %v, want %v", err, context.DeadlineExceeded)
			}
			if took := time.Since(start); took != 10*time.Second {
				t.Errorf("took %v, want 10s", took)
			}
		})
	}
}
