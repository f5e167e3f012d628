package translate

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// Bundle is what a pipeline becomes: a PipelineRun, and the objects that stand beside it.
type Bundle struct {
	// Plan is what the run was made from.
	Plan *Plan
	// Claims are PersistentVolumeClaims that need a name before the run starts. Claims that Tekton makes from a template
	// are in the run.
	Claims []*corev1.PersistentVolumeClaim
	// Service gives Pods their names in DNS. It is nil where there are none.
	Service *corev1.Service
	// Pods are services and detached steps.
	Pods []*corev1.Pod
	// PipelineRun has a name, or a generateName where nothing has to know the name.
	PipelineRun *v1.PipelineRun

	// SecretName is the Secret that SecretKeys are read from.
	SecretName string
	// Secrets are the pipeline's secrets, in the order of their first use.
	Secrets []SecretUse
	// PullSecrets are the Secrets of type kubernetes.io/dockerconfigjson that the pipeline pulls images with, by the
	// names of the Drone secrets that they come from.
	PullSecrets []SecretUse
	// Units are the runs of steps in the order of the plan: where each step is to be found in the PipelineRun.
	Units []Unit
	// Reasons are the considerations behind the place of files.
	Reasons []string
}

// SecretUse is a Drone secret and where Kubernetes has to have it.
type SecretUse struct {
	Name string // of the Drone secret
	Key  string // of the value in the Secret SecretName; for pull secrets the name of a Secret
}

// Unit is one run of a Drone step in a task of the PipelineRun, or in a Pod beside it.
type Unit struct {
	Step *Step
	// Task is the pipeline task; empty for a step that runs in a Pod of its own.
	Task string
	// Container is the Tekton step in the task, or the container of the Pod. A pod calls it step-<Container> in tasks.
	Container string
	// Pod is the Pod beside the run, for services and detached steps.
	Pod string
	// Failing reports that this is the run of the step that happens once the pipeline is failing.
	Failing bool
}

// Objects are all objects in the order to create them: what others need comes first.
func (b *Bundle) Objects() []runtime.Object {
	var out []runtime.Object
	for _, c := range b.Claims {
		out = append(out, c)
	}
	if b.Service != nil {
		out = append(out, b.Service)
	}
	out = append(out, b.PipelineRun)
	for _, p := range b.Pods {
		out = append(out, p)
	}
	return out
}
