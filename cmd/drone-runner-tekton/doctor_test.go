package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// clinic is a cluster with Tekton and without any storage class, where everything is allowed.
func clinic(objects ...runtime.Object) *fake.Clientset {
	client := fake.NewClientset(append(objects,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "builds"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "tekton-pipelines", Name: "feature-flags"}, Data: map[string]string{"coschedule": "workspaces"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "tekton-pipelines", Name: "pipelines-info"}, Data: map[string]string{"version": "v1.15.0"}},
	)...)
	client.Resources = []*metav1.APIResourceList{{GroupVersion: "tekton.dev/v1"}}
	client.PrependReactor("create", "selfsubjectaccessreviews", func(a kubetesting.Action) (bool, runtime.Object, error) {
		return true, &authorizationv1.SelfSubjectAccessReview{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: true}}, nil
	})
	return client
}

func defaultClass() runtime.Object {
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	return &storagev1.StorageClass{VolumeBindingMode: &mode, ObjectMeta: metav1.ObjectMeta{
		Name: "standard", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
	}}
}

// The table names what was found and what follows; the exit status is 1 where builds could not run.
func TestDoctor(t *testing.T) {
	for _, test := range []struct {
		rule      string
		client    *fake.Clientset
		namespace string
		storage   workspace.Options
		status    int
		lines     []string // words of lines of the table, spaces made one
		told      string
	}{
		{"all is well", clinic(defaultClass()), "builds", workspace.Options{}, 0, []string{
			"SUBJECT FOUND VERDICT MEANS", "Tekton Pipelines v1.15.0 ok supported", "coschedule workspaces ok",
			"storage class standard ok the default: claims are made by it", "namespace builds ok",
			"plan layout ok steps: each step is a task", "plan claims ok one claim holds all volumes",
			"plan spread ok tasks that share the claim run on one node",
		}, ""},
		{"no storage class", clinic(), "builds", workspace.Options{}, 1, []string{
			"storage classes none note no claim is ever filled: use --layout=pod", "plan claims FAILS the cluster has no default storage class",
		}, "builds cannot run: 1 of the above fail\n"},
		{"no storage class, and one pod", clinic(), "builds", workspace.Options{Layout: workspace.Pod}, 0, []string{
			"plan layout ok pod: all steps run one after the other in one pod, which needs no claim",
		}, ""},
		{"spread", clinic(defaultClass()), "builds", workspace.Options{Spread: true}, 0, []string{"plan spread ok the claim is a volume of the tasks"}, ""},
		{"no namespace", clinic(defaultClass()), "elsewhere", workspace.Options{}, 1, []string{"namespace elsewhere FAILS it does not exist"},
			"builds cannot run: 1 of the above fail\n"},
	} {
		var out, told strings.Builder
		err := examine(t.Context(), streams{out: &out, err: &told}, test.client, test.namespace, test.storage)
		if got := exitStatus(err, os.Stderr); got != test.status || told.String() != test.told {
			t.Errorf("%s: exit status %d, told %q, want %d, %q\n%s", test.rule, got, told.String(), test.status, test.told, out.String())
		}
		table := strings.Join(strings.FieldsFunc(out.String(), func(r rune) bool { return r == ' ' }), " ")
		for _, line := range test.lines {
			if !strings.Contains("\n"+table, "\n"+line) {
				t.Errorf("%s: no line begins with %q in\n%s", test.rule, line, out.String())
			}
		}
	}
}

// A cluster that does not answer is an error of its own, not a finding.
func TestDoctorWithoutCluster(t *testing.T) {
	client := clinic()
	client.PrependReactor("get", "version", func(kubetesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("connection refused")
	})
	var out strings.Builder
	err := examine(t.Context(), streams{out: &out, err: &out}, client, "builds", workspace.Options{})
	if err == nil || errors.Is(err, errReported) || !strings.Contains(err.Error(), "asking the API server for its version: connection refused") || out.Len() > 0 {
		t.Errorf("doctor without a cluster: error %v, output %q", err, out.String())
	}
}
