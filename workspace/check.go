package workspace

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	readWriteOnce = corev1.ReadWriteOnce
	readWriteMany = corev1.ReadWriteMany
)

// checkOptions replaces what nothing can be made of by its default, and says so.
func (d *Decision) checkOptions(o Options) Options {
	if known := []Layout{Steps, Chains, Pod}; !slices.Contains(known, o.Layout) {
		d.problem("layout", fmt.Sprintf("there is no layout %q; use %s", o.Layout, oneOf(known)))
		o.Layout = Steps
	}
	if known := []Claims{Shared, PerVolume}; !slices.Contains(known, o.Claims) {
		d.problem("claims", fmt.Sprintf("claims cannot be %q; use %s", o.Claims, oneOf(known)))
		o.Claims = Shared
	}
	// A claim that one pod alone can use is taken by the affinity assistant, and one that nobody can write to is of no use.
	if known := []corev1.PersistentVolumeAccessMode{readWriteOnce, readWriteMany}; !slices.Contains(known, o.AccessMode) {
		d.problem("claims", fmt.Sprintf("steps cannot share a claim with the access mode %q; use %s", o.AccessMode, oneOf(known)))
		o.AccessMode = readWriteOnce
	}
	if q, err := resource.ParseQuantity(o.Size); err != nil || q.Sign() <= 0 {
		d.problem("claims", fmt.Sprintf("%q is no size of a claim; use an amount such as %s", o.Size, DefaultSize))
		o.Size = DefaultSize
	}
	return o
}

func oneOf[T ~string](words []T) string {
	var all []string
	for _, w := range words {
		all = append(all, string(w))
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// checkClaims says where the tasks can run with the claims of the decision, and what the cluster will not do.
func (d *Decision) checkClaims(r Request, o Options) {
	d.checkClass(r.Cluster, o)
	d.checkTwoClaims(r)
	mode := r.Cluster.coschedule()
	switch {
	case o.Spread && o.AccessMode != readWriteMany && o.Existing == "":
		d.problem("spread", "tasks cannot spread over nodes with a claim of "+string(o.AccessMode)+
			", which one node alone can mount; use ReadWriteMany, or leave out spread")
	case o.Spread && (mode == CoschedulePipelineRuns || mode == CoscheduleIsolate):
		d.warn("spread", fmt.Sprintf("the cluster keeps all tasks of a run on one node (coschedule: %s), spread or not", mode))
	case o.Spread:
		d.AnyNode = true
		d.because("spread", "the claim is a volume of the tasks, which the affinity assistant does not see, so tasks run on any node")
	case mode == CoscheduleDisabled && o.AccessMode == readWriteMany:
		d.AnyNode = true
		d.because("spread", "tasks run on any node: co-scheduling is disabled, and the claim is ReadWriteMany")
	case mode == CoscheduleDisabled && o.Existing != "":
		d.warn("spread", fmt.Sprintf("co-scheduling is disabled, so tasks run on any node: where one node alone can mount the claim %s, "+
			"parallel tasks would wait for each other's volume; use a claim that is ReadWriteMany, or the layout pod", o.Existing))
	case mode == CoscheduleDisabled:
		d.warn("spread", "co-scheduling is disabled and the claim is ReadWriteOnce: parallel tasks on two nodes would wait for "+
			"each other's volume; use ReadWriteMany, or the layout pod")
	case o.AccessMode == readWriteMany:
		d.because("spread", fmt.Sprintf("tasks that share the claim run on one node (coschedule: %s); with spread they would run on any", mode))
	default:
		d.because("spread", fmt.Sprintf("tasks that share the claim run on one node (coschedule: %s), as ReadWriteOnce needs", mode))
	}
}

// checkClass finds claims that no storage class would ever fill: their pods wait until the run's timeout, and nothing
// says why.
func (d *Decision) checkClass(c *Cluster, o Options) {
	if c == nil || c.Unlisted || o.Existing != "" {
		return
	}
	class, found := c.class(o.StorageClass)
	switch {
	case !found && o.StorageClass == "":
		d.problem("claims", "the cluster has no default storage class (classes: "+c.classNames()+
			"), so the claim would wait for ever; name a class, or use the layout pod, which needs no claim")
	case !found:
		d.problem("claims", fmt.Sprintf("the cluster has no storage class %q (classes: %s), so the claim would wait for ever; "+
			"name another class, or use the layout pod, which needs no claim", o.StorageClass, c.classNames()))
	case class.Immediate && o.AccessMode == readWriteOnce:
		d.warn("claims", fmt.Sprintf("the storage class %s places volumes before it knows the pods (volumeBindingMode Immediate); "+
			"a volume may be where the steps' requests do not fit", class.Name))
	default:
		d.because("claims", "the storage class "+class.Name+" makes them")
	}
}

// checkTwoClaims finds tasks that Tekton would reject for binding two claims.
func (d *Decision) checkTwoClaims(r Request) {
	if d.AsVolume || r.Cluster.coschedule() != CoscheduleWorkspaces {
		return
	}
	byName := map[string]Step{}
	for _, s := range r.Steps {
		byName[s.Name] = s
	}
	groups := slices.Clone(r.Handlers)
	for _, names := range d.Tasks {
		var group []Step
		for _, name := range names {
			group = append(group, byName[name])
		}
		groups = append(groups, group)
	}
	for _, group := range groups {
		claims := map[string]bool{}
		for _, s := range group {
			for _, v := range s.Volumes {
				if c := d.Places[v].Claim; c != "" {
					claims[c] = true
				}
			}
		}
		if len(claims) > 1 {
			d.problem("claims", fmt.Sprintf("the task of step %s would bind %d claims, which Tekton rejects with coschedule: workspaces; "+
				"let volumes share one claim, or change Tekton's feature flag", group[0].Name, len(claims)))
			return
		}
	}
}
