// Package drone reads Drone's configuration files: it splits documents, substitutes variables, decodes pipelines exactly
// as Drone's own runners do, checks them by Drone's rules, and knows the place of every key. It decides nothing about
// Tekton.
package drone

import (
	"strings"

	"github.com/drone/drone-yaml/yaml"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// Pipeline types that can be translated. A pipeline without a type is of type docker, as Drone's server has it.
const (
	TypeDocker     = "docker"
	TypeKubernetes = "kubernetes"
)

// CloneName is the name of the step that fetches the source. Drone reserves it unless cloning is disabled.
const CloneName = "clone"

type (
	// Manifest is a Drone file: its documents by kind, in file order.
	Manifest struct {
		File      string
		Pipelines []*Pipeline
		Secrets   []*Secret
		Skipped   []SkippedPipeline
	}

	// SkippedPipeline is a pipeline of a type that does not run in containers (exec, ssh, vm, …). Other pipelines may
	// depend on it by name.
	SkippedPipeline struct {
		Name     string
		Type     string
		Position diag.Position
	}

	// Pipeline is a document of kind pipeline. Its fields are those of Drone's docker and kubernetes runners together;
	// keys of other types, and keys that a type does not have, are left to the check of keys.
	Pipeline struct {
		Kind    string
		Type    string
		Name    string
		Version string

		DependsOn          []string `yaml:"depends_on"`
		Clone              Clone
		Concurrency        Concurrency
		Node               map[string]string
		Platform           Platform
		Trigger            yaml.Conditions
		Environment        map[string]string
		Services           []*Step
		Steps              []*Step
		Volumes            []*Volume
		PullSecrets        []string `yaml:"image_pull_secrets"`
		Workspace          Workspace
		Resources          Resources
		Metadata           Metadata
		NodeName           string            `yaml:"node_name"`
		NodeSelector       map[string]string `yaml:"node_selector"`
		ServiceAccountName string            `yaml:"service_account_name"`
		Tolerations        []Toleration
		DNSConfig          DNSConfig   `yaml:"dns_config"`
		HostAliases        []HostAlias `yaml:"host_aliases"`

		Positions `yaml:"-"`
	}

	// Clone configures the step that fetches the source.
	Clone struct {
		Disable    bool
		Depth      int
		Retries    int
		SkipVerify bool `yaml:"skip_verify"`
		Trace      bool
	}

	// Concurrency limits how many builds of a pipeline run at once. Drone's server enforces it.
	Concurrency struct{ Limit int }

	// Platform is the machine that a pipeline asks for. Empty fields mean linux and amd64 to Drone's server.
	Platform struct{ OS, Arch, Variant, Version string }

	// Workspace says where the source lies. Base is a key of type docker only.
	Workspace struct{ Base, Path string }

	// Metadata is given to the objects that a kubernetes pipeline becomes.
	Metadata struct {
		Namespace   string
		Labels      map[string]string
		Annotations map[string]string
	}

	// Resources of a pipeline (requests) or of a step (limits). CPU is in thousandths of a core.
	Resources struct {
		Requests ResourceList
		Limits   ResourceList
	}

	// ResourceList is an amount of each resource; 0 means that none is named.
	ResourceList struct {
		CPU    int64          // thousandths of a core
		Memory yaml.BytesSize // bytes
		// EphemeralStorage is disk of the node, in bytes. Drone does not have it.
		EphemeralStorage yaml.BytesSize `yaml:"ephemeral_storage"`
	}

	// Toleration lets pods onto tainted nodes. Drone's kubernetes runner reads tolerationseconds; toleration_seconds, the
	// spelling of its policy file, is accepted too.
	Toleration struct {
		Key               string
		Operator          string
		Value             string
		Effect            string
		TolerationSeconds *int64
	}

	// DNSConfig adds to the resolver configuration of pods.
	DNSConfig struct {
		Nameservers []string
		Searches    []string
		Options     []DNSOption
	}

	// DNSOption is one resolver option. A nil Value is an option without a value.
	DNSOption struct {
		Name  string
		Value *string
	}

	// HostAlias is a line of /etc/hosts.
	HostAlias struct {
		IP        string
		Hostnames []string
	}

	// Step is an entry of steps or services.
	Step struct {
		Name        string
		Image       string
		Commands    []string
		Command     []string
		Entrypoint  []string
		Environment map[string]*yaml.Variable
		Settings    map[string]*yaml.Parameter
		When        yaml.Conditions
		DependsOn   []string `yaml:"depends_on"`
		Detach      bool
		Failure     string
		Privileged  bool
		Pull        string
		User        string // a number for type kubernetes, a number or a name for type docker
		Group       *int64
		WorkingDir  string `yaml:"working_dir"`
		Volumes     []*VolumeMount
		Resources   Resources
		Shell       string

		// Keys of type docker that have no counterpart in a Pod, kept so that they can be answered.
		Devices    []*yaml.VolumeDevice
		DNS        []string
		DNSSearch  []string       `yaml:"dns_search"`
		ExtraHosts []string       `yaml:"extra_hosts"`
		Network    string         `yaml:"network_mode"`
		MemLimit   yaml.BytesSize `yaml:"mem_limit"`
		MemSwap    yaml.BytesSize `yaml:"memswap_limit"`
		ShmSize    yaml.BytesSize `yaml:"shm_size"`

		Positions `yaml:"-"`
	}

	// VolumeMount puts a declared volume into a step.
	VolumeMount struct {
		Name    string
		Path    string
		SubPath string `yaml:"sub_path"`
	}

	// Volume is a declared volume: a name and one of five kinds. Where several are given, the first in the order of the
	// fields counts, as in Drone.
	Volume struct {
		Name      string
		Temp      *TempVolume
		Host      *HostVolume
		Claim     *ClaimVolume
		ConfigMap *ObjectVolume `yaml:"config_map"`
		Secret    *ObjectVolume

		Positions `yaml:"-"`
	}

	// TempVolume lives as long as the pipeline runs and is shared by its steps.
	TempVolume struct {
		Medium    string
		SizeLimit yaml.BytesSize `yaml:"size_limit"`
	}

	// HostVolume is a path of the node.
	HostVolume struct{ Path string }

	// ClaimVolume is an existing PersistentVolumeClaim.
	ClaimVolume struct {
		Name     string
		ReadOnly bool `yaml:"read_only"`
	}

	// ObjectVolume is an existing ConfigMap or Secret. A nil DefaultMode leaves the mode to Kubernetes.
	ObjectVolume struct {
		Name        string
		DefaultMode *int32 `yaml:"default_mode"`
		Optional    bool
	}

	// Secret is a document of kind secret: a name, and an encrypted value or the place of one in a secret store.
	Secret struct {
		Kind string
		Name string
		Type string
		Data string // base64 of nonce and AES-GCM ciphertext under the repository's key
		Get  struct{ Path, Name, Key string }

		Positions `yaml:"-"`
	}
)

// Positions knows where the keys of one part of a file stand. Paths are keys and list indices joined by dots, relative
// to the part: "environment.GOOS", "volumes.0.path". The empty path is the part itself.
type Positions struct {
	at func() map[string]diag.Position
}

// At is the place of a path, or of the nearest part around it that the file has.
func (p Positions) At(path string) diag.Position {
	if p.at == nil {
		return diag.Position{}
	}
	for at := p.at(); ; {
		if pos, ok := at[path]; ok {
			return pos
		}
		if path == "" {
			return diag.Position{}
		}
		path = path[:max(strings.LastIndexByte(path, '.'), 0)]
	}
}

// Has reports whether the file has the path, with any value.
func (p Positions) Has(path string) bool {
	if p.at == nil {
		return false
	}
	_, ok := p.at()[path]
	return ok
}

// IsKubernetes reports whether the rules of Drone's kubernetes runner hold for the pipeline; otherwise those of its
// docker runner do.
func (p *Pipeline) IsKubernetes() bool { return p.Type == TypeKubernetes }

// DisplayName is the pipeline's name; Drone calls a pipeline without a name "default".
func (p *Pipeline) DisplayName() string {
	if p.Name == "" {
		return "default"
	}
	return p.Name
}
