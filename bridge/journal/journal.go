// Package journal keeps what the runner has to remember of a stage, where any replica finds it after a crash: which
// stage was taken, what became of it in the cluster, and what Drone was told.
//
// A stage's entry is a ConfigMap in the runner's own namespace. It is made before the stage is taken from the server,
// since a server never offers a stage again that was taken, and it goes when there is nothing left to tell. It does not
// live in annotations of the PipelineRun: that exists too late, Tekton copies its annotations to every TaskRun and pod,
// and when Tekton's controller writes labels or annotations of its own, it can put back old values of all others.
package journal

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/drone-tekton/drone-runner-tekton/bridge/logs"
	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
	"github.com/drone-tekton/drone-runner-tekton/bridge/status"
)

// Phase is how far a stage has come. Phases only go forward.
type Phase string

// The phases.
const (
	// Reserved: the stage may have been taken from the server, or not.
	Reserved Phase = "reserved"
	// Taken: it is ours, and may have objects in the cluster, or not.
	Taken Phase = "taken"
	// Running: the server knows the steps, and all objects exist.
	Running Phase = "running"
	// Told: the server knows the end. What is left is to clean up.
	Told Phase = "told"
)

// Entry is what is remembered of one stage.
type Entry struct {
	StageID int64  `json:"stageID"`
	Machine string `json:"machine"` // the name by which it is taken
	Phase   Phase  `json:"phase"`
	// Reserved is when the entry was made, which counts as the start of the stage.
	Reserved time.Time `json:"reserved"`
	// Stage is as the server has it, without steps; nil while it is only reserved.
	Stage *rpc.Stage `json:"stage,omitempty"`

	Repo  string `json:"repo,omitempty"`
	Build int64  `json:"build,omitempty"` // its number
	Link  string `json:"link,omitempty"`  // the build's page

	Namespace string        `json:"namespace,omitempty"` // of the PipelineRun
	Run       string        `json:"run,omitempty"`       // its name; empty while there is none
	Timeout   time.Duration `json:"timeout,omitempty"`
	Steps     []*Step       `json:"steps,omitempty"`
	// Warnings are what the translation of the pipeline has to tell its author, until a step's log is there to take them.
	Warnings []string `json:"warnings,omitempty"`
	// Ending is set once the runner ends the pipeline; Ended reports that the server did so by itself, and Failure is why
	// the stage could not be run.
	Ending  *status.Ending `json:"ending,omitempty"`
	Ended   bool           `json:"ended,omitempty"`
	Failure string         `json:"failure,omitempty"`

	object *corev1.ConfigMap
}

// Step is what is remembered of a step.
type Step struct {
	status.Step
	Told *rpc.Step `json:"told"`
	// End is how the step was first seen to have ended, before that is told; nil while it has not.
	End *status.State `json:"end,omitempty"`
	// Opened reports that the server has a live log for a step that does not run yet.
	Opened bool `json:"opened,omitempty"`
	// Warnings are the lines that the step's log begins with.
	Warnings []string `json:"warnings,omitempty"`
	// Uploaded reports that the server has the whole log, with the card of that schema if there is one.
	Uploaded bool        `json:"uploaded,omitempty"`
	Schema   string      `json:"schema,omitempty"`
	Cursor   logs.Cursor `json:"cursor,omitzero"`
}

// Known is the state of the step as it was last known.
func (s *Step) Known() status.State {
	switch {
	case s.End != nil:
		return *s.End
	case s.Told.Started > 0:
		return status.State{Status: s.Told.Status, ExitCode: s.Told.ExitCode, Error: s.Told.Error, Started: time.Unix(s.Told.Started, 0)}
	default:
		return status.State{Status: s.Told.Status}
	}
}

// Labels of the ConfigMaps, and of all objects of a stage.
const (
	LabelComponent = "app.kubernetes.io/component"
	Component      = "journal"
	LabelStageID   = "drone.io/stage-id"
	LabelManagedBy = "app.kubernetes.io/managed-by"
	managedBy      = "drone-runner-tekton"
	dataKey        = "stage"
)

// Annotations repeat what is asked of all entries at once, so that they need not be decoded for it.
const (
	annotationMachine = "drone.io/machine"
	annotationPhase   = "drone.io/phase"
)

// Brief is by which name a stage is taken, and how far it has come.
func Brief(object *corev1.ConfigMap) (machine string, phase Phase) {
	return object.Annotations[annotationMachine], Phase(object.Annotations[annotationPhase])
}

// Selector selects the ConfigMaps.
const Selector = LabelManagedBy + "=" + managedBy + "," + LabelComponent + "=" + Component

// Name is the name of a stage's ConfigMap.
func Name(stageID int64) string { return "drone-stage-" + strconv.FormatInt(stageID, 10) }

// Decode reads an entry.
func Decode(object *corev1.ConfigMap) (*Entry, error) {
	e := &Entry{}
	if err := json.Unmarshal([]byte(object.Data[dataKey]), e); err != nil {
		return nil, fmt.Errorf("reading the entry %s/%s: %w", object.Namespace, object.Name, err)
	}
	e.object = object
	return e, nil
}

// encode makes the ConfigMap of an entry.
func (e *Entry) encode() (*corev1.ConfigMap, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("writing the entry of stage %d: %w", e.StageID, err)
	}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: Name(e.StageID),
		Labels: map[string]string{
			LabelManagedBy: managedBy, LabelComponent: Component, LabelStageID: strconv.FormatInt(e.StageID, 10),
		},
	}}
	if e.object != nil {
		object = e.object.DeepCopy()
	}
	object.Annotations = map[string]string{annotationMachine: e.Machine, annotationPhase: string(e.Phase)}
	object.Data = map[string]string{dataKey: string(text)}
	return object, nil
}

// Fields are what log lines about a stage carry.
func (e *Entry) Fields() []any {
	fields := []any{"stage-id", e.StageID}
	if e.Repo != "" {
		fields = append(fields, "repo", e.Repo, "build", e.Build)
	}
	if e.Stage != nil {
		fields = append(fields, "stage", e.Stage.Name)
	}
	return fields
}
