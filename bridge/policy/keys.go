package policy

import (
	"slices"
	"strings"
	"sync"

	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// Key is one key of a policy.
type Key struct {
	// Path is the keys from the document's root down, joined by dots; "[]" stands for the items of a list, and "*" for any
	// key of a map.
	Path string
	// Value says what the value must be, as the end of the sentence "… must be".
	Value string
	// Own is a key that Drone's runner does not have.
	Own bool
	// Help says in a phrase what the key does.
	Help string

	shape shape
	check checkValue // of each scalar in the value; may be nil
}

// Keys is the table of all keys, in the order of the documentation. It drives the check of files.
func Keys() []Key { return slices.Clone(keys) }

// shape is the form of a value.
type shape int

const (
	aText shape = iota
	aFlag
	aNumber // whole
	aSize   // in bytes
	someTexts
	textsByName
	aCondition
	aMap
	someMaps
)

var shapeNames = map[shape]string{
	aText: "a text", aFlag: "true or false", aNumber: "a whole number", aSize: "a number of bytes, or a size such as 512MiB",
	someTexts: "a list of texts", textsByName: "a map of texts",
	aCondition: "a pattern, a list of patterns, or include and exclude", aMap: "a map", someMaps: "a list of maps",
}

func key(path string, s shape, help string, check ...checkValue) Key {
	k := Key{Path: path, Value: shapeNames[s], Help: help, shape: s}
	if len(check) > 0 {
		k.check = check[0]
	}
	return k
}

// own marks a key as one of this project.
func own(k Key) Key {
	k.Own = true
	return k
}

var keys = slices.Concat(
	[]Key{
		key("kind", aText, "`policy`"),
		key("name", aText, "name of the policy; the one named `default` is for builds that no policy matches"),
		key("match", aMap, "the builds that get the policy: all conditions must hold; without it, all builds"),
	},
	conditions("repo", "owner and name of the repository, such as `octo/*`"),
	conditions("branch", "branch; of a pull request, the branch that it goes to"),
	conditions("event", strings.Join(drone.Events(), ", "), events),
	conditions("ref", "reference, such as `refs/tags/**`"),
	conditions("target", "target of a promotion"),
	conditions("action", "action of the event, such as `opened`"),
	conditions("cron", "name of the cron job"),
	conditions("instance", "host of the Drone server"),
	[]Key{
		key("metadata", aMap, ""),
		key("metadata.namespace", aText, "namespace of the run, in place of the pipeline's", dnsLabel("a namespace")),
		key("metadata.labels", textsByName, "labels of all objects, over the pipeline's of the same names", labels),
		key("metadata.annotations", textsByName, "annotations of all objects, over the pipeline's of the same names", annotations),
		key("resources", aMap, ""),
		key("resources.request", aMap, "what each step requests that names nothing, and whose pipeline names nothing"),
		key("resources.request.cpu", aNumber, "thousandths of a core", cpu),
		key("resources.request.memory", aSize, "memory", memory),
		own(key("resources.request.ephemeral_storage", aSize, "disk of the node", disk)),
		key("resources.limit", aMap, "the most that a step may use, whatever it names"),
		key("resources.limit.cpu", aNumber, "thousandths of a core", cpu),
		key("resources.limit.memory", aSize, "memory", memory),
		own(key("resources.limit.ephemeral_storage", aSize, "disk of the node; a pod that takes more is evicted", disk)),
		key("node_selector", textsByName, "labels of the nodes to run on, in place of the pipeline's", labels),
		key("service_account", aText, "service account of the pods, in place of the pipeline's, without a token in them",
			dnsName("a service account")),
		key("tolerations", someMaps, "taints that pods tolerate, in place of the pipeline's"),
		key("tolerations[].key", aText, "taint; empty with `operator: Exists` is any", qualified("the key of a taint")),
		key("tolerations[].operator", aText, "`Equal`, the default, or `Exists`", oneOf("Equal", "Exists")),
		key("tolerations[].value", aText, "value of the taint, with `Equal`", labelValue),
		key("tolerations[].effect", aText, "`NoSchedule`, `PreferNoSchedule` or `NoExecute`; without it, any",
			oneOf("NoSchedule", "PreferNoSchedule", "NoExecute")),
		key("tolerations[].toleration_seconds", aNumber, "how long a running pod stays, with `NoExecute`", fromZero),

		own(key("allow", someTexts, "what pipelines may choose although their repository is not trusted: `namespace`, `service_account`, `node`",
			oneOf(Namespace, ServiceAccount, Node))),

		own(key("storage", aMap, "where files live, in place of the runner's settings; see [storage.md](storage.md)")),
		own(key("storage.layout", aText, "`steps`, `chains` or `pod`", oneOf(workspace.Steps, workspace.Chains, workspace.Pod))),
		own(key("storage.claims", aText, "`shared` or `per-volume`", oneOf(workspace.Shared, workspace.PerVolume))),
		own(key("storage.storage_class", aText, "storage class of claims", dnsName("a storage class"))),
		own(key("storage.access_mode", aText, "`ReadWriteOnce` or `ReadWriteMany`", oneOf("ReadWriteOnce", "ReadWriteMany"))),
		own(key("storage.size", aText, "size of claims, such as `10Gi`", quantity)),
		own(key("storage.spread", aFlag, "let steps run on any node; needs `ReadWriteMany`")),
		own(key("storage.localhost_pod", aFlag, "layout `pod` for pipelines of type kubernetes whose steps look for a service at localhost")),

		own(key("retention", aMap, "how long finished runs stay, in place of the runner's settings")),
		own(key("retention.keep", aText, "time such as `24h`; `0` removes runs at once", duration)),
		own(key("retention.keep_failed", aText, "the same, for runs that did not succeed", duration)),
		own(key("retention.per_repo", aNumber, "how many of a repository's runs with this policy stay at most; `0` is no bound", fromZero)),

		own(key("volumes", someMaps, "volumes that every step, service and detached step gets; each has one of `config_map`, `secret`, `claim` and `temp`")),
		own(key("volumes[].name", aText, "name, for messages", notEmpty)),
		own(key("volumes[].path", aText, "where it is mounted", mountPath)),
		own(key("volumes[].sub_path", aText, "path inside the volume: a folder, or a single file", subPath)),
		own(key("volumes[].read_only", aFlag, "nothing can be written to it")),
		own(key("volumes[].config_map", aMap, "a ConfigMap in the namespace of the run")),
		own(key("volumes[].config_map.name", aText, "its name", dnsName("a ConfigMap"))),
		own(key("volumes[].config_map.default_mode", aNumber, "mode of its files, such as `0644`", fileMode)),
		own(key("volumes[].config_map.optional", aFlag, "the volume is empty where there is no such ConfigMap")),
		own(key("volumes[].secret", aMap, "a Secret in the namespace of the run; every step can read it")),
		own(key("volumes[].secret.name", aText, "its name", dnsName("a Secret"))),
		own(key("volumes[].secret.default_mode", aNumber, "mode of its files, such as `0400`", fileMode)),
		own(key("volumes[].secret.optional", aFlag, "the volume is empty where there is no such Secret")),
		own(key("volumes[].claim", aMap, "an existing claim in the namespace of the run, shared by all runs")),
		own(key("volumes[].claim.name", aText, "its name", dnsName("a claim"))),
		own(key("volumes[].claim.read_only", aFlag, "as `read_only` of the volume")),
		own(key("volumes[].temp", aMap, "an empty folder of each pod; write `temp: {}`")),
		own(key("volumes[].temp.medium", aText, "`memory`, or nothing for the node's disk", oneOf("memory"))),
		own(key("volumes[].temp.size_limit", aSize, "what it may hold at most, in memory", disk)),
	},
)

// conditions are the keys of one condition.
func conditions(name, help string, check ...checkValue) []Key {
	if len(check) == 0 {
		check = []checkValue{pattern}
	}
	return []Key{key("match."+name, aCondition, help, check...)}
}

// part is a place in a document that holds keys.
type part struct {
	noun string // how a message calls it
	keys map[string]*Key
	subs map[string]*part
}

// names are the part's keys, in order.
func (p *part) names() []string {
	var names []string
	for name := range p.keys {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// root is the table as a tree.
var root = sync.OnceValue(func() *part {
	top := &part{noun: "a policy", keys: map[string]*Key{}, subs: map[string]*part{}}
	for i := range keys {
		at := top
		path := strings.Split(keys[i].Path, ".")
		for _, name := range path[:len(path)-1] {
			at = at.subs[strings.TrimSuffix(name, "[]")]
		}
		name := path[len(path)-1]
		at.keys[name] = &keys[i]
		if s := keys[i].shape; s == aMap || s == someMaps {
			at.subs[name] = &part{noun: keys[i].noun(), keys: map[string]*Key{}, subs: map[string]*part{}}
		}
	}
	return top
})

// noun is how a message calls what has the keys below a key.
func (k Key) noun() string {
	switch k.Path {
	case "tolerations":
		return "a toleration"
	case "volumes":
		return "a volume"
	default:
		return k.Path[strings.LastIndexByte(k.Path, '.')+1:]
	}
}
