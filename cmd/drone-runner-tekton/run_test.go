package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tekton "github.com/tektoncd/pipeline/pkg/client/clientset/versioned/fake"

	"github.com/drone-tekton/drone-runner-tekton/bridge/follow"
	"github.com/drone-tekton/drone-runner-tekton/translate"
)

// TestNoCluster: without a cluster, the message says where one was looked for and how to name one.
func TestNoCluster(t *testing.T) {
	elsewhere(t, map[string]string{defaultFile: goodHead + "steps:\n" + goodStep, "empty": "",
		"nobody": "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\n" +
			"contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {}}]\ncurrent-context: a\n"})
	t.Setenv("KUBECONFIG", "empty")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for _, command := range []string{"run", "doctor"} {
		checkFailure(t, exitFailed, "Error: no cluster is known: there is nothing in empty; name a file by --kubeconfig or KUBECONFIG", command)
		_, saying, _ := runCommand(t, command, "--kubeconfig", "nobody")
		if !strings.Contains(saying, "\nThe API server at http://127.0.0.1:1 does not answer; choose another cluster by --context or --kubeconfig") {
			t.Errorf("%s, where nobody answers: said %q", command, saying)
		}
	}
}

// TestRunMasksSecrets: values that a pipeline reads from Secrets do not reach the terminal; where they cannot be read,
// a word says so.
func TestRunMasksSecrets(t *testing.T) {
	bundle := &translate.Bundle{SecretName: "ci", Secrets: []translate.SecretUse{{Name: "token", Key: "token"}}}
	kube := fake.NewClientset(
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "ci"}, Data: map[string][]byte{"token": []byte("s3cret"), "other": []byte("plain")}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "netrc"}, Data: map[string][]byte{"password": []byte("hunter2"), "username": []byte("me")}},
	)
	for _, tt := range []struct {
		rule, refused, want, told string
	}{
		{"values are masked", "", "a > ****** plain ****** me\n", ""},
		{"no right to read them", "secrets", "a > s3cret plain hunter2 me\n", "the values of the Secret ci are not masked in the logs: "},
	} {
		if tt.refused != "" {
			kube.PrependReactor("get", tt.refused, func(kubetesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(corev1.Resource("secrets"), "ci", errors.New("no"))
			})
		}
		var out, told strings.Builder
		r := &running{streams: streams{out: &out, err: &told}, clients: follow.Clients{Kube: kube}, namespace: "b", netrc: "netrc"}
		v := &view{streams: r.streams, mask: r.masker(t.Context(), bundle)}
		v.Line("a", []byte("s3cret plain hunter2 me\n"))
		if out.String() != tt.want || !strings.HasPrefix(told.String(), tt.told) {
			t.Errorf("%s: printed %q, told %q", tt.rule, out.String(), told.String())
		}
	}
}

// TestInterruptedRun: an interrupt leaves nothing behind, or says what is left and how to remove it.
func TestInterruptedRun(t *testing.T) {
	run := &v1.PipelineRun{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "r"}}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, tt := range []struct {
		rule    string
		keep    bool
		objects []runtime.Object
		want    string
		left    int
	}{
		{"deleted", false, []runtime.Object{run}, "interrupted; the PipelineRun r is deleted", 0},
		{"kept", true, []runtime.Object{run}, "interrupted; the PipelineRun r is cancelled", 1},
		{"refused", false, nil, "interrupted; deleting the PipelineRun r: pipelineruns.tekton.dev \"r\" not found\n" +
			"It is still there: kubectl delete pipelinerun -n b r", 0},
	} {
		client := tekton.NewSimpleClientset(tt.objects...)
		r := &running{clients: follow.Clients{Tekton: client}, keep: tt.keep}
		err := r.end(ctx, run, context.Canceled)
		list, listErr := client.TektonV1().PipelineRuns("b").List(t.Context(), metav1.ListOptions{})
		if listErr != nil {
			t.Fatal(listErr)
		}
		if err == nil || err.Error() != tt.want || len(list.Items) != tt.left {
			t.Errorf("%s: %v, %d runs left", tt.rule, err, len(list.Items))
		}
	}
}
