// Package follow runs a translated pipeline in a cluster for a person who waits: it creates the objects, shows how the
// steps go and what they print, and tells the result. It needs no Drone server and keeps nothing.
package follow

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/client/clientset/versioned"

	"github.com/drone-tekton/drone-runner-tekton/translate"
)

// Clients speak to the cluster.
type Clients struct {
	Kube   kubernetes.Interface
	Tekton versioned.Interface
}

// Create creates a bundle's objects. The PipelineRun comes first, and pending, so that it owns all others and goes with
// them; it starts when they are there. Where one cannot be created, nothing is left.
func Create(ctx context.Context, c Clients, namespace string, b *translate.Bundle) (*v1.PipelineRun, error) {
	runs := c.Tekton.TektonV1().PipelineRuns(namespace)
	wanted := b.PipelineRun.DeepCopy()
	wanted.Namespace = namespace
	wanted.Spec.Status = v1.PipelineRunSpecStatusPending
	run, err := runs.Create(ctx, wanted, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("creating the PipelineRun: %w", err)
	}
	if err := createOwned(ctx, c, namespace, b, run); err != nil {
		return nil, errors.Join(err, Delete(context.WithoutCancel(ctx), c, run))
	}
	run, err = runs.Patch(ctx, run.Name, types.MergePatchType, []byte(`{"spec":{"status":null}}`), metav1.PatchOptions{})
	if err != nil {
		return nil, fmt.Errorf("starting the PipelineRun: %w", err)
	}
	return run, nil
}

func createOwned(ctx context.Context, c Clients, namespace string, b *translate.Bundle, run *v1.PipelineRun) error {
	owner := []metav1.OwnerReference{*metav1.NewControllerRef(run, v1.SchemeGroupVersion.WithKind("PipelineRun"))}
	for _, claim := range b.Claims {
		claim = claim.DeepCopy()
		claim.Namespace, claim.OwnerReferences = namespace, owner
		if _, err := c.Kube.CoreV1().PersistentVolumeClaims(namespace).Create(ctx, claim, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating the claim %s: %w", claim.Name, err)
		}
	}
	if b.Service != nil {
		service := b.Service.DeepCopy()
		service.Namespace, service.OwnerReferences = namespace, owner
		if _, err := c.Kube.CoreV1().Services(namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating the Service %s: %w", service.Name, err)
		}
	}
	for _, pod := range b.Pods {
		pod = pod.DeepCopy()
		pod.Namespace, pod.OwnerReferences = namespace, owner
		if _, err := c.Kube.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating the Pod %s: %w", pod.Name, err)
		}
	}
	return nil
}

// Delete deletes a run with all that it owns.
func Delete(ctx context.Context, c Clients, run *v1.PipelineRun) error {
	background := metav1.DeletePropagationBackground
	err := c.Tekton.TektonV1().PipelineRuns(run.Namespace).Delete(ctx, run.Name, metav1.DeleteOptions{PropagationPolicy: &background})
	if err != nil {
		return fmt.Errorf("deleting the PipelineRun %s: %w", run.Name, err)
	}
	return nil
}

// Cancel stops a run.
func Cancel(ctx context.Context, c Clients, run *v1.PipelineRun) error {
	patch := fmt.Sprintf(`{"spec":{"status":%q}}`, v1.PipelineRunSpecStatusCancelled)
	_, err := c.Tekton.TektonV1().PipelineRuns(run.Namespace).Patch(ctx, run.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("cancelling the PipelineRun %s: %w", run.Name, err)
	}
	return nil
}
