// Package policy reads the runner's policies, and says which one a build gets. A policy is a document in the format of
// Drone's kubernetes runner, of kind policy, with a few keys of this project's own: what an administrator gives to
// pipelines, and what these may choose for themselves.
package policy

import (
	"time"

	droneyaml "github.com/drone/drone-yaml/yaml"
	corev1 "k8s.io/api/core/v1"

	"github.com/drone-tekton/drone-runner-tekton/translate"
	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// DefaultName is the name of the policy for builds that no policy matches.
const DefaultName = "default"

// Choice is what a policy can leave to pipelines of repositories that are not trusted.
type Choice string

// The choices, as the list allow names them.
const (
	Namespace      Choice = "namespace"
	ServiceAccount Choice = "service_account"
	Node           Choice = "node"
)

// Policies are those of a file, in its order.
type Policies []*Policy

// Policy is one document. What it sets wins over the pipeline.
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
	Tolerations    []Toleration

	// Allow names what a pipeline may choose although its repository is not trusted.
	Allow []Choice
	// Storage says where files live.
	Storage Storage
	// Retention says how long finished runs stay.
	Retention Retention
	// Volumes are mounted into every step.
	Volumes []Volume

	places  map[string]diag.Position // by path
	strange map[string]bool          // see checker
}

// Toleration lets pods onto tainted nodes.
type Toleration struct {
	Key               string
	Operator          string
	Value             string
	Effect            string
	TolerationSeconds *int64 `yaml:"toleration_seconds"`
}

// Storage is the part of workspace.Options that a policy can set; what is empty is left.
type Storage struct {
	Layout       workspace.Layout
	Claims       workspace.Claims
	StorageClass string                            `yaml:"storage_class"`
	AccessMode   corev1.PersistentVolumeAccessMode `yaml:"access_mode"`
	Size         string
	Spread       *bool
	// LocalhostPod is the option of that name of package translate.
	LocalhostPod *bool `yaml:"localhost_pod"`
}

// Retention says which finished runs stay. What is nil is left to the runner's own settings.
type Retention struct {
	Keep       *time.Duration
	KeepFailed *time.Duration `yaml:"keep_failed"` // in place of Keep, of runs that did not succeed
	PerRepo    *int           `yaml:"per_repo"`    // of each repository, among the runs that have this policy
}

// Volume is a volume and its place in every step.
type Volume struct {
	Name      string
	Path      string
	SubPath   string `yaml:"sub_path"`
	ReadOnly  bool   `yaml:"read_only"`
	Temp      *drone.TempVolume
	Claim     *drone.ClaimVolume
	ConfigMap *drone.ObjectVolume `yaml:"config_map"`
	Secret    *drone.ObjectVolume
}

// Find is the policy for a build: the first whose conditions match, else the one named default, else nil.
func (list Policies) Find(f translate.Facts) *Policy {
	for _, p := range list {
		if p.matches(f) {
			return p
		}
	}
	for _, p := range list {
		if p.Name == DefaultName {
			return p
		}
	}
	return nil
}

func (p *Policy) matches(f translate.Facts) bool {
	return translate.Triggered(p.Match, f) && p.Match.Instance.Match(f.System.Host)
}

// Allows reports whether the policy leaves a choice to the pipeline. No policy leaves none.
func (p *Policy) Allows(c Choice) bool {
	if p == nil {
		return false
	}
	for _, a := range p.Allow {
		if a == c {
			return true
		}
	}
	return false
}
