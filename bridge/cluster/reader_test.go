package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	storagev1 "k8s.io/api/storage/v1"
	kubetesting "k8s.io/client-go/testing"

	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

func TestReaderKeepsWhatItRead(t *testing.T) {
	client := world(nil, builds(map[string]string{"istio-injection": "enabled"}, nil),
		configMap("tekton-pipelines", "feature-flags", map[string]string{"coschedule": "disabled"}),
		storageClass("fast", true, storagev1.VolumeBindingWaitForFirstConsumer))
	r := NewReader(client)
	want := &workspace.Cluster{Coschedule: workspace.CoscheduleDisabled, Classes: []workspace.Class{{Name: "fast", Default: true}}}
	known, injects := r.Offers(t.Context(), "builds")
	if diff := cmp.Diff(want, known); diff != "" || !injects {
		t.Errorf("injects %v, known (-want +got):\n%s", injects, diff)
	}
	count := func() int { return len(client.Actions()) }
	before := count()
	if again, injects := r.Offers(t.Context(), "builds"); !cmp.Equal(want, again) || !injects || count() != before {
		t.Errorf("asked again: %+v, injects %v, after %d calls; want the same and none", again, injects, count()-before)
	}
	if _, injects := r.Offers(t.Context(), "elsewhere"); injects || count() == before {
		t.Errorf("another namespace injects as this one does (%v), after %d calls", injects, count()-before)
	}
	for _, a := range client.Actions() {
		if _, writes := a.(kubetesting.CreateAction); writes {
			t.Errorf("it creates %v", a)
		}
	}
}
