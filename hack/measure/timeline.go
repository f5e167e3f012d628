package main

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// mark is a moment in the life of a task.
type mark string

// The marks, in order. All but begun are the moments at which they were seen here, which for containers is up to a second
// after they happened: so often the kubelet looks.
const (
	created   mark = "created"   // the TaskRun exists
	podThere  mark = "pod"       // its pod exists
	scheduled mark = "scheduled" // the pod has a node
	prepared  mark = "prepared"  // its init containers have ended
	begun     mark = "begun"     // the first step's own command runs, by the word of Tekton's entrypoint
	worked    mark = "worked"    // the last step's container has ended
	done      mark = "done"      // the TaskRun has its result
)

// timeline is when each mark was reached.
type timeline map[mark]time.Time

func (t timeline) reach(m mark, when time.Time) {
	if t[m].IsZero() {
		t[m] = when
	}
}

// part is the time between two marks.
type part struct {
	name     string
	from, to mark
}

var parts = []part{
	{"pod made", created, podThere}, {"scheduling", podThere, scheduled}, {"sandbox, init", scheduled, prepared},
	{"start", prepared, begun}, {"work", begun, worked}, {"completion", worked, done},
}

// seePod notes what the state of a pod shows.
func (t timeline) seePod(pod *corev1.Pod, now time.Time) {
	t.reach(podThere, now)
	if pod.Spec.NodeName != "" {
		t.reach(scheduled, now)
	}
	inits := pod.Status.InitContainerStatuses
	ended := len(inits) > 0
	for _, c := range inits {
		ended = ended && c.State.Terminated != nil
	}
	if ended {
		t.reach(prepared, now)
	}
	steps := pod.Status.ContainerStatuses
	all := len(steps) > 0
	for i, c := range steps {
		if end := c.State.Terminated; end == nil {
			all = false
		} else if i == 0 {
			if when, ok := commandStarted(end.Message); ok {
				t.reach(begun, when)
			}
		}
	}
	if all {
		t.reach(worked, now)
	}
}

// commandStarted is the time that Tekton's entrypoint leaves in a step's termination message.
func commandStarted(message string) (time.Time, bool) {
	var results []struct{ Key, Value string }
	if json.Unmarshal([]byte(message), &results) != nil {
		return time.Time{}, false
	}
	for _, r := range results {
		if r.Key == "StartedAt" {
			when, err := time.Parse(time.RFC3339, r.Value)
			return when, err == nil
		}
	}
	return time.Time{}, false
}
