package drone

import (
	"slices"
	"strconv"
	"sync"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// tree is a document as YAML nodes. It serves the places of keys and the check of keys; values are decoded by the
// library that Drone uses.
type tree struct {
	file string
	line int          // of the file, where the document starts
	root *yamlv3.Node // nil where the document could not be read into nodes
}

// position is where a node stands in the file.
func (t tree) position(n *yamlv3.Node) diag.Position {
	if n == nil {
		return diag.Position{File: t.file, Line: t.line, Column: 1}
	}
	return diag.Position{File: t.file, Line: t.line + n.Line - 1, Column: n.Column}
}

// entry is a key of a mapping and its value, with aliases followed.
type entry struct{ key, value *yamlv3.Node }

// keyNode is the node of a key of the document's root, or nil.
func (t tree) keyNode(name string) *yamlv3.Node {
	var found *yamlv3.Node
	for _, e := range entries(t.root) {
		if e.key.Value == name {
			found = e.key
		}
	}
	return found
}

// resolve follows an alias.
func resolve(n *yamlv3.Node) *yamlv3.Node {
	for n != nil && n.Kind == yamlv3.AliasNode {
		n = n.Alias
	}
	return n
}

// isMerge reports whether a key is the merge key.
func isMerge(key *yamlv3.Node) bool {
	const quoted = yamlv3.SingleQuotedStyle | yamlv3.DoubleQuotedStyle
	return key.Kind == yamlv3.ScalarNode && key.Value == "<<" && key.Style&quoted == 0
}

// entries lists a mapping's keys in the order in which Drone's decoder sets them, those of merged mappings at the place
// of the merge key. A later entry of the same key overrides an earlier one, also when the later one comes from a merge.
func entries(m *yamlv3.Node) []entry {
	m = resolve(m)
	if m == nil || m.Kind != yamlv3.MappingNode {
		return nil
	}
	list := make([]entry, 0, len(m.Content)/2)
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, value := resolve(m.Content[i]), resolve(m.Content[i+1])
		switch {
		case !isMerge(key):
			list = append(list, entry{key, value})
		case value.Kind == yamlv3.SequenceNode:
			// The first of several merged mappings wins, so it is set last.
			for j := len(value.Content) - 1; j >= 0; j-- {
				list = append(list, entries(value.Content[j])...)
			}
		default:
			list = append(list, entries(value)...)
		}
	}
	return list
}

// lookup is the effective value of a key in a mapping, or nil.
func lookup(m *yamlv3.Node, key string) *yamlv3.Node {
	var found *yamlv3.Node
	for _, e := range entries(m) {
		if e.key.Value == key {
			found = e.value
		}
	}
	return found
}

// positions collects the places of everything below a node, once one of them is asked for: of most parts none ever is.
// Below the paths of stop, only the items of the list are recorded: they are parts with positions of their own.
func (t tree) positions(n *yamlv3.Node, stop ...string) Positions {
	return Positions{at: sync.OnceValue(func() map[string]diag.Position {
		at := map[string]diag.Position{"": t.position(n)}
		t.collect(at, "", n, stop)
		return at
	})}
}

func (t tree) collect(at map[string]diag.Position, path string, n *yamlv3.Node, stop []string) {
	n = resolve(n)
	if n == nil {
		return
	}
	switch n.Kind {
	case yamlv3.MappingNode:
		all := entries(n)
		last := make(map[string]int, len(all))
		for i, e := range all {
			last[e.key.Value] = i
		}
		for i, e := range all {
			if winner := last[e.key.Value]; i != winner && all[winner].value.Kind != yamlv3.MappingNode {
				continue // Another value replaces it. Maps are put together instead.
			}
			sub := join(path, e.key.Value)
			at[sub] = t.position(e.key)
			t.collect(at, sub, e.value, stop)
		}
	case yamlv3.SequenceNode:
		for i, item := range n.Content {
			sub := join(path, strconv.Itoa(i))
			at[sub] = t.position(item)
			if !slices.Contains(stop, path) {
				t.collect(at, sub, item, stop)
			}
		}
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
