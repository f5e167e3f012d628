package dronetest

import (
	"maps"

	api "github.com/drone/drone-go/drone"
)

// filter is what a runner asks for.
type filter struct {
	Kind    string            `json:"kind"`
	Type    string            `json:"type"`
	OS      string            `json:"os"`
	Arch    string            `json:"arch"`
	Variant string            `json:"variant"`
	Kernel  string            `json:"kernel"`
	Labels  map[string]string `json:"labels"`
}

// waiter is a runner that waits for a stage.
type waiter struct {
	filter filter
	got    chan *stage // Has room for one.
}

// queue has the runners that wait, in the order in which they came.
type queue struct{ waiters []*waiter }

func (q *queue) remove(w *waiter) {
	for i, other := range q.waiters {
		if other == w {
			q.waiters = append(q.waiters[:i:i], q.waiters[i+1:]...)
			return
		}
	}
}

// offer hands each stage that is ready to one runner that waits for such a stage. A stage that nobody has accepted is
// ready still, whoever it has been offered to before. The caller holds the lock.
func (s *Server) offer() {
	unfinished := s.db.unfinished()
	for _, item := range unfinished {
		if item.Status != api.StatusPending || item.Machine != "" || limited(item, unfinished) {
			continue
		}
		for _, w := range s.queue.waiters {
			if w.filter.matches(item) {
				s.queue.remove(w)
				w.got <- item
				break
			}
		}
	}
}

func (f filter) matches(s *stage) bool {
	or := func(value, fallback string) string {
		if value == "" {
			return fallback
		}
		return value
	}
	if or(f.Kind, "pipeline") != or(s.Kind, "pipeline") || or(f.Type, "docker") != or(s.Type, "docker") {
		return false
	}
	if f.OS != "" || f.Arch != "" || f.Variant != "" || f.Kernel != "" {
		switch {
		case f.OS != s.OS, f.Arch != s.Arch, s.Variant != "" && s.Variant != f.Variant,
			s.Kernel != "" && s.Kernel != f.Kernel:
			return false
		}
	}
	return maps.Equal(f.Labels, s.Labels)
}

// limited reports whether older stages hold a stage back: those of the same pipeline by its concurrency limit, those
// of the same repository by its throttle. Stages that are pending count as those that run do.
func limited(item *stage, unfinished []*stage) bool {
	same, all := 0, 0
	for _, other := range unfinished {
		if other.RepoID != item.RepoID || other.ID >= item.ID {
			continue
		}
		all++
		if other.Name == item.Name {
			same++
		}
	}
	return item.Limit > 0 && same >= item.Limit || item.LimitRepo > 0 && all >= item.LimitRepo
}
