// Package cluster finds out what a Kubernetes cluster offers to runs: Tekton's version and settings, storage classes, Pod
// security and permissions. It only reads.
package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// Facts are what was found. What could not be read is its zero value, with the reason in Unread.
type Facts struct {
	Kubernetes string // the API server's version
	Namespace  string // where runs would be
	// Exists reports that the namespace does.
	Exists bool
	// Tekton is the version of Tekton Pipelines; Served reports that the API server knows PipelineRuns.
	Tekton string
	Served bool
	Flags  map[string]string // Tekton's feature flags
	// Storage is what the planner of files needs.
	Storage workspace.Cluster
	// PodSecurity is the standard that the namespace enforces: privileged, baseline or restricted.
	PodSecurity string
	// Injects is what asks for sidecars in the namespace's pods, such as the label of a service mesh; empty is nothing.
	Injects string
	// Denied are the permissions that a runner needs and this user does not have, as "verb resource".
	Denied []string
	// Unread says why a part is not known.
	Unread map[string]string
}

// tektonNamespaces are where an installation keeps its settings: its own manifests, and OpenShift's operator.
var tektonNamespaces = []string{"tekton-pipelines", "openshift-pipelines"}

// needed are the permissions of a runner in the namespace of its runs.
var needed = []struct{ verb, group, resource string }{
	{"create", "tekton.dev", "pipelineruns"}, {"list", "tekton.dev", "pipelineruns"}, {"watch", "tekton.dev", "pipelineruns"},
	{"patch", "tekton.dev", "pipelineruns"}, {"delete", "tekton.dev", "pipelineruns"},
	{"list", "tekton.dev", "taskruns"}, {"watch", "tekton.dev", "taskruns"},
	{"list", "", "pods"}, {"watch", "", "pods"}, {"create", "", "pods"}, {"delete", "", "pods"}, {"get", "", "pods/log"},
	{"create", "", "secrets"}, {"delete", "", "secrets"},
	{"create", "", "services"}, {"create", "", "persistentvolumeclaims"},
	{"list", "", "persistentvolumeclaims"}, {"patch", "", "persistentvolumeclaims"}, {"delete", "", "persistentvolumeclaims"},
	{"list", "", "events"}, {"watch", "", "events"},
}

// Read asks the cluster. It fails only where the API server does not answer; what it may not read is noted.
func Read(ctx context.Context, client kubernetes.Interface, namespace string) (Facts, error) {
	f := Facts{Namespace: namespace, Unread: map[string]string{}}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return f, fmt.Errorf("asking the API server for its version: %w", err)
	}
	f.Kubernetes = version.GitVersion
	_, err = client.Discovery().ServerResourcesForGroupVersion("tekton.dev/v1")
	f.Served = err == nil
	f.readTekton(ctx, client)
	f.readClasses(ctx, client)
	f.readNamespace(ctx, client)
	f.readPermissions(ctx, client)
	return f, nil
}

func (f *Facts) readTekton(ctx context.Context, client kubernetes.Interface) {
	var last error
	for _, ns := range tektonNamespaces {
		flags, err := client.CoreV1().ConfigMaps(ns).Get(ctx, "feature-flags", metav1.GetOptions{})
		if err != nil {
			if last == nil || !apierrors.IsNotFound(err) {
				last = err
			}
			continue
		}
		f.Flags = flags.Data
		f.Storage.Coschedule = workspace.Coschedule(flags.Data["coschedule"])
		if info, err := client.CoreV1().ConfigMaps(ns).Get(ctx, "pipelines-info", metav1.GetOptions{}); err == nil {
			f.Tekton = info.Data["version"]
		}
		return
	}
	f.Unread["tekton"] = last.Error()
}

func (f *Facts) readClasses(ctx context.Context, client kubernetes.Interface) {
	classes, err := client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		f.Unread["storage"] = err.Error()
		return
	}
	for _, c := range classes.Items {
		f.Storage.Classes = append(f.Storage.Classes, workspace.Class{
			Name:      c.Name,
			Default:   c.Annotations["storageclass.kubernetes.io/is-default-class"] == "true",
			Immediate: c.VolumeBindingMode == nil || *c.VolumeBindingMode == storagev1.VolumeBindingImmediate,
		})
	}
}

// podSecurityLabel is where a namespace says which standard it enforces.
const podSecurityLabel = "pod-security.kubernetes.io/enforce"

func (f *Facts) readNamespace(ctx context.Context, client kubernetes.Interface) {
	ns, err := client.CoreV1().Namespaces().Get(ctx, f.Namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return
	case err != nil:
		f.Exists = true // it may; permissions tell
		f.Unread["namespace"] = err.Error()
		return
	}
	f.Exists = ns.Status.Phase != corev1.NamespaceTerminating
	f.PodSecurity = ns.Labels[podSecurityLabel]
	f.Injects = injection(ns)
}

// meshes are the labels and annotations of a namespace by which service meshes inject sidecars, and the values that do
// not ask for it.
var meshes = []struct {
	key string
	off []string
}{
	{"istio-injection", []string{"", "disabled"}},
	{"istio.io/rev", []string{""}},
	{"linkerd.io/inject", []string{"", "disabled"}},
	{"kuma.io/sidecar-injection", []string{"", "disabled", "false"}},
}

func injection(ns *corev1.Namespace) string {
	for _, m := range meshes {
		for _, list := range []map[string]string{ns.Labels, ns.Annotations} {
			if value := list[m.key]; !slices.Contains(m.off, value) {
				return m.key + "=" + value
			}
		}
	}
	return ""
}

func (f *Facts) readPermissions(ctx context.Context, client kubernetes.Interface) {
	for _, n := range needed {
		resource, sub, _ := strings.Cut(n.resource, "/")
		review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: f.Namespace, Verb: n.verb, Group: n.group, Resource: resource, Subresource: sub,
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			f.Unread["permissions"] = err.Error()
			return
		}
		if !review.Status.Allowed {
			f.Denied = append(f.Denied, n.verb+" "+n.resource)
		}
	}
}

// Known is what the planner of files may rely on.
func (f Facts) Known() *workspace.Cluster {
	storage := f.Storage
	_, storage.Unlisted = f.Unread["storage"]
	return &storage
}
