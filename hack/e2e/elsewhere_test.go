//go:build e2e

package e2e

import (
	"net"
	"net/http"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// gate is a place that steps can ask over HTTP whether they may go on.
type gate struct {
	url  string
	open func()
}

// newGate makes a gate where pods reach this machine: at HOST_ADDRESS.
func newGate(t *testing.T) gate {
	t.Helper()
	listener := listen(t)
	opened := make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-opened:
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})}
	go server.Serve(listener) // until the test closes it
	t.Cleanup(func() { server.Close() })
	return gate{"http://" + listener.Addr().String() + "/", sync.OnceFunc(func() { close(opened) })}
}

// listen opens a port that pods can reach.
func listen(t *testing.T) net.Listener {
	t.Helper()
	address := setting("HOST_ADDRESS", "")
	if address == "" {
		t.Fatal("HOST_ADDRESS is not set: the address of this machine as pods see it")
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatalf("listening at HOST_ADDRESS: %v", err)
	}
	return listener
}

// A failure anywhere ends the pipeline for steps on success everywhere, also in branches without any failure. What runs
// already runs to its end.
func TestFailureElsewhere(t *testing.T) {
	t.Parallel()
	noticed := newGate(t)
	p := newPipeline(t, kube.namespace(t))
	run := p.start(surrounded([]byte(`
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
  - until wget -q -O - ` + noticed.url + `; do sleep 1; done
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
	kube.until(t, "the step has failed", taskRuns, p.namespace, failing, func(status string) bool { return status == "False" })
	noticed.open()
	p.check(run, expectation{
		Result: failure,
		Steps: map[string]stepExpectation{
			"failing":            {Outcome: failure, Exit: 1},
			"other":              {Outcome: success, Lines: []string{"ended as usual"}},
			"after other":        {Outcome: skipped},
			"always after other": {Outcome: success, After: []string{"other"}, Lines: []string{"failure"}},
		},
	})
}
