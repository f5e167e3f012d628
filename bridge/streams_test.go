package bridge

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/drone-tekton/drone-runner-tekton/bridge/logs"
)

// fakeStreams are the logs of the containers of a fake cluster, by pod/container.
type fakeStreams struct {
	mu      sync.Mutex
	changed chan struct{}
	logs    map[string]*fakeLog
}

type fakeLog struct {
	lines []string // with their timestamps
	times []time.Time
	ended bool
}

func newFakeStreams() *fakeStreams {
	return &fakeStreams{changed: make(chan struct{}), logs: map[string]*fakeLog{}}
}

func (f *fakeStreams) change(key string, do func(*fakeLog)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.logs[key] == nil {
		f.logs[key] = &fakeLog{}
	}
	do(f.logs[key])
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fakeStreams) write(key string, lines ...string) {
	f.change(key, func(l *fakeLog) {
		for _, line := range lines {
			now := time.Now().UTC()
			l.lines = append(l.lines, fmt.Sprintf("%s %s\n", now.Format(time.RFC3339Nano), line))
			l.times = append(l.times, now)
		}
	})
}

func (f *fakeStreams) end(key string) { f.change(key, func(l *fakeLog) { l.ended = true }) }

// Open implements logs.Streams.
func (f *fakeStreams) Open(ctx context.Context, which logs.Stream) (io.ReadCloser, error) {
	key := which.Pod + "/" + which.Container
	f.mu.Lock()
	l := f.logs[key]
	f.mu.Unlock()
	if l == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, which.Pod)
	}
	r, w := io.Pipe()
	go func() {
		for i := 0; ; i++ {
			f.mu.Lock()
			changed, have, ended := f.changed, len(l.lines), l.ended
			line := ""
			if i < have && !l.times[i].Before(which.Since.Truncate(time.Second)) {
				line = l.lines[i]
			}
			f.mu.Unlock()
			if i < have {
				if _, err := io.WriteString(w, line); err != nil {
					return
				}
				continue
			}
			if ended || !which.Follow {
				_ = w.Close()
				return
			}
			i--
			select {
			case <-changed:
			case <-ctx.Done():
				_ = w.CloseWithError(ctx.Err())
				return
			}
		}
	}()
	return r, nil
}
