package translate

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// detached is a service or a detached step. It runs in a Pod beside the run, one for the whole pipeline, so that what one
// step puts into a database is there for the next. A headless Service and a search domain in the run's pods give it its
// plain name in every step, on any node, and keep two runs of one pipeline apart.
type detached struct {
	unit     *unit
	hostname string
	start    string   // the name of the task that marks its start
	runAfter []string // of that task
}

// gated reports whether the Pod waits for its place in the order of steps, since Drone starts it after the steps before
// it. A service that is its image alone needs nothing of theirs, and starts with the run.
func (d *detached) gated() bool { return !d.unit.step.Service || len(d.unit.step.Spec.Commands) > 0 }

// findDetached collects the services and detached steps. On-failure ones are left out: Drone starts those only when
// something has failed before.
func (l *lowering) findDetached(mounts map[*Step][]mount) {
	hosts := newNames(maxTaskName)
	starts := l.taskNames()
	for _, s := range l.plan.Steps {
		if !s.Detached {
			continue
		}
		if s.Policy == OnFailure {
			l.diags.Warnf(s.Spec.At("when.status"), CodeService,
				"%q is detached and runs only on failure; there is nothing left then that could use it, so it does not run", s.Name)
			continue
		}
		m := mounts[s]
		if !worksOnFiles(s) {
			m = slices.Clone(l.volumes.given)
		}
		d := &detached{hostname: hosts.unique(s.Name), start: starts.unique("start " + s.ID)}
		d.unit = &unit{step: s, name: s.ID, env: l.environmentOf(s, false), mounts: m}
		if d.hostname != s.Name {
			l.diags.Warnf(s.Spec.At("name"), CodeService, "%q is not a name that DNS allows; steps reach it as %q", s.Name, d.hostname)
		}
		l.pods = append(l.pods, d)
	}
}

// worksOnFiles reports whether a detached step or service may use the source or other files of the run. Drone mounts the
// source into all of them; where nothing points to a use, a Pod without the claim can run on any node, at once.
func worksOnFiles(s *Step) bool {
	return !s.Service || len(s.Spec.Commands) > 0 || len(s.Spec.Volumes) > 0 || s.Spec.Privileged || s.Spec.WorkingDir != ""
}

func (l *lowering) podName(d *detached) string {
	return l.name + "-" + slug(d.unit.step.ID, 62-len(l.name))
}

const (
	startsVolume = "starts" // the folder of marks, beside the volumes on the claim
	markStart    = `: > "/starts/$0"`
)

// startTask marks the start of a detached step, at its place in the order, by a file that its Pod waits for.
func (l *lowering) startTask(d *detached) v1.PipelineTask {
	s := d.unit.step
	place := l.storage.decision.Places[sourceVolume]
	pt := v1.PipelineTask{
		Name: d.start, DisplayName: "start " + s.Name, RunAfter: d.runAfter,
		Timeout: &metav1.Duration{Duration: l.plan.Timeout},
		TaskSpec: &v1.EmbeddedTask{TaskSpec: v1.TaskSpec{
			Steps: []v1.Step{{
				Name: "mark", Image: l.options.CloneImage, ImagePullPolicy: corev1.PullIfNotPresent,
				Command: []string{"/bin/sh", "-c"}, Args: []string{markStart, s.ID},
				SecurityContext: l.helperSecurity(),
			}},
		}},
	}
	l.startAtOnce(pt.TaskSpec)
	if l.storage.decision.AsVolume {
		claim := l.storage.claim(place.Claim)
		addVolume(&pt.TaskSpec.TaskSpec, l.storage.claimVolume(claim))
		pt.TaskSpec.Steps[0].VolumeMounts = []corev1.VolumeMount{{Name: claim.Name, MountPath: "/starts", SubPath: l.startsPath(place.Claim)}}
		return pt
	}
	pt.TaskSpec.Workspaces = []v1.WorkspaceDeclaration{{Name: startsVolume, MountPath: "/starts"}}
	pt.Workspaces = []v1.WorkspacePipelineTaskBinding{{Name: startsVolume, Workspace: place.Claim, SubPath: l.startsPath(place.Claim)}}
	return pt
}

func (l *lowering) startsPath(claim string) string {
	if l.storage.claim(claim).Existing != "" {
		return l.name + "-" + startsVolume
	}
	return startsVolume
}

// addPods adds the Pods of detached steps and the Service that names them.
func (l *lowering) addPods(b *Bundle) {
	if len(l.pods) == 0 || l.podsAreSidecars() {
		return
	}
	meta := l.objectMeta()
	b.Service = &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: meta,
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone,
			Selector:  map[string]string{LabelRun: labelValue(l.name), labelDetached: "true"},
			// Drone does not know readiness: a name resolves as soon as the container runs.
			PublishNotReadyAddresses: true,
		},
	}
	for _, d := range l.pods {
		b.Pods = append(b.Pods, l.pod(d))
	}
}

// labelDetached marks Pods of detached steps; the run's own pods have all other labels too.
const labelDetached = "drone.io/detached"

// pod is the Pod of a detached step. Drone ends it with the pipeline; its deadline is for where nobody does.
func (l *lowering) pod(d *detached) *corev1.Pod {
	s := d.unit.step
	template := l.taskRunTemplate(nil)
	meta := l.objectMeta()
	meta.Name = l.podName(d)
	meta.Labels = maps.Clone(meta.Labels)
	meta.Labels[labelDetached] = "true"
	meta.Labels[LabelStep] = labelValue(s.Name)
	meta.Annotations[AnnotationStep] = s.Name
	deadline := int64((l.plan.Timeout + time.Minute) / time.Second)
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: meta,
		Spec: corev1.PodSpec{
			Hostname: d.hostname, Subdomain: l.name,
			RestartPolicy:                corev1.RestartPolicyNever,
			ActiveDeadlineSeconds:        &deadline,
			ServiceAccountName:           template.ServiceAccountName,
			NodeSelector:                 template.PodTemplate.NodeSelector,
			Tolerations:                  template.PodTemplate.Tolerations,
			HostAliases:                  template.PodTemplate.HostAliases,
			DNSConfig:                    template.PodTemplate.DNSConfig,
			ImagePullSecrets:             template.PodTemplate.ImagePullSecrets,
			SecurityContext:              template.PodTemplate.SecurityContext,
			EnableServiceLinks:           template.PodTemplate.EnableServiceLinks,
			AutomountServiceAccountToken: template.PodTemplate.AutomountServiceAccountToken,
		},
	}
	command, args, dollar := l.commandLine(s)
	container := corev1.Container{
		Name: d.unit.name, Image: s.Spec.Image, ImagePullPolicy: l.pullPolicy(s.Spec),
		Command: command, Args: args, Env: d.unit.env.list(nil, dollar), WorkingDir: l.workingDir(s),
		SecurityContext: l.securityContext(s), Resources: l.resources(s.Spec),
	}
	for _, m := range d.unit.mounts {
		volume, ok := l.storage.volume(m)
		if !ok {
			volume = l.storage.claimVolume(l.storage.claim(l.storage.decision.Places[m.volume].Claim))
		}
		addPodVolume(pod, volume)
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{
			Name: volume.Name, MountPath: m.path, SubPath: l.storage.volumeSubPath(m), ReadOnly: m.readOnly,
		})
	}
	pod.Spec.Containers = []corev1.Container{container}
	if len(ownVolumes(d.unit.mounts)) > 0 || d.gated() {
		l.keepNearTasks(pod)
	}
	if d.gated() {
		l.waitForStart(pod, d)
	}
	return pod
}

// waitForStart holds the Pod back until its start is marked.
func (l *lowering) waitForStart(pod *corev1.Pod, d *detached) {
	claim := l.storage.claim(l.storage.decision.Places[sourceVolume].Claim)
	volume := l.storage.claimVolume(claim)
	addPodVolume(pod, volume)
	pod.Spec.InitContainers = []corev1.Container{{
		Name: "wait", Image: l.options.CloneImage, ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{"/bin/sh", "-c", `until [ -e "/starts/$0" ]; do sleep 1; done`, d.unit.step.ID},
		VolumeMounts:    []corev1.VolumeMount{{Name: volume.Name, MountPath: "/starts", SubPath: l.startsPath(claim.Name)}},
		SecurityContext: l.helperSecurity(),
	}}
}

// keepNearTasks holds the Pod on the node where the affinity assistant keeps the run's tasks: on storage that one node
// alone can use, a Pod elsewhere would keep the claim from them.
func (l *lowering) keepNearTasks(pod *corev1.Pod) {
	if !l.storage.decision.OneNode {
		return
	}
	pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
				LabelRun: labelValue(l.name), "app.kubernetes.io/component": "affinity-assistant",
			}},
		}},
	}}
}

func addPodVolume(pod *corev1.Pod, volume corev1.Volume) {
	if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == volume.Name }) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, volume)
	}
}

// chooseForLocalhost puts a pipeline that looks for a service at localhost into one pod, where that is wished for.
func (l *lowering) chooseForLocalhost() {
	if !l.options.LocalhostPod || l.options.Workspace.Layout == workspace.Pod || len(l.localhosts()) == 0 {
		return
	}
	l.options.Workspace.Layout = workspace.Pod
	l.diags.Infof(l.plan.Pipeline.At(""), CodeLocalhost,
		"the pipeline %s gets the layout pod, because a step of it mentions localhost", l.plan.Pipeline.DisplayName())
}

// warnOfLocalhost tells of steps that look for a service where it is not.
func (l *lowering) warnOfLocalhost() {
	if l.podsAreSidecars() {
		return
	}
	for _, m := range l.localhosts() {
		l.localhost(m.step, m.path, l.pods[0].hostname)
	}
}

// mention is a place in a step.
type mention struct {
	step *Step
	path string
}

// localhosts are where steps look for a service at localhost. Drone documents that services of kubernetes pipelines are
// there, which holds only where all is one pod.
func (l *lowering) localhosts() []mention {
	if len(l.pods) == 0 || !l.plan.Pipeline.IsKubernetes() {
		return nil
	}
	var found []mention
	for _, s := range l.plan.Steps {
		if s.Detached {
			continue
		}
		for i, c := range s.Spec.Commands {
			if mentionsLocalhost(c) {
				found = append(found, mention{s, at("commands", i)})
			}
		}
		for key, v := range s.Spec.Environment {
			if v != nil && mentionsLocalhost(v.Value) {
				found = append(found, mention{s, at("environment", key)})
			}
		}
		for key, v := range s.Spec.Settings {
			if v != nil && mentionsLocalhost(encodeSetting(v.Value)) {
				found = append(found, mention{s, at("settings", key)})
			}
		}
	}
	return found
}

func mentionsLocalhost(text string) bool {
	return strings.Contains(text, "localhost") || strings.Contains(text, "127.0.0.1")
}
