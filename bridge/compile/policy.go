package compile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/buildkite/yaml"
	droneyaml "github.com/drone/drone-yaml/yaml"
	corev1 "k8s.io/api/core/v1"

	"github.com/drone-tekton/drone-runner-tekton/translate"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// What a policy can leave to pipelines of repositories that are not trusted, by the keys of its list allow.
const (
	allowNamespace      = "namespace"
	allowServiceAccount = "service_account"
	allowNode           = "node"
)

// Policy is a document of kind policy, in the format of Drone's kubernetes runner: what it sets wins over the pipeline.
// The keys allow, storage and timeouts are this runner's own.
type Policy struct {
	Kind  string
	Name  string
	Match droneyaml.Conditions

	Metadata struct {
		Namespace   string
		Labels      map[string]string
		Annotations map[string]string
	}
	Resources      Requirements
	NodeSelector   map[string]string `yaml:"node_selector"`
	ServiceAccount string            `yaml:"service_account"`
	Tolerations    []PolicyToleration

	// Allow names what a pipeline may choose although its repository is not trusted.
	Allow []string
	// Storage says where files live.
	Storage struct {
		Layout       workspace.Layout
		Claims       workspace.Claims
		StorageClass string                            `yaml:"storage_class"`
		AccessMode   corev1.PersistentVolumeAccessMode `yaml:"access_mode"`
		Size         string
		Spread       *bool
	}
}

// PolicyToleration lets pods onto tainted nodes.
type PolicyToleration struct {
	Key               string
	Operator          string
	Value             string
	Effect            string
	TolerationSeconds *int64 `yaml:"toleration_seconds"`
}

// ParsePolicies reads a file of policies. An unknown key is an error: a policy that is ignored grants too much.
func ParsePolicies(text []byte) ([]*Policy, error) {
	var list []*Policy
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.SetStrict(true)
	for i := 1; ; i++ {
		p := &Policy{}
		err := decoder.Decode(p)
		switch {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, fmt.Errorf("policy %d: %w", i, err)
		case p.Kind == "" && p.Name == "":
			continue // A document without content.
		case p.Kind != "policy":
			return nil, fmt.Errorf("policy %d: kind is %q, must be policy", i, p.Kind)
		}
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("policy %q: %w", p.Name, err)
		}
		list = append(list, p)
	}
}

func (p *Policy) check() error {
	for _, a := range p.Allow {
		if !slices.Contains([]string{allowNamespace, allowServiceAccount, allowNode}, a) {
			return fmt.Errorf("allow: %q is none of %s, %s and %s", a, allowNamespace, allowServiceAccount, allowNode)
		}
	}
	if l := p.Storage.Layout; l != "" && !slices.Contains([]workspace.Layout{workspace.Steps, workspace.Chains, workspace.Pod}, l) {
		return fmt.Errorf("storage.layout: %q is none of %s, %s and %s", l, workspace.Steps, workspace.Chains, workspace.Pod)
	}
	return nil
}

// match finds the policy for a build: the first whose conditions match, else the one named default.
func match(list []*Policy, f translate.Facts) *Policy {
	var fallback *Policy
	for _, p := range list {
		if p.Name == "default" && fallback == nil {
			fallback = p
		}
		if translate.Triggered(p.Match, f) {
			return p
		}
	}
	return fallback
}

// sets reports whether the policy leaves a choice to the pipeline.
func (p *Policy) sets(choice string) bool { return p != nil && slices.Contains(p.Allow, choice) }

// apply lets the policy win over the pipeline and the options.
func (p *Policy) apply(pipeline *drone.Pipeline, o *translate.Options) {
	if p == nil {
		return
	}
	m := &pipeline.Metadata
	if p.Metadata.Namespace != "" {
		m.Namespace, o.Namespace = p.Metadata.Namespace, p.Metadata.Namespace
	}
	m.Labels = over(m.Labels, p.Metadata.Labels)
	m.Annotations = over(m.Annotations, p.Metadata.Annotations)
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
	w, s := &o.Workspace, p.Storage
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

// over is a map with another over it.
func over(below, above map[string]string) map[string]string {
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
