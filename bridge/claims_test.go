package bridge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/drone-tekton/drone-runner-tekton/translate"
)

// The claims of a run go with its end, those of others and those of people stay.
func TestClaimsOfARunAreRemoved(t *testing.T) {
	claim := func(name, run, manager string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: "builds", Name: name, Finalizers: []string{"example.com/mine", protection},
			Labels: map[string]string{translate.LabelRun: run, translate.LabelManagedBy: manager},
		}}
	}
	client := fake.NewClientset(claim("a", "cat-7", translate.ManagedBy), claim("b", "cat-7", translate.ManagedBy),
		claim("other-run", "cat-8", translate.ManagedBy), claim("of-somebody", "cat-7", "somebody"))
	var calls []string
	client.PrependReactor("*", "persistentvolumeclaims", func(a kubetesting.Action) (bool, runtime.Object, error) {
		switch a := a.(type) {
		case kubetesting.PatchAction:
			calls = append(calls, "patch "+a.GetName()+" "+string(a.GetPatch()))
			return true, nil, nil
		case kubetesting.DeleteAction:
			calls = append(calls, "delete "+a.GetName())
			return true, nil, nil
		}
		return false, nil, nil
	})
	if err := removeClaims(t.Context(), Clients{Kube: client}, "builds", "cat-7"); err != nil {
		t.Fatal(err)
	}
	const patch = ` [{"op":"test","path":"/metadata/finalizers/1","value":"kubernetes.io/pvc-protection"},{"op":"remove","path":"/metadata/finalizers/1"}]`
	if diff := cmp.Diff([]string{"delete a", "patch a" + patch, "delete b", "patch b" + patch}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
