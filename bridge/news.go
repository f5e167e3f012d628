package bridge

import (
	"sync"
	"time"

	"github.com/drone-tekton/drone-runner-tekton/bridge/status"
)

// news is since when changes in the cluster wait to be looked at, by stage.
type news struct {
	mu    sync.Mutex
	since map[int64]time.Time
}

// came tells that an object of a stage has changed. What came before and waits still counts.
func (n *news) came(stageID int64, at time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, waits := n.since[stageID]; !waits {
		n.since[stageID] = at
	}
}

// take is when the oldest change came that a look at the stage is about; zero where nothing has changed.
func (n *news) take(stageID int64) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := n.since[stageID]
	delete(n.since, stageID)
	return at
}

// due is a status that a step has got in the cluster, and when the runner could know.
type due struct {
	status string
	since  time.Time
}

// note keeps since when steps have something to be told of.
func (s *session) note(a status.Answer, now time.Time) {
	if !s.news.IsZero() {
		now = s.news
	}
	for i, step := range s.entry.Steps {
		if to := a.Steps[i].Status; to != step.Told.Status && s.dues[step.Number].status != to {
			s.dues[step.Number] = due{to, now}
		}
	}
}
