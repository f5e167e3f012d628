package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/bridge/compile"
	"github.com/drone-tekton/drone-runner-tekton/bridge/journal"
	"github.com/drone-tekton/drone-runner-tekton/translate"
)

// annotationCleanup has Tekton remove the claims that it made for a run when that is done, and not with the run.
const annotationCleanup = "tekton.dev/auto-cleanup-pvc"

// createAll makes a stage's objects, as far as they are not there. All are owned by the PipelineRun, which is pending.
func createAll(ctx context.Context, c Clients, w *compile.Work, e *journal.Entry) (*v1.PipelineRun, error) {
	run := w.Bundle.PipelineRun.DeepCopy()
	run.Namespace = w.Namespace
	run.Spec.Status = v1.PipelineRunSpecStatusPending
	mark(run, e)
	if run.Annotations == nil {
		run.Annotations = map[string]string{}
	}
	run.Annotations[annotationCleanup] = "true"
	made, err := c.Tekton.TektonV1().PipelineRuns(w.Namespace).Create(ctx, run, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		made, err = c.Tekton.TektonV1().PipelineRuns(w.Namespace).Get(ctx, run.Name, metav1.GetOptions{})
		if err == nil && made.Labels[journal.LabelStageID] != formatID(e.StageID) {
			return nil, compile.Refusal{Reason: fmt.Sprintf("there is a PipelineRun %s/%s that is not of this stage", made.Namespace, made.Name)}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("creating the PipelineRun: %w", err)
	}
	owner := *metav1.NewControllerRef(made, v1.SchemeGroupVersion.WithKind("PipelineRun"))
	return made, createOwned(ctx, c, w, e, owner)
}

// createOwned makes what the run owns.
func createOwned(ctx context.Context, c Clients, w *compile.Work, e *journal.Entry, owner metav1.OwnerReference) error {
	prepare := func(o metav1.Object) {
		o.SetNamespace(w.Namespace)
		o.SetOwnerReferences([]metav1.OwnerReference{owner})
		mark(o, e)
	}
	for _, secret := range append(w.Secrets, hiddenSecret(w)) {
		if len(secret.Data) == 0 {
			continue
		}
		prepare(secret)
		if err := create(ctx, c.Kube.CoreV1().Secrets(w.Namespace), secret, "the Secret"); err != nil {
			return err
		}
	}
	for _, claim := range w.Bundle.Claims {
		claim = claim.DeepCopy()
		prepare(claim)
		if err := create(ctx, c.Kube.CoreV1().PersistentVolumeClaims(w.Namespace), claim, "the claim"); err != nil {
			return err
		}
	}
	if w.Bundle.Service != nil {
		service := w.Bundle.Service.DeepCopy()
		prepare(service)
		if err := create(ctx, c.Kube.CoreV1().Services(w.Namespace), service, "the Service"); err != nil {
			return err
		}
	}
	for _, pod := range w.Bundle.Pods {
		pod = pod.DeepCopy()
		prepare(pod)
		if err := create(ctx, c.Kube.CoreV1().Pods(w.Namespace), pod, "the Pod"); err != nil {
			return err
		}
	}
	return nil
}

// creator makes objects of one kind.
type creator[T any] interface {
	Create(ctx context.Context, object T, o metav1.CreateOptions) (T, error)
}

// create makes an object unless it exists.
func create[T metav1.Object](ctx context.Context, in creator[T], object T, what string) error {
	_, err := in.Create(ctx, object, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating %s %s: %w", what, object.GetName(), err)
	}
	return nil
}

// mark labels an object as one of the stage's.
func mark(o metav1.Object, e *journal.Entry) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[translate.LabelManagedBy] = translate.ManagedBy
	labels[journal.LabelStageID] = formatID(e.StageID)
	o.SetLabels(labels)
}

// refusedByCluster reports whether the cluster will not take an object however often it is offered. Its text tells why,
// as that of a quota or of an admission webhook does.
func refusedByCluster(err error) bool {
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonBadRequest,
		metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonNotFound, metav1.StatusReasonUnauthorized:
		return true
	}
	// Webhooks that deny without giving a reason.
	return err != nil && strings.Contains(err.Error(), "admission webhook") && strings.Contains(err.Error(), "denied the request")
}

// setRunStatus sets what a run is asked to do; nothing where it is gone.
func setRunStatus(ctx context.Context, c Clients, run *v1.PipelineRun, to v1.PipelineRunSpecStatus) error {
	_, err := c.Tekton.TektonV1().PipelineRuns(run.Namespace).Patch(ctx, run.Name, types.MergePatchType,
		statusPatch(string(to)), metav1.PatchOptions{})
	return ignoreNotFound(err)
}

// cancelTask stops one task.
func cancelTask(ctx context.Context, c Clients, namespace, name string) error {
	_, err := c.Tekton.TektonV1().TaskRuns(namespace).Patch(ctx, name, types.MergePatchType,
		statusPatch(string(v1.TaskRunSpecStatusCancelled)), metav1.PatchOptions{})
	return ignoreNotFound(err)
}

func statusPatch(to string) []byte {
	var value any // null takes the field away
	if to != "" {
		value = to
	}
	patch, _ := json.Marshal(map[string]any{"spec": map[string]any{"status": value}}) // Cannot fail.
	return patch
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// deletePods deletes pods, which get so many seconds to end.
func deletePods(ctx context.Context, c Clients, pods []*corev1.Pod, seconds int64) error {
	for _, pod := range pods {
		err := c.Kube.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: &seconds, Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("deleting the Pod %s: %w", pod.Name, err)
		}
	}
	return nil
}
