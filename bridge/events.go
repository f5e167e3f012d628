package bridge

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	clientv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	api "github.com/drone/drone-go/drone"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/bridge/journal"
	"github.com/drone-tekton/drone-runner-tekton/translate"
)

// events tells of the way of a stage in Kubernetes events of its PipelineRun.
type events struct {
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
}

func newEvents(c Clients) *events {
	b := record.NewBroadcaster()
	b.StartRecordingToSink(&clientv1.EventSinkImpl{Interface: c.Kube.CoreV1().Events("")})
	return &events{b, b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: translate.ManagedBy})}
}

func (e *events) stop() { e.broadcaster.Shutdown() }

func (e *events) started(run *v1.PipelineRun) {
	e.recorder.Event(reference(run.Namespace, run.Name, run), corev1.EventTypeNormal, "DroneStageStarted",
		"Drone knows the steps; the run may start")
}

func (e *events) ended(entry *journal.Entry, status, text string) {
	if entry.Run == "" {
		return
	}
	kind := corev1.EventTypeNormal
	if status != api.StatusPassing {
		kind = corev1.EventTypeWarning
	}
	message := fmt.Sprintf("Drone was told that the stage ended: %s", status)
	if text != "" {
		message += ": " + text
	}
	e.recorder.Event(reference(entry.Namespace, entry.Run, nil), kind, "DroneStageEnded", message)
}

func reference(namespace, name string, run *v1.PipelineRun) *corev1.ObjectReference {
	ref := &corev1.ObjectReference{
		APIVersion: "tekton.dev/v1", Kind: "PipelineRun", Namespace: namespace, Name: name,
	}
	if run != nil {
		ref.UID = run.UID
	}
	return ref
}
