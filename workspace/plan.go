package workspace

import (
	"fmt"
	"slices"
)

// shared is the name of the one claim of a run.
const shared = "files"

// Plan decides. The same request gives the same decision.
func Plan(r Request) Decision {
	o := r.Options.Defaults()
	d := Decision{Layout: o.Layout, Places: map[string]Place{}}
	d.Tasks = tasks(o.Layout, r.Steps)
	switch o.Layout {
	case Steps:
		d.because("layout", "steps: each step is a task with its own pod, resources and node")
	case Chains:
		d.because("layout", fmt.Sprintf("chains: %d steps in %d tasks; steps that follow each other share a pod", len(r.Steps), len(d.Tasks)))
	case Pod:
		d.because("layout", "pod: all steps run one after the other in one pod, which needs no claim")
	}
	if o.Layout == Pod {
		for _, v := range r.Volumes {
			d.Places[v.Name] = inPod(v)
		}
		return d
	}
	if len(r.Volumes) == 0 {
		d.because("claims", "no step needs a volume, so there is no claim")
		return d
	}
	d.AsVolume = o.Spread
	placeVolumes(&d, r, o)
	d.checkClaims(r, o)
	return d
}

// inPod is a place in the pod of the one task that uses a volume.
func inPod(v Volume) Place {
	if !v.Memory {
		return Place{}
	}
	return Place{Memory: true, SizeLimit: v.SizeLimit}
}

func placeVolumes(d *Decision, r Request, o Options) {
	claim := Claim{
		StorageClass: o.StorageClass, AccessMode: o.AccessMode, Size: o.Size, Existing: o.Existing,
		Beside: o.Existing == "" && (o.Spread || r.Outside),
	}
	for _, v := range r.Volumes {
		if v.Memory && usedByOneTask(v.Name, d.Tasks, r) {
			d.Places[v.Name] = inPod(v)
			d.because(v.Name, "in memory: one task alone uses it")
			continue
		}
		c := claim
		c.Name = shared
		place := Place{Claim: shared, SubPath: v.Name}
		if o.Claims == PerVolume && o.Existing == "" {
			c.Name = v.Name
			place = Place{Claim: v.Name}
		}
		d.Places[v.Name] = place
		if !slices.Contains(d.Claims, c) {
			d.Claims = append(d.Claims, c)
		}
		if v.Memory {
			d.because(v.Name, "on the claim, not in memory: several pods share it")
		}
	}
	d.explainClaims(o)
}

func (d *Decision) explainClaims(o Options) {
	switch {
	case len(d.Claims) == 0:
		return
	case o.Existing != "":
		d.because("claims", fmt.Sprintf("the existing claim %s holds all volumes, below a folder of the run", o.Existing))
	case o.Claims == PerVolume:
		d.because("claims", "one claim for each volume, as asked; Tekton's default co-scheduling rejects a task with two")
	default:
		d.because("claims", "one claim holds all volumes: Tekton's default co-scheduling rejects a task with two")
	}
}

// usedByOneTask reports whether all steps that mount a volume are in one task, and nothing outside the tasks mounts it.
func usedByOneTask(volume string, tasks [][]string, r Request) bool {
	if r.Outside {
		return false
	}
	users := 0
	for _, task := range tasks {
		if slices.ContainsFunc(r.Steps, func(s Step) bool {
			return slices.Contains(task, s.Name) && slices.Contains(s.Volumes, volume)
		}) {
			users++
		}
	}
	for _, s := range r.Handlers {
		if slices.Contains(s.Volumes, volume) {
			users++
		}
	}
	return users <= 1
}

// tasks groups steps. A chain goes on from a step to the next where the next waits for that step alone, nothing else
// waits for that step, and both mount the same.
func tasks(layout Layout, steps []Step) [][]string {
	var out [][]string
	switch layout {
	case Pod:
		all := make([]string, len(steps))
		for i, s := range steps {
			all[i] = s.Name
		}
		return [][]string{all}
	case Steps:
		for _, s := range steps {
			out = append(out, []string{s.Name})
		}
		return out
	}
	byName := map[string]Step{}
	waiting := map[string]int{}
	for _, s := range steps {
		byName[s.Name] = s
		for _, n := range s.Needs {
			waiting[n]++
		}
	}
	task := map[string]int{}
	for _, s := range steps {
		if len(s.Needs) == 1 && !s.Alone && !s.First {
			before := byName[s.Needs[0]]
			if waiting[before.Name] == 1 && !before.Alone && !before.Last && before.Mounts == s.Mounts {
				i := task[before.Name]
				out[i] = append(out[i], s.Name)
				task[s.Name] = i
				continue
			}
		}
		task[s.Name] = len(out)
		out = append(out, []string{s.Name})
	}
	return out
}
