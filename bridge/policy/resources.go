package policy

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	droneyaml "github.com/drone/drone-yaml/yaml"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/translate"
)

// Amount is an amount of each resource; 0 is none. CPU is in thousandths of a core.
type Amount struct {
	CPU              int64
	Memory           droneyaml.BytesSize
	EphemeralStorage droneyaml.BytesSize `yaml:"ephemeral_storage"`
}

// Requirements are what a policy, or the runner's settings, say about resources of steps.
type Requirements struct {
	// Request is what a step requests that names nothing.
	Request Amount
	// Limit is the most that a step may use, whatever it names.
	Limit Amount
	// Least is what a step requests at least.
	Least Amount `yaml:"-"`
}

// Over lets other requirements win where they name an amount.
func (r Requirements) Over(o Requirements) Requirements {
	r.Request, r.Limit = r.Request.over(o.Request), r.Limit.over(o.Limit)
	return r
}

func (a Amount) over(o Amount) Amount {
	if o.CPU > 0 {
		a.CPU = o.CPU
	}
	if o.Memory > 0 {
		a.Memory = o.Memory
	}
	if o.EphemeralStorage > 0 {
		a.EphemeralStorage = o.EphemeralStorage
	}
	return a
}

// Apply gives every step of a bundle its share. Drone's runner splits a pipeline's request over the containers of its one
// pod; here each step gets the whole, and steps that share a pod, which run one after the other, get it once.
func (r Requirements) Apply(b *translate.Bundle) {
	each := func(steps []v1.Step, sidecars []v1.Sidecar) {
		for i := range steps {
			r.fit(&steps[i].ComputeResources)
		}
		translate.ShareRequests(steps)
		for i := range sidecars {
			r.fit(&sidecars[i].ComputeResources)
		}
	}
	spec := b.PipelineRun.Spec.PipelineSpec
	for _, tasks := range [][]v1.PipelineTask{spec.Tasks, spec.Finally} {
		for _, t := range tasks {
			each(t.TaskSpec.Steps, t.TaskSpec.Sidecars)
		}
	}
	for _, pod := range b.Pods {
		for i := range pod.Spec.Containers {
			r.fit(&pod.Spec.Containers[i].Resources)
		}
	}
}

func (r Requirements) fit(of *corev1.ResourceRequirements) {
	fit := func(name corev1.ResourceName, request, limit, least resource.Quantity) {
		l, limited := of.Limits[name]
		if !limit.IsZero() && (!limited || l.Cmp(limit) > 0) {
			l, limited = limit, true
			of.Limits = put(of.Limits, name, l)
		}
		q, requested := of.Requests[name]
		if !requested && !request.IsZero() {
			q, requested = request, true
		}
		if !least.IsZero() && q.Cmp(least) < 0 {
			q, requested = least, true
		}
		if !requested {
			return
		}
		if limited && q.Cmp(l) > 0 {
			q = l
		}
		of.Requests = put(of.Requests, name, q)
	}
	fit(corev1.ResourceCPU, milli(r.Request), milli(r.Limit), milli(r.Least))
	fit(corev1.ResourceMemory, bytesOf(r.Request.Memory), bytesOf(r.Limit.Memory), bytesOf(r.Least.Memory))
	fit(corev1.ResourceEphemeralStorage, bytesOf(r.Request.EphemeralStorage), bytesOf(r.Limit.EphemeralStorage),
		bytesOf(r.Least.EphemeralStorage))
}

func put(list corev1.ResourceList, name corev1.ResourceName, q resource.Quantity) corev1.ResourceList {
	if list == nil {
		list = corev1.ResourceList{}
	}
	list[name] = q
	return list
}

func milli(a Amount) resource.Quantity { return *resource.NewMilliQuantity(a.CPU, resource.DecimalSI) }

func bytesOf(n droneyaml.BytesSize) resource.Quantity {
	return *resource.NewQuantity(int64(n), resource.BinarySI)
}
