package translate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// sourceVolume is the volume that holds the source. No volume of a pipeline can have its name: names of those are
// prefixed.
const sourceVolume = "source"

// mount is a volume in a step: one of the run's own volumes (the source, or a temp volume), or one that exists.
type mount struct {
	volume string // the volume's ID
	path   string
	sub    string // a path inside the volume
	// existing is the volume's source for one that exists; nil for the run's own.
	existing *corev1.VolumeSource
	readOnly bool
}

// key tells mounts apart.
func (m mount) key() string { return m.volume + "\x00" + m.path + "\x00" + m.sub }

// volumes knows what the pipeline's declared volumes are.
type volumes struct {
	byName map[string]*drone.Volume
	ids    map[string]string
	given  []mount // those of whoever runs the pipeline
}

func newVolumes(p *drone.Pipeline, o Options) *volumes {
	v := &volumes{byName: map[string]*drone.Volume{}, ids: map[string]string{}}
	unique := newNames(maxTaskName, sourceVolume)
	for _, d := range p.Volumes {
		if d == nil || v.byName[d.Name] != nil {
			continue
		}
		v.byName[d.Name] = d
		v.ids[d.Name] = unique.unique("volume " + d.Name)
	}
	for _, m := range o.Mounts {
		v.given = append(v.given, mount{
			volume: unique.unique("given " + m.Volume.Name), path: path.Join("/", m.Path), sub: insidePath(m.SubPath),
			existing: givenSource(m.Volume), readOnly: m.ReadOnly || m.Volume.Claim != nil && m.Volume.Claim.ReadOnly,
		})
	}
	return v
}

// isTemp reports whether a declared volume lives and dies with the pipeline. Of several kinds Drone takes the first of
// temp, host, claim, config_map and secret.
func isTemp(v *drone.Volume) bool { return v.Temp != nil }

func existingSource(v *drone.Volume) *corev1.VolumeSource {
	switch {
	case v.Host != nil:
		return &corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: v.Host.Path}}
	case v.Claim != nil:
		return &corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
			ClaimName: v.Claim.Name, ReadOnly: v.Claim.ReadOnly,
		}}
	case v.ConfigMap != nil:
		return &corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: v.ConfigMap.Name},
			DefaultMode:          fileMode(v.ConfigMap.DefaultMode), Optional: &v.ConfigMap.Optional,
		}}
	case v.Secret != nil:
		return &corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: v.Secret.Name, DefaultMode: fileMode(v.Secret.DefaultMode), Optional: &v.Secret.Optional,
		}}
	default:
		return nil
	}
}

// givenSource is the source of a volume of whoever runs the pipeline. A temp volume is one of the pod.
func givenSource(v *drone.Volume) *corev1.VolumeSource {
	if !isTemp(v) {
		return existingSource(v)
	}
	empty := emptyDir(v.Temp.Medium == "memory", int64(v.Temp.SizeLimit))
	return &corev1.VolumeSource{EmptyDir: empty}
}

// insidePath is a path inside a volume, which does not lead out of it.
func insidePath(p string) string { return strings.TrimPrefix(path.Join("/", p), "/") }

// fileMode leaves a mode that is not given, or 0, to Kubernetes. Drone's kubernetes runner passes the 0 on, which gives
// files that nobody can read.
func fileMode(mode *int32) *int32 {
	if mode == nil || *mode == 0 {
		return nil
	}
	return mode
}

// mountsOf is what a step mounts: the source, then its own list.
func (l *lowering) mountsOf(s *Step) []mount {
	mounts := []mount{{volume: sourceVolume, path: l.plan.Source.Mount}}
	for i, m := range s.Spec.Volumes {
		if m == nil {
			continue
		}
		v := l.volumes.byName[m.Name]
		if v == nil { // Drone leaves the mount out; the check of the file has told.
			continue
		}
		out := mount{volume: l.volumes.ids[m.Name], path: path.Join("/", m.Path), sub: insidePath(m.SubPath)}
		if !isTemp(v) {
			out.existing = existingSource(v)
			if out.existing == nil {
				l.diags.Warnf(s.Spec.At(at("volumes", i)), CodeVolume, "the volume %q has no kind that Drone knows, so step %q does not get it", m.Name, s.Name)
				continue
			}
			out.readOnly = v.Claim != nil && v.Claim.ReadOnly
		}
		if same := slices.IndexFunc(mounts, func(o mount) bool { return o.path == out.path }); same >= 0 {
			// A volume at the source's place takes it; of two volumes at one place the last counts.
			l.diags.Warnf(s.Spec.At(at("volumes", i)), CodeVolume, "step %q mounts two volumes at %s; the last one counts", s.Name, out.path)
			mounts = slices.Delete(mounts, same, same+1)
		}
		mounts = append(mounts, out)
	}
	return l.addGiven(s, mounts)
}

// addGiven adds the volumes of whoever runs the pipeline. What the step mounts at their places gives way, but for the
// source, without which there would be nothing to run.
func (l *lowering) addGiven(s *Step, mounts []mount) []mount {
	for _, m := range l.volumes.given {
		at := slices.IndexFunc(mounts, func(o mount) bool { return o.path == m.path })
		switch {
		case at >= 0 && mounts[at].volume == sourceVolume:
			l.diags.Add(diag.Diagnostic{
				Severity: diag.Error, Code: CodeVolume, Position: l.plan.Pipeline.At("workspace"),
				Message: fmt.Sprintf("the workspace is at %s, where the runner mounts a volume of its own", m.path),
				Hint:    "choose another workspace.path",
			})
			return mounts
		case at >= 0:
			l.diags.Add(diag.Diagnostic{
				Severity: diag.Warning, Code: CodeVolume, Position: s.Spec.At(l.mountAt(s, m.path)),
				Message: fmt.Sprintf("step %q does not get its volume at %s, where the runner mounts one of its own", s.Name, m.path),
				Hint:    "choose another path",
			})
			mounts = slices.Delete(mounts, at, at+1)
		}
		mounts = append(mounts, m)
	}
	return mounts
}

// mountAt is the place in the file of the last mount at a path.
func (l *lowering) mountAt(s *Step, target string) string {
	for i, m := range slices.Backward(s.Spec.Volumes) {
		if m != nil && path.Join("/", m.Path) == target && l.volumes.byName[m.Name] != nil {
			return at("volumes", i)
		}
	}
	return "volumes"
}

// mountsKey is equal for steps with equal mounts.
func mountsKey(mounts []mount) string {
	var keys []string
	for _, m := range mounts {
		keys = append(keys, m.key())
	}
	slices.Sort(keys)
	return strings.Join(keys, "\x01")
}

// ownVolumes names the run's own volumes among mounts.
func ownVolumes(mounts []mount) []string {
	var names []string
	for _, m := range mounts {
		if m.existing == nil && !slices.Contains(names, m.volume) {
			names = append(names, m.volume)
		}
	}
	return names
}

// storage puts the run's own volumes where the decision says.
type storage struct {
	decision workspace.Decision
	run      string // the name of the PipelineRun, where something has to know it
	beside   bool   // Pods beside the run have to find its files
}

// claim finds a claim of the decision.
func (s storage) claim(name string) workspace.Claim {
	i := slices.IndexFunc(s.decision.Claims, func(c workspace.Claim) bool { return c.Name == name })
	return s.decision.Claims[i]
}

// objectName is the name of a claim in the cluster, where it is known before the run starts.
func (s storage) objectName(c workspace.Claim) string {
	if c.Existing != "" {
		return c.Existing
	}
	return s.run + "-" + c.Name
}

// subPath is where in its claim a mount lies. On a claim that other runs use too it is below a folder of the run, whose
// name nothing but a PipelineRun's own tasks can take from its uid; where Pods beside the run have to find it, it is the
// run's name.
func (s storage) subPath(m mount) string {
	place := s.decision.Places[m.volume]
	folder := ""
	if c := s.claim(place.Claim); c.Existing != "" {
		folder = "$(context.pipelineRun.uid)"
		if s.decision.AsVolume || s.beside {
			folder = s.run
		}
	}
	return path.Join(folder, place.SubPath, m.sub)
}
