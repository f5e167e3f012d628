package drone

import (
	"fmt"
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// checker compares a document with the table of keys. It finds what Drone refuses, what it silently ignores, and what
// it takes for something else than was written.
type checker struct {
	tree
	types Types
	list  diag.List
	// told are the lines, within the document, of values that have been answered; the decoder's complaint about the
	// same value would say it a second time.
	told map[int]bool
}

// value is a key's value with the key's own node.
type value struct{ key, node *yamlv3.Node }

// check compares the document with the table for its kind.
func (t tree) check(kind string, types Types) *checker {
	c := &checker{tree: t, types: types, told: map[int]bool{}}
	if root := resolve(t.root); root != nil && root.Kind == yamlv3.MappingNode {
		c.mapping(parts()[kind], root)
	}
	return c
}

func (c *checker) tell(severity diag.Severity, code diag.Code, n *yamlv3.Node, hint, format string, args ...any) {
	c.list.Add(diag.Diagnostic{
		Severity: severity, Code: code, Position: c.position(n), Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// answered marks a value, and everything in it, as one that needs no word from the decoder.
func (c *checker) answered(n *yamlv3.Node) {
	n = resolve(n)
	c.told[n.Line] = true
	for _, sub := range n.Content {
		if sub.Kind != yamlv3.AliasNode {
			c.answered(sub)
		}
	}
}

// mapping checks the keys of a part.
func (c *checker) mapping(p *part, n *yamlv3.Node) {
	c.repetitions(p, n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, node := resolve(n.Content[i]), resolve(n.Content[i+1])
		switch {
		case !isMerge(key):
			c.key(p, key, node)
		case node.Kind == yamlv3.SequenceNode:
			for _, item := range node.Content {
				if item = resolve(item); item.Kind == yamlv3.MappingNode {
					c.mapping(p, item)
				}
			}
		case node.Kind == yamlv3.MappingNode:
			c.mapping(p, node)
		}
	}
}

// repetitions tells of keys that are given twice, by themselves or through merges.
func (c *checker) repetitions(p *part, n *yamlv3.Node) {
	type origin struct {
		value  *yamlv3.Node
		merged bool
	}
	seen := map[string]origin{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, node := resolve(n.Content[i]), resolve(n.Content[i+1])
		if !isMerge(key) {
			name := key.Value
			earlier, again := seen[name]
			seen[name] = origin{value: node}
			blends := again && p != nil && p.blends(name, c.types) &&
				node.Kind == yamlv3.MappingNode && earlier.value.Kind == yamlv3.MappingNode
			switch {
			case blends:
				c.tell(diag.Warning, CodeRepeatedKey, key, "",
					"%s is given here and before, or by a merge; Drone puts the two maps together instead of replacing one", name)
			case again && name == "kind" && n == c.root:
				c.tell(diag.Warning, CodeRepeatedKey, key, "put a line --- between two documents",
					"kind is given twice, so this is one document to Drone, which takes the last of each key")
			case again && !earlier.merged:
				c.tell(diag.Warning, CodeRepeatedKey, key, "keep one of the two", "%s is given twice; Drone takes the last", name)
			}
			continue
		}
		for _, e := range entries(&yamlv3.Node{Kind: yamlv3.MappingNode, Content: n.Content[i : i+2]}) {
			name := e.key.Value
			if earlier, again := seen[name]; again && !earlier.merged {
				c.tell(diag.Warning, CodeRepeatedKey, n.Content[i], "put << before the keys that are to win",
					"the merged %s overrides the one above: Drone applies << in the place where it stands", name)
			}
			seen[name] = origin{value: e.value, merged: true}
		}
	}
}

// blends reports whether two values of a key are put together by Drone's decoder, because it decodes both into one.
func (p *part) blends(name string, types Types) bool {
	key := p.key(name, types)
	return key != nil && slices.Contains([]Shape{aMap, textsByName, variablesByName, settingsByName}, key.Shape)
}

// key checks one key of a part and its value.
func (c *checker) key(p *part, key, node *yamlv3.Node) {
	row := p.key(key.Value, c.types)
	if row == nil {
		c.unknown(p, key, node)
		return
	}
	if row.Types&c.types == 0 {
		c.tell(diag.Warning, CodeOtherType, key, fmt.Sprintf("remove it, or set type: %s", row.Types),
			"%s is a key of type %s; in type %s Drone ignores it", key.Value, row.Types, c.types)
		c.answered(node)
		return
	}
	if row.Status == IgnoredByDrone && row.examine == nil && row.Kind != "cron" && row.Kind != "registry" &&
		key.Value != "version" && key.Value != "type" && key.Value != "name" {
		c.tell(diag.Warning, CodeIgnoredKey, key, "remove it", "Drone reads %s and does nothing with it", key.Value)
		c.answered(node)
		return
	}
	v := value{key: key, node: node}
	if isNull(node) && row.Path == "volumes[].temp" {
		c.tell(diag.Warning, CodeEmptyValue, key, "write temp: {}",
			"temp without a value is no volume to Drone, which drops it and its mounts; here it is a volume")
	}
	if c.shape(row, v, p.subs[key.Value]) && row.examine != nil && !isNull(node) {
		row.examine(c, row, v)
	}
}
