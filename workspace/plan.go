package workspace

import (
	"fmt"
	"slices"
)

// shared is the name of the one claim of a run.
const shared = "files"

// Plan decides. The same request gives the same decision.
func Plan(r Request) Decision {
	d := Decision{Places: map[string]Place{}}
	o := d.checkOptions(r.Options.Defaults())
	d.Layout = o.Layout
	d.Tasks = tasks(o.Layout, r.Steps)
	d.explainLayout(len(r.Steps))
	if o.Layout == Pod {
		d.placeInPod(r, o)
		return d
	}
	d.placeVolumes(r, o)
	if len(d.Claims) == 0 {
		d.because("claims", "no two pods share files, so there is no claim")
		return d
	}
	d.AsVolume = o.Spread
	d.OneNode = !o.Spread && o.AccessMode != readWriteMany && r.Cluster.coschedule() != CoscheduleDisabled
	d.explainClaims(o)
	d.checkClaims(r, o)
	return d
}

func (d *Decision) explainLayout(steps int) {
	switch d.Layout {
	case Steps:
		d.because("layout", "steps: each step is a task with its own pod, resources and node")
	case Chains:
		d.because("layout", fmt.Sprintf("chains: %d steps in %d tasks; steps that follow each other share a pod", steps, len(d.Tasks)))
	case Pod:
		d.because("layout", "pod: all steps run one after the other in one pod, which needs no claim")
	}
}

// placeInPod keeps all volumes in the one pod.
func (d *Decision) placeInPod(r Request, o Options) {
	for _, v := range r.Volumes {
		d.Places[v.Name] = inPod(v)
	}
	if o.Existing != "" {
		d.warn("claims", fmt.Sprintf("the claim %s is not used: in the layout pod all files are in the pod", o.Existing))
	}
	if o.Spread {
		d.because("spread", "one pod is on one node")
	}
}

// inPod is a place in the pod of the one task that uses a volume.
func inPod(v Volume) Place {
	if !v.Memory {
		return Place{}
	}
	return Place{Memory: true, SizeLimit: v.SizeLimit}
}

// placeVolumes keeps a volume that one task alone uses in its pod, and puts those that are shared on claims.
func (d *Decision) placeVolumes(r Request, o Options) {
	for _, v := range r.Volumes {
		if d.usedByOneTask(v.Name, r) && (o.Existing == "" || v.Memory) {
			d.Places[v.Name] = inPod(v)
			if v.Memory {
				d.because(v.Name, "in memory: one task alone uses it")
			} else {
				d.because(v.Name, "in the pod: one task alone uses it")
			}
			continue
		}
		name, place := shared, Place{Claim: shared, SubPath: v.Name}
		if o.Claims == PerVolume && o.Existing == "" {
			name, place.Claim = v.Name, v.Name
		}
		d.Places[v.Name] = place
		i := slices.IndexFunc(d.Claims, func(c Claim) bool { return c.Name == name })
		if i < 0 {
			i = len(d.Claims)
			d.Claims = append(d.Claims, Claim{
				Name: name, StorageClass: o.StorageClass, AccessMode: o.AccessMode, Size: o.Size, Existing: o.Existing,
			})
		}
		if o.Existing == "" && (o.Spread || slices.Contains(r.Outside, v.Name)) {
			d.Claims[i].Beside = true
		}
		if v.Memory {
			d.because(v.Name, "on the claim, not in memory: several pods share it")
		}
	}
}

func (d *Decision) explainClaims(o Options) {
	switch {
	case o.Existing != "" && o.Claims == PerVolume:
		d.because("claims", fmt.Sprintf("the existing claim %s holds all volumes, since it is one; each run has a folder on it, which stays", o.Existing))
	case o.Existing != "":
		d.because("claims", fmt.Sprintf("the existing claim %s holds all volumes; each run has a folder on it, which stays", o.Existing))
	case o.Claims == PerVolume:
		d.because("claims", "one claim for each volume, as asked; Tekton's default co-scheduling rejects a task with two")
	default:
		d.because("claims", "one claim holds all volumes: Tekton's default co-scheduling rejects a task with two")
	}
}

// usedByOneTask reports whether the steps that mount a volume are in one task, and nothing outside the tasks mounts it.
func (d *Decision) usedByOneTask(volume string, r Request) bool {
	if slices.Contains(r.Outside, volume) {
		return false
	}
	mounts := map[string]bool{} // by step that runs in order
	for _, s := range r.Steps {
		mounts[s.Name] = slices.Contains(s.Volumes, volume)
	}
	users := 0
	for _, task := range d.Tasks {
		if slices.ContainsFunc(task, func(name string) bool { return mounts[name] }) {
			users++
		}
	}
	for _, task := range r.Handlers {
		// A handler that stands in for a step runs only where the step has not.
		if slices.ContainsFunc(task, func(s Step) bool {
			return slices.Contains(s.Volumes, volume) && (len(task) > 1 || !mounts[s.Name])
		}) {
			users++
		}
	}
	return users <= 1
}
