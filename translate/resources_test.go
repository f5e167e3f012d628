package translate

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// A step has its own limits, else the default; it asks for its own requests, else the pipeline's, else the default, and
// never for more than its limit. Amounts of CPU are thousandths; units of memory are binary.
func TestResourcesOfAStep(t *testing.T) {
	defaults := func(_ *Facts, o *Options) {
		o.Requests = drone.ResourceList{CPU: 10, Memory: 1 << 20}
		o.Limits = drone.ResourceList{CPU: 1000, Memory: 1 << 30}
	}
	none := func(*Facts, *Options) {}
	for _, test := range []struct {
		text   string
		change func(*Facts, *Options)
		want   string
	}{
		{kubernetesHead + "steps: [{name: a, image: i}]\n", none, `{}`},
		{kubernetesHead + "steps: [{name: a, image: i, resources: {limits: {cpu: 500, memory: 500MiB}}}]\n", none,
			`{"limits":{"cpu":"500m","memory":"500Mi"}}`},
		{kubernetesHead + "resources: {requests: {ephemeral_storage: 2GiB}}\n" +
			"steps: [{name: a, image: i, resources: {limits: {ephemeral_storage: 1GiB}}}]\n", none,
			`{"limits":{"ephemeral-storage":"1Gi"},"requests":{"ephemeral-storage":"1Gi"}}`},
		{kubernetesHead + "steps: [{name: a, image: i, resources: {limits: {memory: 1000}}}]\n", none,
			`{"limits":{"memory":"1k"}}`},
		{kubernetesHead + "steps: [{name: a, image: i, resources: {limits: {memory: 500MB}}}]\n", none,
			`{"limits":{"memory":"500Mi"}}`},
		{kubernetesHead + "steps: [{name: a, image: i, resources: {requests: {cpu: 100}}}]\n", none,
			`{"requests":{"cpu":"100m"}}`},
		{kubernetesHead + "resources: {requests: {cpu: 250, memory: 1GiB}}\nsteps: [{name: a, image: i}]\n", none,
			`{"requests":{"cpu":"250m","memory":"1Gi"}}`},
		{kubernetesHead + "resources: {requests: {cpu: 250, memory: 1GiB}}\n" +
			"steps: [{name: a, image: i, resources: {requests: {cpu: 100}}}]\n", none,
			`{"requests":{"cpu":"100m","memory":"1Gi"}}`},
		{kubernetesHead + "resources: {requests: {cpu: 2000, memory: 1GiB}}\n" +
			"steps: [{name: a, image: i, resources: {limits: {cpu: 1000, memory: 512MiB}}}]\n", none,
			`{"limits":{"cpu":"1","memory":"512Mi"},"requests":{"cpu":"1","memory":"512Mi"}}`},
		{kubernetesHead + "steps: [{name: a, image: i}]\n", defaults,
			`{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"10m","memory":"1Mi"}}`},
		{kubernetesHead + "resources: {requests: {cpu: 20}}\n" +
			"steps: [{name: a, image: i, resources: {limits: {memory: 512KiB}}}]\n", defaults,
			`{"limits":{"cpu":"1","memory":"512Ki"},"requests":{"cpu":"20m","memory":"512Ki"}}`},
		{dockerHead + "steps: [{name: a, image: i, mem_limit: 1GiB}]\n", none, `{"limits":{"memory":"1Gi"}}`},
		{dockerHead + "steps: [{name: a, image: i, mem_limit: 1000000}]\n", none, `{"limits":{"memory":"1000000"}}`},
		{dockerHead + "steps: [{name: a, image: i}]\n", defaults,
			`{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"10m","memory":"1Mi"}}`},
	} {
		got, err := json.Marshal(stepOf(t, converted(t, test.text, test.change), "a").ComputeResources)
		if err != nil || string(got) != test.want {
			t.Errorf("resources are %s, want %s (%v), of\n%s", got, test.want, err, test.text)
		}
	}
}

// Kubernetes adds up what the containers of a pod ask for. Steps of one task run one after the other, so that the pod
// needs what the largest needs.
func TestStepsOfOneTaskAskForTheLargest(t *testing.T) {
	b := converted(t, kubernetesHead+`steps:
- {name: a, image: i, resources: {requests: {cpu: 100, memory: 1GiB, ephemeral_storage: 1GiB}}}
- {name: b, image: i, resources: {requests: {cpu: 300}, limits: {cpu: 500, memory: 2GiB}}}
- {name: c, image: i, resources: {requests: {cpu: 200, memory: 512MiB}}}
`, func(_ *Facts, o *Options) { o.Workspace.Layout = "pod" })
	got := map[string]string{}
	for _, s := range taskOf(t, b, onePodTask).TaskSpec.Steps {
		text, err := json.Marshal(s.ComputeResources)
		if err != nil {
			t.Fatal(err)
		}
		got[s.Name] = string(text)
	}
	want := map[string]string{
		"clone": `{"requests":{"cpu":"0","ephemeral-storage":"0","memory":"0"}}`,
		"a":     `{"requests":{"cpu":"0","ephemeral-storage":"1Gi","memory":"0"}}`,
		"b":     `{"limits":{"cpu":"500m","memory":"2Gi"},"requests":{"cpu":"300m","ephemeral-storage":"0","memory":"2Gi"}}`,
		"c":     `{"requests":{"cpu":"0","ephemeral-storage":"0","memory":"0"}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resources by step (-want +got):\n%s", diff)
	}
}
