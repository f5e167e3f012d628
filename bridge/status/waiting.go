package status

import (
	"strings"
	"time"

	api "github.com/drone/drone-go/drone"
	corev1 "k8s.io/api/core/v1"
	"knative.dev/pkg/apis"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// What a step that does not run waits for.
const (
	ForNode      = "node"
	ForQuota     = "quota"
	ForPod       = "pod" // to be created, for another reason than quota
	ForVolume    = "volume"
	ForImage     = "image"
	ForContainer = "container"
)

// troubles are reasons for which a container waits that pass by themselves at best: the kubelet tries again, and a
// registry may come back.
var troubles = map[string]struct{ text, waitsFor string }{
	"ErrImagePull":               {"the image cannot be pulled", ForImage},
	"ImagePullBackOff":           {"the image cannot be pulled", ForImage},
	"InvalidImageName":           {"the image's name is not valid", ForImage},
	"ErrImageNeverPull":          {"the image is not on the node, and must not be pulled", ForImage},
	"ImageInspectError":          {"the image cannot be read", ForImage},
	"RegistryUnavailable":        {"the registry is not available", ForImage},
	"SignatureValidationFailed":  {"the image's signature is not valid", ForImage},
	"CreateContainerConfigError": {"the container cannot be configured", ForContainer},
	"CreateContainerError":       {"the container cannot be created", ForContainer},
	"RunContainerError":          {"the container cannot be started", ForContainer},
	"CreatePodSandboxError":      {"the pod cannot be set up", ForContainer},
}

// waitingForPod is the state of a step whose task has no pod.
func waitingForPod(tr *v1.TaskRun) State {
	st := State{Status: api.StatusPending}
	c := tr.Status.GetCondition(apis.ConditionSucceeded)
	if c == nil || !c.IsUnknown() {
		return st
	}
	switch c.Reason {
	case "ExceededResourceQuota":
		st.WaitsFor = ForQuota
	case "ExceededNodeResources":
		st.WaitsFor = ForNode
	case "PodCreationFailed":
		st.WaitsFor = ForPod
	default:
		return st
	}
	st.Waiting = "waiting: " + oneLine(c.Message)
	return st
}

// waiting is the state of a container that does not run yet, and why. An image that cannot be pulled shows at a container
// of its own, or at one of those that Tekton prepares the pod with: all steps of the pod wait for them.
func (v *view) waiting(pod *corev1.Pod, cs *corev1.ContainerStatus) State {
	st := State{Status: api.StatusPending}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			st.Waiting, st.WaitsFor = "waiting for a node: "+oneLine(c.Message), ForNode
			return st
		}
	}
	all := pod.Status.InitContainerStatuses
	if cs != nil {
		all = append(all[:len(all):len(all)], *cs)
	}
	for _, c := range all {
		w := c.State.Waiting
		if w == nil {
			continue
		}
		trouble, known := troubles[w.Reason]
		if !known {
			continue
		}
		st.Waiting, st.WaitsFor = trouble.text+": "+c.Image, trouble.waitsFor
		if w.Message != "" {
			st.Waiting = trouble.text + ": " + oneLine(w.Message)
		}
		st.Trouble = &Trouble{PodUID: string(pod.UID), Container: c.Name}
		if since := v.troubleSince(*st.Trouble); !since.IsZero() && v.Now.Sub(since) >= v.Grace {
			st.Status, st.ExitCode, st.Error, st.Waiting = api.StatusError, exitError, st.Waiting, ""
			st.WaitsFor = ""
			st.Started, st.Stopped = pod.CreationTimestamp.Time, v.Now
		}
		return st
	}
	st.Waiting, st.WaitsFor = v.fromEvents(pod)
	return st
}

// told are the events that explain why a pod waits, in the words that go before theirs. Those that come with every pod
// are told only where they last.
var told = map[string]struct {
	text     string
	waitsFor string
	lasts    bool
}{
	"FailedMount":            {"a volume cannot be mounted", ForVolume, false},
	"FailedAttachVolume":     {"a volume cannot be attached", ForVolume, false},
	"FailedCreatePodSandBox": {"the pod cannot be set up", ForContainer, false},
	"FailedScheduling":       {"waiting for a node", ForNode, false},
	"TriggeredScaleUp":       {"waiting for a new node", ForNode, false},
	"NotTriggerScaleUp":      {"no new node comes", ForNode, false},
	"Pulling":                {"the image takes its time", ForImage, true},
	"SuccessfulAttachVolume": {"waiting for the volumes", ForVolume, true},
}

// slow is how long what comes with every pod has to last to be worth a line.
const slow = 10 * time.Second

// fromEvents is what the latest event about a pod says of why it waits.
func (v *view) fromEvents(pod *corev1.Pod) (text, waitsFor string) {
	var latest *corev1.Event
	for _, e := range v.Events {
		if e.InvolvedObject.Name != pod.Name || e.InvolvedObject.UID != "" && e.InvolvedObject.UID != pod.UID {
			continue
		}
		if latest == nil || when(e).After(when(latest)) {
			latest = e
		}
	}
	if latest == nil {
		return "", ""
	}
	about, known := told[latest.Reason]
	if !known || about.lasts && v.Now.Sub(when(latest)) < slow {
		return "", ""
	}
	return about.text + ": " + oneLine(latest.Message), about.waitsFor
}

func when(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

func (v *view) troubleSince(t Trouble) (since time.Time) {
	if v.TroubleSince == nil {
		return since
	}
	return v.TroubleSince(t)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
