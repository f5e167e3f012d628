package cluster

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// world is a cluster with Tekton, one class of storage and a namespace for builds, where everything is allowed but what
// is denied, as "verb resource".
func world(denied []string, objects ...runtime.Object) *fake.Clientset {
	client := fake.NewClientset(objects...)
	discovery := client.Discovery().(*fakediscovery.FakeDiscovery)
	discovery.FakedServerVersion = &version.Info{GitVersion: "v1.34.3"}
	client.Resources = []*metav1.APIResourceList{{GroupVersion: "tekton.dev/v1", APIResources: []metav1.APIResource{{Name: "pipelineruns"}}}}
	client.PrependReactor("create", "selfsubjectaccessreviews", func(a kubetesting.Action) (bool, runtime.Object, error) {
		review := a.(kubetesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		at := review.Spec.ResourceAttributes
		resource := at.Resource
		if at.Subresource != "" {
			resource += "/" + at.Subresource
		}
		review.Status.Allowed = at.Namespace == "builds" && !slices.Contains(denied, at.Verb+" "+resource)
		return true, review, nil
	})
	return client
}

func configMap(namespace, name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

func builds(labels, annotations map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "builds", Labels: labels, Annotations: annotations}}
}

func storageClass(name string, isDefault bool, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
	c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if isDefault {
		c.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	}
	if mode != "" {
		c.VolumeBindingMode = &mode
	}
	return c
}

func read(t *testing.T, client *fake.Clientset) Facts {
	t.Helper()
	f, err := Read(t.Context(), client, "builds")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestRead(t *testing.T) {
	flags := map[string]string{"coschedule": "disabled", "enable-api-fields": "beta"}
	got := read(t, world([]string{"create pods", "get pods/log"},
		builds(map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "istio-injection": "enabled"}, nil),
		configMap("tekton-pipelines", "feature-flags", flags),
		configMap("tekton-pipelines", "pipelines-info", map[string]string{"version": "v1.15.0"}),
		storageClass("fast", true, storagev1.VolumeBindingWaitForFirstConsumer),
		storageClass("nfs", false, ""),
	))
	want := Facts{
		Kubernetes: "v1.34.3", Namespace: "builds", Exists: true, Tekton: "v1.15.0", Served: true, Flags: flags,
		Storage: workspace.Cluster{
			Coschedule: workspace.CoscheduleDisabled,
			Classes:    []workspace.Class{{Name: "fast", Default: true}, {Name: "nfs", Immediate: true}},
		},
		PodSecurity: "restricted", Injects: "istio-injection=enabled",
		Denied: []string{"create pods", "get pods/log"}, Unread: map[string]string{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&want.Storage, got.Known()); diff != "" {
		t.Errorf("what the planner may rely on (-want +got):\n%s", diff)
	}
}

// An installation by OpenShift's operator keeps its settings in another namespace.
func TestReadOpenShift(t *testing.T) {
	f := read(t, world(nil, configMap("openshift-pipelines", "feature-flags", map[string]string{"coschedule": "pipelineruns"})))
	if f.Storage.Coschedule != workspace.CoschedulePipelineRuns || f.Unread["tekton"] != "" {
		t.Errorf("coschedule is %q (%s), want pipelineruns", f.Storage.Coschedule, f.Unread["tekton"])
	}
}

// What may not be read is noted, and nothing is taken for known that is not.
func TestReadForbidden(t *testing.T) {
	client := world(nil)
	client.PrependReactor("*", "*", func(a kubetesting.Action) (bool, runtime.Object, error) {
		switch resource := a.GetResource().Resource; resource {
		case "version", "resource": // discovery is open to all
			return false, nil, nil
		default:
			return true, nil, errors.New("forbidden " + resource)
		}
	})
	f := read(t, client)
	want := map[string]string{
		"tekton": "forbidden configmaps", "storage": "forbidden storageclasses", "namespace": "forbidden namespaces",
		"permissions": "forbidden selfsubjectaccessreviews",
	}
	if diff := cmp.Diff(want, f.Unread); diff != "" {
		t.Errorf("unread (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&workspace.Cluster{Unlisted: true}, f.Known()); diff != "" {
		t.Errorf("what the planner may rely on (-want +got):\n%s", diff)
	}
	for _, finding := range f.Findings(workspace.Options{}) {
		if finding.Verdict == Fails {
			t.Errorf("what is not known fails: %+v", finding)
		}
	}
}

func TestInjection(t *testing.T) {
	for _, test := range []struct {
		labels, annotations map[string]string
		want                string
	}{
		{nil, nil, ""},
		{map[string]string{"istio-injection": "enabled"}, nil, "istio-injection=enabled"},
		{map[string]string{"istio-injection": "disabled"}, nil, ""},
		{map[string]string{"istio.io/rev": "canary"}, nil, "istio.io/rev=canary"},
		{nil, map[string]string{"linkerd.io/inject": "enabled"}, "linkerd.io/inject=enabled"},
		{nil, map[string]string{"linkerd.io/inject": "disabled"}, ""},
		{map[string]string{"kuma.io/sidecar-injection": "true"}, nil, "kuma.io/sidecar-injection=true"},
	} {
		if got := injection(builds(test.labels, test.annotations)); got != test.want {
			t.Errorf("injection(labels %v, annotations %v) = %q, want %q", test.labels, test.annotations, got, test.want)
		}
	}
}

// well is a cluster where nothing is to be said.
func well() Facts {
	return Facts{
		Kubernetes: "v1.34.3", Namespace: "builds", Exists: true, Tekton: "v1.15.0", Served: true,
		Flags:   map[string]string{"coschedule": "workspaces", "set-security-context": "true"},
		Storage: workspace.Cluster{Coschedule: "workspaces", Classes: []workspace.Class{{Name: "standard", Default: true}}},
	}
}

func TestFindings(t *testing.T) {
	for _, test := range []struct {
		rule    string
		change  func(*Facts)
		options workspace.Options
		subject string
		verdict Verdict
		means   string // a part
	}{
		{"no Tekton", func(f *Facts) { f.Served = false }, workspace.Options{}, "Tekton Pipelines", Fails, "install Tekton Pipelines"},
		{"an old Tekton", func(f *Facts) { f.Tekton = "v0.59.0" }, workspace.Options{}, "Tekton Pipelines", Fails, "release 1.0"},
		{"a Tekton that keeps claims", func(f *Facts) { f.Tekton = "v1.6.0" }, workspace.Options{}, "Tekton Pipelines", Note, "claims stay"},
		{"a slow Tekton", func(f *Facts) { f.Tekton = "v1.13.0" }, workspace.Options{}, "Tekton Pipelines", Note, "slowly"},
		{"an unknown Tekton", func(f *Facts) { f.Tekton = "" }, workspace.Options{}, "Tekton Pipelines", Unknown, "cannot be read"},
		{"co-scheduling disabled", func(f *Facts) { f.Storage.Coschedule = "disabled" }, workspace.Options{}, "coschedule", Note, "ReadWriteMany"},
		{"co-scheduling unknown", func(f *Facts) { f.Storage.Coschedule = "" }, workspace.Options{}, "coschedule", Unknown, "workspaces"},
		{"stable fields alone", func(f *Facts) { f.Flags["enable-api-fields"] = "stable" }, workspace.Options{}, "enable-api-fields", Note, "refused"},
		{"a mesh", func(f *Facts) { f.Injects = "istio-injection=enabled" }, workspace.Options{}, "injected sidecars", Note, "--injected-sidecars"},
		{"restricted, as Tekton needs it", func(f *Facts) { f.PodSecurity = "restricted" }, workspace.Options{}, "Pod security", Note, "--restricted"},
		{"restricted, with Tekton as it comes", func(f *Facts) { f.PodSecurity, f.Flags["set-security-context"] = "restricted", "false" },
			workspace.Options{}, "Pod security", Fails, "set-security-context to true"},
		{"baseline", func(f *Facts) { f.PodSecurity = "baseline" }, workspace.Options{}, "Pod security", Note, "refused"},
		{"no namespace", func(f *Facts) { f.Exists = false }, workspace.Options{}, "namespace", Fails, "kubectl create namespace builds"},
		{"a permission is missing", func(f *Facts) { f.Denied = []string{"create pods"} }, workspace.Options{}, "permissions", Fails, "create pods"},
		{"no class", func(f *Facts) { f.Storage.Classes = nil }, workspace.Options{}, "plan", Fails, "use the layout pod"},
		{"no class, and one pod", func(f *Facts) { f.Storage.Classes = nil }, workspace.Options{Layout: workspace.Pod}, "storage classes", Note, "--layout=pod"},
		{"no default class", func(f *Facts) { f.Storage.Classes[0].Default = false }, workspace.Options{}, "plan", Fails, "name a class"},
		{"no default class, and one is named", func(f *Facts) { f.Storage.Classes[0].Default = false }, workspace.Options{StorageClass: "standard"},
			"default storage class", Note, "--storage-class"},
		{"two claims", func(*Facts) {}, workspace.Options{Claims: workspace.PerVolume}, "plan", Fails, "would bind 2 claims"},
	} {
		f := well()
		test.change(&f)
		found := f.Findings(test.options)
		i := slices.IndexFunc(found, func(g Finding) bool {
			return g.Subject == test.subject && g.Verdict == test.verdict && strings.Contains(g.Means, test.means)
		})
		if i < 0 {
			t.Errorf("%s: no finding of %q with %s and %q in\n%+v", test.rule, test.subject, test.verdict, test.means, found)
		}
		for _, g := range found {
			if g.Verdict == Fails && test.verdict != Fails {
				t.Errorf("%s: %+v", test.rule, g)
			}
			if g.Verdict != OK && g.Means == "" {
				t.Errorf("%s: nothing is said to follow from %+v", test.rule, g)
			}
		}
	}
	for _, g := range well().Findings(workspace.Options{}) {
		if g.Verdict != OK {
			t.Errorf("on a cluster that has everything: %+v", g)
		}
	}
}
