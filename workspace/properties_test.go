package workspace

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

var volumeNames = []string{"source", "v1", "v2", "v3"}

// requests are pipelines of up to eight steps in any order that has no circle, with any options, on any cluster.
func requests(t *rapid.T) Request {
	mounted := rapid.SliceOfNDistinct(rapid.SampledFrom(volumeNames), 0, len(volumeNames), rapid.ID[string])
	r := Request{Options: Options{
		Layout:     rapid.SampledFrom([]Layout{"", Steps, Chains, Pod}).Draw(t, "layout"),
		Claims:     rapid.SampledFrom([]Claims{"", Shared, PerVolume}).Draw(t, "claims"),
		AccessMode: rapid.SampledFrom([]corev1.PersistentVolumeAccessMode{"", oneNode, manyNodes}).Draw(t, "mode"),
		Existing:   rapid.SampledFrom([]string{"", "", "mine"}).Draw(t, "existing"),
		Spread:     rapid.Bool().Draw(t, "spread"),
	}}
	for _, name := range volumeNames {
		r.Volumes = append(r.Volumes, Volume{Name: name, Memory: name != "source" && rapid.Bool().Draw(t, "memory")})
	}
	var names []string
	for i := range rapid.IntRange(0, 8).Draw(t, "steps") {
		s := Step{Name: fmt.Sprint("s", i), Volumes: mounted.Draw(t, "volumes"), Alone: rapid.IntRange(0, 5).Draw(t, "alone") == 0}
		slices.Sort(s.Volumes)
		s.Mounts = strings.Join(s.Volumes, " ")
		if len(names) > 0 {
			s.Needs = rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 2, rapid.ID[string]).Draw(t, "needs")
		}
		names = append(names, s.Name)
		r.Steps = append(r.Steps, s)
		if rapid.IntRange(0, 3).Draw(t, "handler") == 0 {
			h := Step{Name: fmt.Sprint("h", i), Volumes: mounted.Draw(t, "volumes")}
			if s.Alone {
				h.Name, h.Volumes = s.Name, s.Volumes
			}
			if last := len(r.Handlers) - 1; last >= 0 && rapid.Bool().Draw(t, "together") {
				r.Handlers[last] = append(r.Handlers[last], h)
			} else {
				r.Handlers = append(r.Handlers, []Step{h})
			}
		}
	}
	if rapid.Bool().Draw(t, "service") {
		r.Outside = mounted.Draw(t, "outside")
	}
	if rapid.Bool().Draw(t, "known") {
		r.Cluster = &Cluster{
			Coschedule: rapid.SampledFrom([]Coschedule{"", CoscheduleWorkspaces, CoschedulePipelineRuns, CoscheduleIsolate, CoscheduleDisabled}).Draw(t, "coschedule"),
			Classes:    rapid.SliceOfN(rapid.SampledFrom([]Class{{Name: "a"}, {Name: "b", Default: true}, {Name: "c", Immediate: true}}), 0, 3).Draw(t, "classes"),
		}
	}
	return r
}

// groups are the steps of each task of a decision, handlers included.
func groups(r Request, d Decision) [][]Step {
	var out [][]Step
	for _, names := range d.Tasks {
		var group []Step
		for _, s := range r.Steps {
			if slices.Contains(names, s.Name) {
				group = append(group, s)
			}
		}
		out = append(out, group)
	}
	if d.Layout == Pod {
		for _, h := range r.Handlers {
			out[0] = append(out[0], h...)
		}
		return out
	}
	return append(out, r.Handlers...)
}

func TestEveryDecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := requests(t)
		d := Plan(r)
		if diff := cmp.Diff(d, Plan(r)); diff != "" {
			t.Errorf("the same request gives two decisions:\n%s", diff)
		}
		mode := r.Cluster.coschedule()
		for _, group := range groups(r, d) {
			claims := map[string]bool{}
			for _, s := range group {
				for _, v := range s.Volumes {
					place, ok := d.Places[v]
					if !ok {
						t.Errorf("step %s needs the volume %s, which is nowhere", s.Name, v)
					}
					if place.Claim != "" {
						claims[place.Claim] = true
					}
				}
			}
			if len(claims) > 1 && mode == CoscheduleWorkspaces && !d.AsVolume && len(d.Problems) == 0 {
				t.Errorf("a task of %v binds the claims %v, which Tekton rejects", group, claims)
			}
		}
		checkSharing(t, r, d)
		checkTasks(t, r, d)
		checkReasons(t, r, d)
	})
}

// checkSharing: what two pods use at different times is on a claim that both can mount, and no two volumes are at one
// place.
func checkSharing(t *rapid.T, r Request, d Decision) {
	taken := map[Place]string{}
	for name, place := range d.Places {
		if place.Claim == "" {
			users := 0
			var only []Step // of the in-order task that uses it
			for _, group := range groups(r, d) {
				using := slices.DeleteFunc(slices.Clone(group), func(s Step) bool { return !slices.Contains(s.Volumes, name) })
				standsIn := len(group) == 1 && len(only) > 0 && len(using) == 1 && slices.ContainsFunc(only, func(s Step) bool { return s.Name == using[0].Name })
				if len(using) == 0 || standsIn {
					continue
				}
				only = using
				users++
			}
			if d.Layout != Pod && slices.Contains(r.Outside, name) {
				users++
			}
			if users > 1 {
				t.Errorf("%d pods share the volume %s, which is in a pod", users, name)
			}
			continue
		}
		if other, ok := taken[place]; ok {
			t.Errorf("the volumes %s and %s are both at %+v", name, other, place)
		}
		taken[place] = name
		i := slices.IndexFunc(d.Claims, func(c Claim) bool { return c.Name == place.Claim })
		if i < 0 {
			t.Errorf("the volume %s is on the claim %s, which is none of %v", name, place.Claim, d.Claims)
			continue
		}
		c := d.Claims[i]
		if c.Existing == "" && !c.Beside && (d.AsVolume || slices.Contains(r.Outside, name)) {
			t.Errorf("the claim %s has to be mounted by name, and has none", c.Name)
		}
		if d.AsVolume && c.Existing == "" && c.AccessMode != manyNodes && len(d.Problems) == 0 {
			t.Errorf("tasks on several nodes share the claim %s of %s", c.Name, c.AccessMode)
		}
	}
	for i, c := range d.Claims {
		if d.AnyNode && (d.OneNode || c.Existing == "" && c.AccessMode != manyNodes) {
			t.Errorf("tasks run on any node (one node: %v) and share the claim %s of %s", d.OneNode, c.Name, c.AccessMode)
		}
		if c.Existing != "" && i > 0 {
			t.Errorf("one existing claim stands for %v", d.Claims)
		}
	}
}

// checkTasks: each step is in one task, after what it waits for; a task of several steps has neither fork nor join
// inside, and mounts alike.
func checkTasks(t *rapid.T, r Request, d Decision) {
	place := map[string][2]int{}
	for i, task := range d.Tasks {
		for j, name := range task {
			if _, twice := place[name]; twice {
				t.Errorf("step %s is in two tasks: %v", name, d.Tasks)
			}
			place[name] = [2]int{i, j}
		}
	}
	waiting := map[string][]string{}
	for _, s := range r.Steps {
		for _, n := range s.Needs {
			waiting[n] = append(waiting[n], s.Name)
		}
	}
	for _, s := range r.Steps {
		at, ok := place[s.Name]
		if !ok {
			t.Errorf("step %s is in no task: %v", s.Name, d.Tasks)
			continue
		}
		for _, n := range s.Needs {
			if before := place[n]; before[0] == at[0] && before[1] >= at[1] {
				t.Errorf("step %s waits for %s, which comes later in its task: %v", s.Name, n, d.Tasks)
			}
		}
		if d.Layout != Chains || at[1] == 0 {
			continue
		}
		previous := d.Tasks[at[0]][at[1]-1]
		i := slices.IndexFunc(r.Steps, func(o Step) bool { return o.Name == previous })
		if !slices.Equal(s.Needs, []string{previous}) || len(waiting[previous]) != 1 || r.Steps[i].Mounts != s.Mounts || s.Alone || r.Steps[i].Alone {
			t.Errorf("step %s is in a chain with %s: it waits for %v, for which %v wait", s.Name, previous, s.Needs, waiting[previous])
		}
	}
}

// checkReasons: every decision has reasons, and every problem names a way out.
func checkReasons(t *rapid.T, r Request, d Decision) {
	topics := map[string]bool{}
	for _, reason := range slices.Concat(d.Reasons, d.Warnings, d.Problems) {
		topics[reason.Topic] = true
		if reason.Text == "" {
			t.Errorf("a reason for %s has no text", reason.Topic)
		}
	}
	if !topics["layout"] || d.Layout != Pod && !topics["claims"] || len(d.Claims) > 0 && !topics["spread"] {
		t.Errorf("reasons are missing:\n%s", reasons(d.Reasons))
	}
	for _, p := range d.Problems {
		if !strings.Contains(p.Text, "; ") || !slices.ContainsFunc([]string{"use ", "name ", "let "}, func(w string) bool { return strings.Contains(p.Text, w) }) {
			t.Errorf("a problem without a way out: %s", p.Text)
		}
	}
	if o := r.Options.Defaults(); o.Layout == Pod && len(d.Problems)+len(d.Claims) > 0 {
		t.Errorf("the layout pod has problems %v or claims %v", d.Problems, d.Claims)
	}
}
