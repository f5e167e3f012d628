package workspace

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// checkClaims says where the tasks can run with the claims of the decision, and what the cluster will not do.
func (d *Decision) checkClaims(r Request, o Options) {
	if len(d.Claims) == 0 {
		return
	}
	d.checkClass(r.Cluster, o)
	d.checkTwoClaims(r)
	mode := r.Cluster.coschedule()
	switch {
	case o.Spread && o.AccessMode != corev1.ReadWriteMany && o.Existing == "":
		d.problem("spread", "tasks cannot spread over nodes with a claim of "+string(o.AccessMode)+
			", which one node alone can mount; use ReadWriteMany, or leave out spread")
	case o.Spread && (mode == CoschedulePipelineRuns || mode == CoscheduleIsolate):
		d.warn("spread", fmt.Sprintf("the cluster keeps all tasks of a run on one node (coschedule: %s), spread or not", mode))
	case o.Spread:
		d.because("spread", "the claim is a volume of the tasks, which the affinity assistant does not see, so tasks run on any node")
	case mode == CoscheduleDisabled && o.AccessMode == corev1.ReadWriteMany:
		d.because("spread", "tasks run on any node: co-scheduling is disabled, and the claim is ReadWriteMany")
	case mode == CoscheduleDisabled && o.AccessMode == corev1.ReadWriteOnce:
		d.warn("spread", "co-scheduling is disabled and the claim is ReadWriteOnce: parallel tasks on two nodes would wait for "+
			"each other's volume; use ReadWriteMany, or the layout pod")
	case o.AccessMode == corev1.ReadWriteMany:
		d.because("spread", fmt.Sprintf("tasks that share the claim run on one node (coschedule: %s); with spread they would run on any", mode))
	default:
		d.because("spread", fmt.Sprintf("tasks that share the claim run on one node (coschedule: %s), as ReadWriteOnce needs", mode))
	}
}

// checkClass finds claims that no storage class would ever fill: their pods wait until the run's timeout, and nothing
// says why.
func (d *Decision) checkClass(c *Cluster, o Options) {
	if c == nil || o.Existing != "" {
		return
	}
	class, found := c.class(o.StorageClass)
	switch {
	case !found && o.StorageClass == "":
		d.problem("claims", "the cluster has no default storage class (classes: "+c.classNames()+
			"), so the claim would wait for ever; name a class, or use the layout pod, which needs no claim")
	case !found:
		d.problem("claims", fmt.Sprintf("the cluster has no storage class %q (classes: %s)", o.StorageClass, c.classNames()))
	case class.Immediate && o.AccessMode == corev1.ReadWriteOnce:
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
	// Steps of one task mount the same, and all steps mount the source, so that a step shows what its task binds.
	for _, s := range slices.Concat(r.Steps, r.Handlers) {
		claims := map[string]bool{}
		for _, v := range s.Volumes {
			if c := d.Places[v].Claim; c != "" {
				claims[c] = true
			}
		}
		if len(claims) > 1 {
			d.problem("claims", fmt.Sprintf("step %s would bind %d claims, which Tekton rejects with coschedule: workspaces; "+
				"let volumes share one claim, or change Tekton's feature flag", s.Name, len(claims)))
			return
		}
	}
}
