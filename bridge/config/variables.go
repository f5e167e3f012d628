package config

import (
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// Variable is one of the runner's variables.
type Variable struct {
	Name     string
	Default  string
	Help     string
	Required bool
	// Instead tells what replaces a variable that is refused. Without it and without a way to set it, a variable has no
	// effect, and Help tells why none is needed.
	Instead string
	// Own is a variable that Drone's kubernetes runner does not have.
	Own bool

	set     func(s *settings, value string) error
	refuses func(value string) bool // only these values of a variable with Instead; all if nil
}

// Supported reports whether the variable does something.
func (v Variable) Supported() bool { return v.set != nil }

// Variables are all that the runner knows, in the order of the documentation.
func Variables() []Variable { return variables }

var variables = []Variable{
	{Name: "DRONE_RPC_PROTO", Default: "http", Help: "protocol of the Drone server, http or https", set: oneOf(func(s *settings) *string { return &s.proto }, "http", "https")},
	{Name: "DRONE_RPC_HOST", Required: true, Help: "host, and port if need be, of the Drone server", set: text(func(s *settings) *string { return &s.host })},
	{Name: "DRONE_RPC_SECRET", Required: true, Help: "secret that the server shares with its runners", set: text(func(s *settings) *string { return &s.Server.Secret })},
	{Name: "DRONE_RPC_SKIP_VERIFY", Help: "do not check the server's certificate", set: yes(func(s *settings) *bool { return &s.Server.SkipVerify })},
	{Name: "DRONE_RPC_DUMP_HTTP", Help: "show all calls to the server, without secrets", set: yes(func(s *settings) *bool { return &s.Dump })},
	{Name: "DRONE_RPC_DUMP_HTTP_BODY", Help: "show their bodies too", set: yes(func(s *settings) *bool { return &s.Server.DumpBody })},

	{Name: "DRONE_RUNNER_NAME", Help: "name of the runner to the server; must be its alone (default: the host's name)", set: text(func(s *settings) *string { return &s.Runner.Machine })},
	{Name: "DRONE_RUNNER_TYPE", Own: true, Default: "kubernetes", Help: "type of pipelines to run: kubernetes or docker", set: oneOf(func(s *settings) *string { return &s.Runner.Filter.Type }, "kubernetes", "docker")},
	{Name: "DRONE_RUNNER_CAPACITY", Default: "100", Help: "pipelines at once", set: number(func(s *settings) *int { return &s.Runner.Capacity }, 1)},
	{Name: "DRONE_RUNNER_LABELS", Help: "key:value,… that must equal the node section of pipelines", set: pairs(func(s *settings) *map[string]string { return &s.Runner.Filter.Labels })},
	{Name: "DRONE_RUNNER_ENVIRON", Help: "key:value,… for all steps", set: pairs(func(s *settings) *map[string]string { return &s.environ })},
	{Name: "DRONE_RUNNER_ENV_FILE", Help: "file of variables for all steps, KEY=value a line", set: setEnvFile},
	{Name: "DRONE_RUNNER_SECRETS", Help: "name:value,… of secrets for all pipelines, but for pull requests", set: pairs(func(s *settings) *map[string]string { return &s.secrets })},
	{Name: "DRONE_RUNNER_PRIVILEGED_IMAGES", Help: "image,… that run privileged by themselves, beside Drone's docker plugins", set: list(func(s *settings) *[]string { return &s.Options.PrivilegedImages })},
	{Name: "DRONE_RUNNER_VOLUMES", Help: "host folders for all steps", Instead: "steps do not share a host; declare a volume in the pipeline, or keep files on a claim by DRONE_TEKTON_CLAIM"},
	{Name: "DRONE_RUNNER_MAX_PROCS", Help: "steps at once", Instead: "limit pipelines by DRONE_RUNNER_CAPACITY, and steps by a ResourceQuota in the namespace", refuses: func(v string) bool { return v != "0" }},

	{Name: "DRONE_LIMIT_REPOS", Help: "glob,… of owner/name: repositories to run pipelines of", set: setLimitRepos},
	{Name: "DRONE_LIMIT_EVENTS", Help: "event,… to run pipelines for", set: list(func(s *settings) *[]string { return &s.Limits.Events })},
	{Name: "DRONE_LIMIT_TRUSTED", Help: "run pipelines of trusted repositories only", set: yes(func(s *settings) *bool { return &s.Limits.Trusted })},

	{Name: "DRONE_NAMESPACE_DEFAULT", Default: "default", Help: "namespace of the runner's own objects, and of pipelines that name none", set: setNamespace},
	{Name: "DRONE_NAMESPACE_RULES", Help: "namespace:glob,… of owner/name: who may choose a namespace", set: setRules},
	{Name: "DRONE_NAMESPACE_RULES_FILE", Help: "file of rules: namespace: [glob, …]", set: setRulesFile},
	{Name: "DRONE_TEKTON_NAMESPACES", Own: true, Help: "more namespaces where pipelines may run; * is all, which takes a ClusterRole", set: setNamespaces},
	{Name: "DRONE_POLICY_FILE", Help: "file of policies, which set what pipelines get; see [policies.md](policies.md)", set: setPolicies},
	{Name: "DRONE_SERVICE_ACCOUNT_DEFAULT", Help: "service account of pipelines that name none", set: name(func(s *settings) *string { return &s.Options.ServiceAccount })},
	{Name: "DRONE_NODE_SELECTOR_DEFAULT", Help: "key:value,… for pipelines that select no nodes", set: labels(func(s *settings) *map[string]string { return &s.Compiler.Defaults.NodeSelector })},
	{Name: "DRONE_LABELS_DEFAULT", Help: "key:value,… labels of all objects", set: labels(func(s *settings) *map[string]string { return &s.Compiler.Defaults.Labels })},
	{Name: "DRONE_ANNOTATIONS_DEFAULT", Help: "key:value,… annotations of all objects", set: pairs(func(s *settings) *map[string]string { return &s.Compiler.Defaults.Annotations })},

	{Name: "DRONE_RESOURCE_REQUEST_CPU", Help: "thousandths of a core that each step requests where the pipeline says nothing", set: cpu(func(s *settings) *int64 { return &s.Compiler.Defaults.Resources.Request.CPU })},
	{Name: "DRONE_RESOURCE_REQUEST_MEMORY", Help: "memory, such as 100MiB, that each step requests where the pipeline says nothing", set: memory(func(s *settings) *size { return &s.Compiler.Defaults.Resources.Request.Memory })},
	{Name: "DRONE_RESOURCE_MIN_REQUEST_CPU", Help: "thousandths of a core that each step requests at least", set: cpu(func(s *settings) *int64 { return &s.Compiler.Defaults.Resources.Least.CPU })},
	{Name: "DRONE_RESOURCE_MIN_REQUEST_MEMORY", Help: "memory that each step requests at least", set: memory(func(s *settings) *size { return &s.Compiler.Defaults.Resources.Least.Memory })},
	{Name: "DRONE_RESOURCE_LIMIT_CPU", Help: "thousandths of a core that a step may use at most", set: cpu(func(s *settings) *int64 { return &s.Compiler.Defaults.Resources.Limit.CPU })},
	{Name: "DRONE_RESOURCE_LIMIT_MEMORY", Help: "memory that a step may use at most", set: memory(func(s *settings) *size { return &s.Compiler.Defaults.Resources.Limit.Memory })},
	{Name: "DRONE_TEKTON_REQUEST_EPHEMERAL_STORAGE", Own: true, Help: "disk of the node, such as 1GiB, that each step requests where it says nothing", set: memory(func(s *settings) *size { return &s.Compiler.Defaults.Resources.Request.EphemeralStorage })},
	{Name: "DRONE_TEKTON_LIMIT_EPHEMERAL_STORAGE", Own: true, Help: "disk of the node that a step may use at most", set: memory(func(s *settings) *size { return &s.Compiler.Defaults.Resources.Limit.EphemeralStorage })},

	{Name: "DRONE_SECRET_PLUGIN_ENDPOINT", Help: "address of a secret extension", set: text(func(s *settings) *string { return &s.secretPlugin.URL })},
	{Name: "DRONE_SECRET_PLUGIN_TOKEN", Help: "secret that it shares with the runner", set: text(func(s *settings) *string { return &s.secretPlugin.Token })},
	{Name: "DRONE_SECRET_PLUGIN_SKIP_VERIFY", Help: "do not check its certificate", set: yes(func(s *settings) *bool { return &s.secretPlugin.SkipVerify })},
	{Name: "DRONE_REGISTRY_ENDPOINT", Help: "older name of DRONE_REGISTRY_PLUGIN_ENDPOINT", set: text(func(s *settings) *string { return &s.registryPlug.URL })},
	{Name: "DRONE_REGISTRY_SECRET", Help: "older name of DRONE_REGISTRY_PLUGIN_TOKEN", set: text(func(s *settings) *string { return &s.registryPlug.Token })},
	{Name: "DRONE_REGISTRY_PLUGIN_SECRET", Help: "older name of DRONE_REGISTRY_PLUGIN_TOKEN", set: text(func(s *settings) *string { return &s.registryPlug.Token })},
	{Name: "DRONE_REGISTRY_PLUGIN_ENDPOINT", Help: "address of a registry extension", set: text(func(s *settings) *string { return &s.registryPlug.URL })},
	{Name: "DRONE_REGISTRY_PLUGIN_TOKEN", Help: "secret that it shares with the runner", set: text(func(s *settings) *string { return &s.registryPlug.Token })},
	{Name: "DRONE_REGISTRY_PLUGIN_SKIP_VERIFY", Help: "do not check its certificate", set: yes(func(s *settings) *bool { return &s.registryPlug.SkipVerify })},
	{Name: "DRONE_ENV_PLUGIN_ENDPOINT", Help: "address of an environment extension", set: text(func(s *settings) *string { return &s.environPlug.URL })},
	{Name: "DRONE_ENV_PLUGIN_TOKEN", Help: "secret that it shares with the runner", set: text(func(s *settings) *string { return &s.environPlug.Token })},
	{Name: "DRONE_ENV_PLUGIN_SKIP_VERIFY", Help: "do not check its certificate", set: yes(func(s *settings) *bool { return &s.environPlug.SkipVerify })},
	{Name: "DRONE_DOCKER_CONFIG", Help: "docker config.json with credentials for registries", set: setDockerConfig},

	{Name: "DRONE_NETRC_CLONE_ONLY", Help: "give the credentials for cloning to the clone step alone", set: yes(func(s *settings) *bool { return &s.Options.NetrcCloneOnly })},
	{Name: "DRONE_IMAGE_CLONE", Help: "image of the clone step", set: text(func(s *settings) *string { return &s.Options.CloneImage })},
	{Name: "DRONE_IMAGE_PLACEHOLDER", Help: "there are no placeholders: a step's pod starts with its own image"},

	{Name: "DRONE_KUBERNETES_CONFIG", Help: "kubeconfig file (default: the cluster that the runner is in)", set: text(func(s *settings) *string { return &s.Kubeconfig })},
	{Name: "DRONE_KUBE_CLIENT_QPS", Default: "50", Help: "requests a second to the API server", set: real(func(s *settings) *float32 { return &s.QPS })},
	{Name: "DRONE_KUBE_CLIENT_BURST", Default: "100", Help: "requests at once to the API server", set: number(func(s *settings) *int { return &s.Burst }, 1)},
	{Name: "DRONE_ENGINE_CONTAINER_START_TIMEOUT", Help: "seconds for a container to start", Instead: "DRONE_TEKTON_GRACE bounds trouble with images and containers; waiting for a node ends with the pipeline's timeout"},
	{Name: "DRONE_ENGINE_CONTAINER_TIME_TO_WAIT_FOR_LOGS", Help: "logs are complete without waiting"},

	{Name: "DRONE_TEKTON_LAYOUT", Own: true, Default: "steps", Help: "how steps share pods: steps, chains or pod", set: layouts},
	{Name: "DRONE_TEKTON_CLAIMS", Own: true, Default: "shared", Help: "how volumes share claims: shared or per-volume", set: claims},
	{Name: "DRONE_TEKTON_CLAIM", Own: true, Help: "existing claim to use instead of making one for each run", set: name(func(s *settings) *string { return &s.Options.Workspace.Existing })},
	{Name: "DRONE_TEKTON_STORAGE_CLASS", Own: true, Help: "storage class of claims (default: the cluster's)", set: name(func(s *settings) *string { return &s.Options.Workspace.StorageClass })},
	{Name: "DRONE_TEKTON_ACCESS_MODE", Own: true, Help: "access mode of claims: ReadWriteOnce or ReadWriteMany", set: accessMode},
	{Name: "DRONE_TEKTON_VOLUME_SIZE", Own: true, Default: workspace.DefaultSize, Help: "size of claims", set: quantity(func(s *settings) *string { return &s.Options.Workspace.Size })},
	{Name: "DRONE_TEKTON_SPREAD", Own: true, Help: "let steps run on any node; needs ReadWriteMany", set: yes(func(s *settings) *bool { return &s.Options.Workspace.Spread })},
	{Name: "DRONE_TEKTON_LOCALHOST_POD", Own: true, Help: "layout pod for pipelines of type kubernetes whose steps look for a service at localhost", set: yes(func(s *settings) *bool { return &s.Options.LocalhostPod })},
	{Name: "DRONE_TEKTON_FS_GROUP", Own: true, Help: "group that may write to volumes", set: setFSGroup},
	{Name: "DRONE_TEKTON_CLUSTER_DOMAIN", Own: true, Default: "cluster.local", Help: "DNS domain of the cluster", set: text(func(s *settings) *string { return &s.Options.ClusterDomain })},
	{Name: "DRONE_TEKTON_GRACE", Own: true, Default: "1m", Help: "how long an image may fail to be pulled, or a container to start, before the step fails", set: duration(func(s *settings) *dur { return &s.Runner.Grace })},
	{Name: "DRONE_TEKTON_KEEP", Own: true, Default: "1h", Help: "how long finished runs stay in the cluster; 0 removes them at once", set: duration(func(s *settings) *dur { return &s.Runner.Keep.For })},
	{Name: "DRONE_TEKTON_KEEP_FAILED", Own: true, Help: "the same, for runs that did not succeed (default: DRONE_TEKTON_KEEP)", set: setKeepFailed},
	{Name: "DRONE_TEKTON_KEEP_PER_REPO", Own: true, Default: "20", Help: "how many finished runs of a repository stay at most; 0 is no bound", set: number(func(s *settings) *int { return &s.Runner.Keep.PerRepo }, 0)},
	{Name: "DRONE_TEKTON_LOG_LIMIT", Own: true, Default: "5MiB", Help: "size of a step's log; of a longer one head and tail are kept", set: setLogLimit},
	{Name: "DRONE_TEKTON_BUCKETS", Own: true, Default: "0", Help: "parts in which replicas share the pipelines, at most 10; 0 for one replica", set: setBuckets},
	{Name: "DRONE_TEKTON_WORKERS", Own: true, Default: "32", Help: "pipelines that are looked at at the same moment", set: number(func(s *settings) *int { return &s.Runner.Workers }, 1)},

	{Name: "DRONE_SERVER_PORT", Default: ":3000", Help: "address of the runner's own pages: health, metrics, dashboard", set: text(func(s *settings) *string { return &s.Web.Address })},
	{Name: "DRONE_SERVER_HOST", Help: "the runner's own pages have no links to themselves"},
	{Name: "DRONE_SERVER_PROTO", Help: "protocol of the runner's own pages", Instead: "the pages are served by http; put an Ingress with a certificate before them", refuses: func(v string) bool { return v != "http" }},
	{Name: "DRONE_SERVER_ACME", Help: "certificate of the runner's own pages", Instead: "the pages are served by http; put an Ingress with a certificate before them", refuses: isTrue},
	{Name: "DRONE_UI_DISABLE", Help: "no dashboard", set: yes(func(s *settings) *bool { return &s.uiDisabled })},
	{Name: "DRONE_UI_USERNAME", Default: "admin", Help: "user of the dashboard", set: text(func(s *settings) *string { return &s.Web.User })},
	{Name: "DRONE_UI_PASSWORD", Help: "password of the dashboard; without one there is none", set: text(func(s *settings) *string { return &s.Web.Password })},
	{Name: "DRONE_UI_REALM", Default: "MyRealm", Help: "realm of the dashboard", set: text(func(s *settings) *string { return &s.Web.Realm })},

	{Name: "DRONE_DEBUG", Help: "log more", set: yes(func(s *settings) *bool { return &s.Debug })},
	{Name: "DRONE_TRACE", Help: "log more", set: yes(func(s *settings) *bool { return &s.Debug })},
	{Name: "DRONE_TMATE_ENABLED", Help: "a terminal in failed steps", Instead: "look into a step's pod with kubectl debug while it runs, or keep runs by DRONE_TEKTON_KEEP", refuses: isTrue},
	{Name: "DRONE_TMATE_IMAGE", Help: "there is no tmate"},
	{Name: "DRONE_TMATE_HOST", Help: "there is no tmate"},
	{Name: "DRONE_TMATE_PORT", Help: "there is no tmate"},
	{Name: "DRONE_TMATE_FINGERPRINT_RSA", Help: "there is no tmate"},
	{Name: "DRONE_TMATE_FINGERPRINT_ED25519", Help: "there is no tmate"},
	{Name: "DRONE_FLAG_ENABLE_CARDS", Help: "cards of plugins always go to the server"},
}
