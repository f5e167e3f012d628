package bridge

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/drone-tekton/drone-runner-tekton/translate"
)

// protection keeps a claim as long as a pod names it, also one that has ended.
const protection = "kubernetes.io/pvc-protection"

// removeClaims removes the claims that were made for a run which has ended. Its pods stay for a while to be looked at, and
// would hold the storage; so the protection is taken off, as Tekton does with the claims that it removes itself: those
// from a template, from release 1.12 on, where co-scheduling is not disabled.
func removeClaims(ctx context.Context, c Clients, namespace, run string) error {
	claims := c.Kube.CoreV1().PersistentVolumeClaims(namespace)
	list, err := claims.List(ctx, metav1.ListOptions{
		LabelSelector: translate.LabelManagedBy + "=" + translate.ManagedBy + "," + translate.LabelRun + "=" + run,
	})
	if err != nil {
		return fmt.Errorf("listing the claims of the run %s: %w", run, err)
	}
	for _, claim := range list.Items {
		if claim.DeletionTimestamp == nil {
			if err := ignoreNotFound(claims.Delete(ctx, claim.Name, metav1.DeleteOptions{})); err != nil {
				return fmt.Errorf("removing the claim %s: %w", claim.Name, err)
			}
		}
		if err := unprotect(ctx, c, &claim); err != nil {
			return fmt.Errorf("removing the protection of the claim %s: %w", claim.Name, err)
		}
	}
	return nil
}

func unprotect(ctx context.Context, c Clients, claim *corev1.PersistentVolumeClaim) error {
	i := slices.Index(claim.Finalizers, protection)
	if i < 0 {
		return nil
	}
	// Refused where the list has changed since; the next attempt reads it anew.
	patch := fmt.Appendf(nil, `[{"op":"test","path":"/metadata/finalizers/%d","value":%q},{"op":"remove","path":"/metadata/finalizers/%d"}]`, i, protection, i)
	_, err := c.Kube.CoreV1().PersistentVolumeClaims(claim.Namespace).Patch(ctx, claim.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
	return ignoreNotFound(err)
}
