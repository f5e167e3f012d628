package drone

import (
	"slices"
	"strings"
	"sync"
)

// Types is the set of pipeline types whose Drone runner reads a key.
type Types uint8

// The types that can be translated.
const (
	OfDocker Types = 1 << iota
	OfKubernetes
	OfBoth = OfDocker | OfKubernetes
)

// String is the types' names as Drone writes them.
func (t Types) String() string {
	switch t {
	case OfDocker:
		return TypeDocker
	case OfKubernetes:
		return TypeKubernetes
	default:
		return TypeDocker + ", " + TypeKubernetes
	}
}

// typesOf is the set that holds the type of a pipeline; no type means docker.
func typesOf(pipelineType string) Types {
	if pipelineType == TypeKubernetes {
		return OfKubernetes
	}
	return OfDocker
}

// Shape is the form of a key's value. Its text completes the sentence "… must be".
type Shape string

// The shapes that Drone's decoder tells apart.
const (
	aText           Shape = "a text"
	aFlag           Shape = "true or false"
	aNumber         Shape = "a whole number"
	someTexts       Shape = "a list of texts"
	textsByName     Shape = "a map of texts"
	variablesByName Shape = "a map of texts or from_secret"
	settingsByName  Shape = "a map of values or from_secret"
	aSize           Shape = "a number of bytes, or a size such as 512MiB"
	aPattern        Shape = "a pattern, a list of patterns, or include and exclude"
	aMap            Shape = "a map"
	someMaps        Shape = "a list of maps"
	anything        Shape = "anything"
)

// Status says who acts on a key.
type Status string

const (
	// Translated keys become part of the PipelineRun or of what stands beside it.
	Translated Status = "translated"
	// Answered keys have no counterpart; a diagnostic says what happens instead.
	Answered Status = "diagnostic"
	// ByServer keys are the Drone server's to act on, before a runner sees the pipeline.
	ByServer Status = "server"
	// IgnoredByDrone keys are read by Drone without any effect.
	IgnoredByDrone Status = "ignored"
)

// Key is one key of Drone's file format.
type Key struct {
	// Kind is the kind of document that has the key.
	Kind string
	// Path is the keys from the document's root down, joined by dots; "[]" stands for the items of a list. Services
	// have the keys of steps.
	Path string
	// Types that have the key. Documents of other kinds than pipeline have no type.
	Types Types
	Shape
	Status
	// Becomes says in a phrase what the key turns into, or why into nothing.
	Becomes string

	examine examiner // may be nil
}

// examiner looks at a value of the right shape.
type examiner func(c *checker, key *Key, v value)

// row is a key of the table, apart from its kind.
func row(path string, types Types, shape Shape, status Status, becomes string, examine ...examiner) Key {
	k := Key{Path: path, Types: types, Shape: shape, Status: status, Becomes: becomes}
	if len(examine) > 0 {
		k.examine = examine[0]
	}
	return k
}

// name is the last key of the path.
func (k *Key) name() string { return k.Path[strings.LastIndexByte(k.Path, '.')+1:] }

// Keys is the table of every key of every kind of document, in the order of the support matrix. It drives the check of
// keys and documents what becomes of each.
func Keys() []Key { return slices.Clone(keys()) }

var keys = sync.OnceValue(func() []Key {
	var all []Key
	add := func(kind string, rows ...Key) {
		for _, row := range rows {
			row.Kind = kind
			all = append(all, row)
		}
	}
	add("pipeline", pipelineKeys...)
	add("pipeline", under("trigger.", triggerKeys)...)
	add("pipeline", under("steps[].", stepKeys)...)
	add("pipeline", under("steps[].when.", whenKeys)...)
	add("pipeline", under("volumes[].", volumeKeys)...)
	add("secret", secretKeys...)
	add("signature", signatureKeys...)
	add("cron", cronKeys...)
	add("registry", registryKeys...)
	return all
})

// under puts a prefix before the paths of rows.
func under(prefix string, rows []Key) []Key {
	out := slices.Clone(rows)
	for i := range out {
		out[i].Path = prefix + out[i].Path
	}
	return out
}

// part is a place in a document that holds keys, as a tree of the table.
type part struct {
	noun string // how a message calls it
	keys map[string][]*Key
	subs map[string]*part // by key: the value's own part, or that of its items
}

// parts is the table as trees, by kind of document.
var parts = sync.OnceValue(func() map[string]*part {
	roots := map[string]*part{}
	table := keys()
	for i := range table {
		key := &table[i]
		root := roots[key.Kind]
		if root == nil {
			root = newPart("a document of kind " + key.Kind)
			roots[key.Kind] = root
		}
		path := strings.Split(key.Path, ".")
		at := root
		for i, name := range path[:len(path)-1] {
			name = strings.TrimSuffix(name, "[]")
			if at.subs[name] == nil {
				at.subs[name] = newPart(nounOf(strings.Join(path[:i+1], ".")))
			}
			at = at.subs[name]
		}
		at.keys[key.name()] = append(at.keys[key.name()], key)
	}
	pipeline := roots["pipeline"]
	pipeline.noun = "the pipeline"
	pipeline.subs["services"] = pipeline.subs["steps"]
	return roots
})

func newPart(noun string) *part {
	return &part{noun: noun, keys: map[string][]*Key{}, subs: map[string]*part{}}
}

// nounOf is how messages call the parts at a path.
func nounOf(path string) string {
	switch path {
	case "steps[]":
		return "a step"
	case "steps[].volumes[]":
		return "a mount"
	case "volumes[]":
		return "a volume"
	case "tolerations[]":
		return "a toleration"
	case "host_aliases[]":
		return "a host alias"
	default:
		return path[strings.LastIndexByte(path, '.')+1:]
	}
}

// key is the row for a key of the part: that of the pipeline's type where there is one.
func (p *part) key(name string, types Types) *Key {
	rows := p.keys[name]
	for _, row := range rows {
		if row.Types&types != 0 {
			return row
		}
	}
	if len(rows) > 0 {
		return rows[0]
	}
	return nil
}
