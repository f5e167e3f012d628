package translate

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// resources are what a step asks for. The limit is the step's own, else the default. The request is the step's own, else
// the pipeline's, else the default, and never above the limit.
//
// Drone's kubernetes runner splits the pipeline's requests over the containers of its one pod, and does not read those of
// a step. Here each step is a pod of its own, so that each gets what it needs.
func (l *lowering) resources(spec *drone.Step) corev1.ResourceRequirements {
	own := spec.Resources
	if !l.plan.Pipeline.IsKubernetes() {
		own = drone.Resources{Limits: drone.ResourceList{Memory: spec.MemLimit}}
	}
	pipeline := l.plan.Pipeline.Resources.Requests
	limits := drone.ResourceList{
		CPU:    cmp.Or(own.Limits.CPU, l.options.Limits.CPU),
		Memory: cmp.Or(own.Limits.Memory, l.options.Limits.Memory),

		EphemeralStorage: own.Limits.EphemeralStorage,
	}
	requests := drone.ResourceList{
		CPU:    cmp.Or(own.Requests.CPU, pipeline.CPU, l.options.Requests.CPU),
		Memory: cmp.Or(own.Requests.Memory, pipeline.Memory, l.options.Requests.Memory),

		EphemeralStorage: cmp.Or(own.Requests.EphemeralStorage, pipeline.EphemeralStorage),
	}
	if limits.CPU > 0 {
		requests.CPU = min(requests.CPU, limits.CPU)
	}
	if limits.Memory > 0 {
		requests.Memory = min(requests.Memory, limits.Memory)
	}
	if limits.EphemeralStorage > 0 {
		requests.EphemeralStorage = min(requests.EphemeralStorage, limits.EphemeralStorage)
	}
	return corev1.ResourceRequirements{Limits: resourceList(limits), Requests: resourceList(requests)}
}

func resourceList(r drone.ResourceList) corev1.ResourceList {
	list := corev1.ResourceList{}
	if r.CPU > 0 {
		list[corev1.ResourceCPU] = *resource.NewMilliQuantity(r.CPU, resource.DecimalSI)
	}
	if r.Memory > 0 {
		list[corev1.ResourceMemory] = *resource.NewQuantity(int64(r.Memory), resource.BinarySI)
	}
	if r.EphemeralStorage > 0 {
		list[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(int64(r.EphemeralStorage), resource.BinarySI)
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// ShareRequests lets the steps of one task ask for what the largest of them needs, and not for the sum. Kubernetes adds
// up the requests of a pod's containers, and takes a limit for a request where there is none; but the steps of a task run
// one after the other. So of each resource, the step that asks for the most keeps its request, and the others ask for
// nothing.
func ShareRequests(steps []v1.Step) {
	if len(steps) < 2 {
		return
	}
	largest := map[corev1.ResourceName]int{}
	for i := range steps {
		r := &steps[i].ComputeResources
		for name, limit := range r.Limits {
			if _, ok := r.Requests[name]; !ok {
				r.Requests = withQuantity(r.Requests, name, limit)
			}
		}
		for name, q := range r.Requests {
			if at, ok := largest[name]; !ok || q.Cmp(steps[at].ComputeResources.Requests[name]) > 0 {
				largest[name] = i
			}
		}
	}
	for name, at := range largest {
		for i := range steps {
			if i != at {
				r := &steps[i].ComputeResources
				r.Requests = withQuantity(r.Requests, name, *resource.NewQuantity(0, resource.DecimalSI))
			}
		}
	}
}

func withQuantity(list corev1.ResourceList, name corev1.ResourceName, q resource.Quantity) corev1.ResourceList {
	if list == nil {
		list = corev1.ResourceList{}
	}
	list[name] = q
	return list
}
