//go:build e2e

package e2e

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/cluster"
	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/expect"
)

// A failure anywhere ends the pipeline for steps on success everywhere, also in branches without any failure. What runs
// already runs to its end.
func TestFailureElsewhere(t *testing.T) {
	t.Parallel()
	noticed := cluster.NewGate(t)
	p := newPipeline(t, kube.Namespace(t))
	run := p.start(cluster.Surrounded([]byte(`
kind: pipeline
type: docker
name: default
clone: {disable: true}
steps:
- name: failing
  image: busybox:1.36
  commands:
  - until [ -e running ]; do sleep 1; done
  - exit 1
- name: other
  image: busybox:1.36
  commands:
  - touch running
  - until wget -q -O - ` + noticed.URL + `; do sleep 1; done
  - echo ended as usual
- name: after other
  image: busybox:1.36
  commands:
  - echo not reached
  depends_on: [other]
- name: always after other
  image: busybox:1.36
  commands:
  - echo $DRONE_BUILD_STATUS
  depends_on: [after other]
  when:
    status: [success, failure]
`)))
	// Tekton sees changes of TaskRuns in their order, so it knows of this one before the other can have ended.
	failing := metav1.ListOptions{LabelSelector: "tekton.dev/pipelineRun=" + run + ",tekton.dev/pipelineTask=failing"}
	kube.Until(t, "the step has failed", cluster.TaskRuns, p.namespace, failing, func(status string) bool { return status == "False" })
	noticed.Open()
	p.check(run, expect.Stage{
		Result: expect.Failure,
		Steps: map[string]expect.Step{
			"failing":            {Outcome: expect.Failure, Exit: 1},
			"other":              {Outcome: expect.Success, Lines: []string{"ended as usual"}},
			"after other":        {Outcome: expect.Skipped},
			"always after other": {Outcome: expect.Success, After: []string{"other"}, Lines: []string{"failure"}},
		},
	})
}
