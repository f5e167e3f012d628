package policy

import (
	"maps"

	"github.com/drone-tekton/drone-runner-tekton/translate"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// Apply lets the policy win over the pipeline and the options. Without a policy nothing changes.
func (p *Policy) Apply(pipeline *drone.Pipeline, o *translate.Options) {
	if p == nil {
		return
	}
	m := &pipeline.Metadata
	if p.Metadata.Namespace != "" {
		m.Namespace, o.Namespace = p.Metadata.Namespace, p.Metadata.Namespace
	}
	m.Labels = Over(m.Labels, p.Metadata.Labels)
	m.Annotations = Over(m.Annotations, p.Metadata.Annotations)
	if len(p.NodeSelector) > 0 {
		pipeline.NodeSelector = p.NodeSelector
	}
	if p.ServiceAccount != "" {
		// By the option: an account that the pipeline names comes with its token.
		pipeline.ServiceAccountName, o.ServiceAccount = "", p.ServiceAccount
	}
	if len(p.Tolerations) > 0 {
		pipeline.Tolerations = nil
		for _, t := range p.Tolerations {
			pipeline.Tolerations = append(pipeline.Tolerations, drone.Toleration(t))
		}
	}
	p.Storage.over(&o.Workspace)
	if p.Storage.LocalhostPod != nil {
		o.LocalhostPod = *p.Storage.LocalhostPod
	}
	for _, v := range p.Volumes {
		o.Mounts = append(o.Mounts, translate.Mount{
			Volume: &drone.Volume{Name: v.Name, Temp: v.Temp, Claim: v.Claim, ConfigMap: v.ConfigMap, Secret: v.Secret},
			Path:   v.Path, SubPath: v.SubPath, ReadOnly: v.ReadOnly,
		})
	}
}

// over lets what a policy sets win.
func (s Storage) over(w *workspace.Options) {
	set(&w.Layout, s.Layout)
	set(&w.Claims, s.Claims)
	set(&w.StorageClass, s.StorageClass)
	set(&w.AccessMode, s.AccessMode)
	set(&w.Size, s.Size)
	if s.Spread != nil {
		w.Spread = *s.Spread
	}
}

func set[T ~string](field *T, value T) {
	if value != "" {
		*field = value
	}
}

// Over is a map with another over it.
func Over(below, above map[string]string) map[string]string {
	if len(above) == 0 {
		return below
	}
	out := maps.Clone(below)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, above)
	return out
}
