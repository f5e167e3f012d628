// Package cluster is the cluster of the end-to-end tests: it makes namespaces and objects, waits for runs, tells what they
// did and what is wrong with them.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	watchtools "k8s.io/client-go/tools/watch"
)

// The resources that runs consist of.
var (
	PipelineRuns = schema.GroupVersionResource{Group: "tekton.dev", Version: "v1", Resource: "pipelineruns"}
	TaskRuns     = schema.GroupVersionResource{Group: "tekton.dev", Version: "v1", Resource: "taskruns"}
)

// RunTimeout is how long a pipeline may take on a slow cluster. None of them works for more than some seconds.
const RunTimeout = 5 * time.Minute

// Cluster is the one that KUBECONFIG names.
type Cluster struct {
	Objects dynamic.Interface
	Core    kubernetes.Interface
	mapper  meta.RESTMapper
}

func Connect() (*Cluster, error) {
	file := os.Getenv("KUBECONFIG")
	if file == "" {
		return nil, errors.New("KUBECONFIG names no cluster: set it to one with Tekton, or let hack/e2e/run start the local one")
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading KUBECONFIG %s: %w", file, err)
	}
	config.QPS, config.Burst = 50, 100
	c := &Cluster{}
	if c.Objects, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	if _, err := core.Discovery().ServerResourcesForGroupVersion(PipelineRuns.GroupVersion().String()); err != nil {
		return nil, fmt.Errorf("the cluster of KUBECONFIG %s has no Tekton Pipelines: %w", file, err)
	}
	c.Core = core
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(core.Discovery()))
	return c, nil
}

// Namespace makes a namespace for a test, and deletes it after. KEEP=1 leaves it.
func (c *Cluster) Namespace(t *testing.T) string {
	t.Helper()
	name, err := c.NewNamespace(t.Context(), "drone-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if os.Getenv("KEEP") != "" {
			t.Logf("namespace %s is kept", name)
			return
		}
		if err := c.Core.CoreV1().Namespaces().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("deleting the namespace %s: %v", name, err)
		}
	})
	return name
}

// NewNamespace makes a namespace that pods can be created in. Its name begins with the prefix.
func (c *Cluster) NewNamespace(ctx context.Context, prefix string) (string, error) {
	ns, err := c.Core.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: prefix},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("creating a namespace: %w", err)
	}
	// Pods are refused before the namespace has its service account.
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return c.Core.CoreV1().ServiceAccounts(ns.Name).List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return c.Core.CoreV1().ServiceAccounts(ns.Name).Watch(ctx, o)
		},
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err = watchtools.UntilWithSync(ctx, lw, &corev1.ServiceAccount{}, nil, func(e watch.Event) (bool, error) {
		account, ok := e.Object.(*corev1.ServiceAccount)
		return ok && account.Name == "default", nil
	})
	if err != nil {
		return ns.Name, fmt.Errorf("waiting for the service account of namespace %s: %w", ns.Name, err)
	}
	return ns.Name, nil
}

// Create puts an object into a namespace, as kubectl create does. With metav1.DryRunAll the server only says whether it
// would take it.
func (c *Cluster) Create(t *testing.T, namespace string, o *unstructured.Unstructured, dryRun ...string) *unstructured.Unstructured {
	t.Helper()
	created, err := c.Put(t.Context(), namespace, o, dryRun...)
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// Put is Create outside of a test.
func (c *Cluster) Put(ctx context.Context, namespace string, o *unstructured.Unstructured, dryRun ...string) (*unstructured.Unstructured, error) {
	kind := o.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("finding the resource of %s: %w", kind, err)
	}
	for tries := 1; ; tries++ {
		created, err := c.Objects.Resource(mapping.Resource).Namespace(namespace).Create(ctx, o, metav1.CreateOptions{DryRun: dryRun})
		if apierrors.IsTooManyRequests(err) {
			continue // the client has waited as long as the server asked
		}
		if tries < 5 && apierrors.IsInternalError(err) && strings.Contains(err.Error(), "deadline exceeded") {
			continue // an admission webhook of a busy cluster that did not answer in time
		}
		if err != nil {
			return nil, fmt.Errorf("creating %s %s%s: %w", kind.Kind, o.GetName(), o.GetGenerateName(), err)
		}
		return created, nil
	}
}

// Finished waits until a PipelineRun has ended.
func (c *Cluster) Finished(t *testing.T, namespace, name string) {
	t.Helper()
	only := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()}
	c.Until(t, "the PipelineRun "+name+" has ended", PipelineRuns, namespace, only, func(status string) bool { return status != "Unknown" })
}

// Until waits until the condition Succeeded of a PipelineRun or TaskRun, the one that is selected, has a status as wanted.
func (c *Cluster) Until(t *testing.T, what string, kind schema.GroupVersionResource, namespace string, only metav1.ListOptions,
	wanted func(status string) bool) {
	t.Helper()
	resource := c.Objects.Resource(kind).Namespace(namespace)
	selected := func(o metav1.ListOptions) metav1.ListOptions {
		o.FieldSelector, o.LabelSelector = only.FieldSelector, only.LabelSelector
		return o
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return resource.List(ctx, selected(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return resource.Watch(ctx, selected(o))
		},
	}
	ctx, cancel := context.WithTimeout(t.Context(), RunTimeout)
	defer cancel()
	_, err := watchtools.UntilWithSync(ctx, lw, &unstructured.Unstructured{}, nil, func(e watch.Event) (bool, error) {
		if e.Type == watch.Deleted {
			return false, errors.New("it was deleted")
		}
		conditions, _, err := unstructured.NestedSlice(e.Object.(*unstructured.Unstructured).Object, "status", "conditions")
		if err != nil {
			return false, err
		}
		for _, item := range conditions {
			if m, ok := item.(map[string]any); ok && m["type"] == "Succeeded" {
				status, _ := m["status"].(string)
				return wanted(status), nil
			}
		}
		return false, nil
	})
	if err != nil {
		t.Fatalf("waiting for %v until %s: %v", RunTimeout, what, err)
	}
}

// Decode turns an object into its Go type.
func Decode[T any](o *unstructured.Unstructured) (*T, error) {
	into := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		return nil, fmt.Errorf("decoding %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return into, nil
}
