package translate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// mountAll gives the steps of a task their files. What is on a claim comes as a workspace of the task, each mount its own
// workspace with a sub-path of the claim; all else as volumes.
//
// Where the steps of a task mount different things, each step names its workspaces; a workspace that no step names would
// be mounted into all of them, and hide what their images have there.
func (l *lowering) mountAll(pt *v1.PipelineTask, units []*unit) {
	spec := pt.TaskSpec
	alike := len(units) == 1 || !slices.ContainsFunc(units, func(u *unit) bool { return mountsKey(u.mounts) != mountsKey(units[0].mounts) })
	workspaces := newNames(maxTaskName)
	names := map[string]string{} // of workspaces, by what they mount
	for i, u := range units {
		step := &spec.Steps[i]
		for _, m := range u.mounts {
			if volume, ok := l.storage.volume(m); ok {
				addVolume(&spec.TaskSpec, volume)
				step.VolumeMounts = append(step.VolumeMounts, corev1.VolumeMount{
					Name: volume.Name, MountPath: m.path, SubPath: l.storage.volumeSubPath(m), ReadOnly: m.readOnly,
				})
				continue
			}
			key := m.volume + "\x00" + m.sub
			if alike {
				key = m.key()
			}
			name, known := names[key]
			if !known {
				name = workspaces.unique(m.volume)
				names[key] = name
				declaration := v1.WorkspaceDeclaration{Name: name}
				if alike {
					declaration.MountPath = m.path
				}
				spec.Workspaces = append(spec.Workspaces, declaration)
				pt.Workspaces = append(pt.Workspaces, v1.WorkspacePipelineTaskBinding{
					Name: name, Workspace: l.storage.decision.Places[m.volume].Claim, SubPath: l.storage.subPath(m),
				})
			}
			if !alike {
				step.Workspaces = append(step.Workspaces, v1.WorkspaceUsage{Name: name, MountPath: m.path})
			}
		}
	}
}

// addVolume adds a volume once.
func addVolume(spec *v1.TaskSpec, volume corev1.Volume) {
	if !slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == volume.Name }) {
		spec.Volumes = append(spec.Volumes, volume)
	}
}

// volume is the volume of a pod that a mount needs, where it is not a workspace.
func (s storage) volume(m mount) (corev1.Volume, bool) {
	if m.existing != nil {
		return corev1.Volume{Name: m.volume, VolumeSource: *m.existing}, true
	}
	place := s.decision.Places[m.volume]
	if place.Claim == "" {
		source := corev1.VolumeSource{EmptyDir: emptyDir(place.Memory, place.SizeLimit)}
		return corev1.Volume{Name: m.volume, VolumeSource: source}, true
	}
	if s.decision.AsVolume {
		return s.claimVolume(s.claim(place.Claim)), true
	}
	return corev1.Volume{}, false
}

// emptyDir is a folder of the pod. A limit, in bytes, counts only in memory.
func emptyDir(memory bool, limit int64) *corev1.EmptyDirVolumeSource {
	source := &corev1.EmptyDirVolumeSource{}
	if memory {
		source.Medium = corev1.StorageMediumMemory
		if limit > 0 {
			source.SizeLimit = resource.NewQuantity(limit, resource.BinarySI)
		}
	}
	return source
}

// claimVolume mounts a claim by its name, past Tekton's workspaces.
func (s storage) claimVolume(c workspace.Claim) corev1.Volume {
	return corev1.Volume{Name: c.Name, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: s.objectName(c)},
	}}
}

// volumeSubPath is where in a volume a mount lies.
func (s storage) volumeSubPath(m mount) string {
	if m.existing != nil || s.decision.Places[m.volume].Claim == "" {
		return m.sub
	}
	return s.subPath(m)
}

// binding gives the run a claim: from a template, or by name where it has one.
func (s storage) binding(c workspace.Claim) v1.WorkspaceBinding {
	if c.Beside || c.Existing != "" {
		return v1.WorkspaceBinding{Name: c.Name, PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
			ClaimName: s.objectName(c),
		}}
	}
	// By the labels, the claim is found again.
	meta := metav1.ObjectMeta{Labels: map[string]string{LabelManagedBy: ManagedBy, LabelRun: labelValue(s.run)}}
	return v1.WorkspaceBinding{Name: c.Name, VolumeClaimTemplate: &corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: claimSpec(c)}}
}

// claimObject is a claim that is made beside the run.
func (l *lowering) claimObject(c workspace.Claim) *corev1.PersistentVolumeClaim {
	meta := l.objectMeta()
	meta.Name = l.storage.objectName(c)
	return &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: meta, Spec: claimSpec(c),
	}
}

func claimSpec(c workspace.Claim) corev1.PersistentVolumeClaimSpec {
	spec := corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{c.AccessMode},
		Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(c.Size)},
		},
	}
	if c.StorageClass != "" {
		spec.StorageClassName = &c.StorageClass
	}
	return spec
}
