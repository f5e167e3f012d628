package drone

import (
	"fmt"
	"slices"
	"strings"

	"github.com/docker/go-units"
	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// checker compares a document with the table of keys. It finds what Drone refuses, what it silently ignores, and what it
// takes for something else than was written.
type checker struct {
	tree
	types Types
	list  diag.List
	// told are the lines, within the document, of values that have been answered; the decoder's complaint about the same
	// value would say it a second time.
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
	return key != nil && slices.Contains([]Shape{Map, TextMap, Variables, Settings}, key.Shape)
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

// shape checks a value against the shape of its key, and reports whether it is of that shape. Drone's decoder takes
// nothing for the empty value everywhere.
func (c *checker) shape(row *Key, v value, sub *part) bool {
	if isNull(v.node) {
		return true
	}
	switch row.Shape {
	case Text:
		return v.node.Kind == yamlv3.ScalarNode || c.wrong(row, v.node)
	case Flag:
		if v.node.Kind == yamlv3.ScalarNode {
			if _, ok := scalarOf(v.node).(bool); ok {
				return true
			}
		}
		return c.wrong(row, v.node)
	case Number:
		return c.number(row, v.node)
	case Size:
		return c.size(row, v.node)
	case Texts:
		return c.texts(row, v.node)
	case TextMap:
		return c.textMap(row, v.node)
	case Variables:
		return c.variables(row, v.node)
	case Settings:
		return c.settings(row, v.node)
	case Pattern:
		return c.pattern(row, v)
	case Map:
		if v.node.Kind != yamlv3.MappingNode {
			return c.wrong(row, v.node)
		}
		if sub != nil {
			c.mapping(sub, v.node)
		}
	case Maps:
		if v.node.Kind != yamlv3.SequenceNode {
			return c.wrong(row, v.node)
		}
		for _, item := range v.node.Content {
			if item = resolve(item); item.Kind != yamlv3.MappingNode {
				c.wrongItem(row, item)
				continue
			}
			if sub != nil {
				c.mapping(sub, item)
			}
		}
	}
	return true
}

// wrong reports a value that Drone's decoder refuses.
func (c *checker) wrong(row *Key, n *yamlv3.Node) bool {
	c.tell(diag.Error, CodeWrongShape, n, wayOut(row, n), "%s must be %s, found %s", row.name(), row.Shape, foundName(n))
	c.answered(n)
	return false
}

// wrongItem reports an item of a list that Drone's decoder refuses.
func (c *checker) wrongItem(row *Key, n *yamlv3.Node) {
	hint := ""
	what := "a text"
	switch {
	case row.Shape == Maps && isNull(n):
		hint, what = "remove the empty item", "a map"
	case row.Shape == Maps:
		hint, what = "write keys and values, such as name: …", "a map"
	case n.Kind == yamlv3.MappingNode:
		hint = `a colon and a space make it a map: put the whole text in quotes`
	}
	c.tell(diag.Error, CodeWrongShape, n, hint, "each item of %s must be %s, found %s", row.name(), what, foundName(n))
	c.answered(n)
}

// wayOut is the hint for a value of the wrong shape.
func wayOut(row *Key, n *yamlv3.Node) string {
	isText := n.Kind == yamlv3.ScalarNode
	switch {
	case row.name() == "when" && n.Kind == yamlv3.SequenceNode, row.name() == "trigger" && n.Kind == yamlv3.SequenceNode:
		return "Drone has no lists of conditions: write one map, or a step for each"
	case row.Shape == Texts && isText:
		return fmt.Sprintf("start a list: a dash before each item of %s", row.name())
	case row.Shape == Maps && n.Kind == yamlv3.MappingNode:
		return "start each item with a dash"
	case (row.Shape == TextMap || row.Shape == Variables) && n.Kind == yamlv3.SequenceNode:
		return "write NAME: value on each line, without dashes"
	case row.Shape == Flag && isText, row.Shape == Number && isText && isNumeral(n.Value):
		return fmt.Sprintf("write %s: %s, without quotes", row.name(), n.Value)
	case row.name() == "cpu" && isText && strings.HasSuffix(n.Value, "m") && isNumeral(strings.TrimSuffix(n.Value, "m")):
		return fmt.Sprintf("write cpu: %s, in thousandths of a core", strings.TrimSuffix(n.Value, "m"))
	case row.name() == "cpu":
		return "write thousandths of a core, such as cpu: 500"
	case row.name() == "user" || row.name() == "group":
		return "write the numeric id, such as 0 for root"
	case row.Shape == Map && row.name() == "temp":
		return "write temp: {}"
	}
	return ""
}

func isNumeral(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func (c *checker) number(row *Key, n *yamlv3.Node) bool {
	if n.Kind != yamlv3.ScalarNode {
		return c.wrong(row, n)
	}
	switch v := scalarOf(n).(type) {
	case int, int64:
		return true
	case float64:
		if row.examine == nil {
			c.tell(diag.Warning, CodeTruncated, n, "write a whole number", "Drone cuts %s to %d", n.Value, int64(v))
		}
		return true
	default:
		return c.wrong(row, n)
	}
}

func (c *checker) size(row *Key, n *yamlv3.Node) bool {
	if n.Kind != yamlv3.ScalarNode {
		return c.wrong(row, n)
	}
	switch v := scalarOf(n).(type) {
	case int, int64:
		return true
	case float64:
		c.tell(diag.Warning, CodeTruncated, n, "write a unit, such as 512MiB", "Drone cuts %s to %d bytes", n.Value, int64(v))
		return true
	case string:
		if _, err := units.RAMInBytes(v); err == nil {
			return true
		}
	}
	return c.wrong(row, n)
}

func (c *checker) texts(row *Key, n *yamlv3.Node) bool {
	if n.Kind != yamlv3.SequenceNode {
		return c.wrong(row, n)
	}
	for _, item := range n.Content {
		item = resolve(item)
		switch {
		case item.Kind != yamlv3.ScalarNode:
			c.wrongItem(row, item)
		case isNull(item):
			c.tell(diag.Warning, CodeEmptyValue, item, "remove it", "an empty item of %s counts as an empty text", row.name())
		}
	}
	return true
}

func (c *checker) textMap(row *Key, n *yamlv3.Node) bool {
	if n.Kind != yamlv3.MappingNode {
		return c.wrong(row, n)
	}
	c.repetitions(nil, n)
	for _, e := range entries(n) {
		switch {
		case e.value.Kind == yamlv3.ScalarNode:
		case row.name() == "environment" && lookup(e.value, "from_secret") != nil:
			c.tell(diag.Error, CodeWrongShape, e.value, "move it to the environment of each step that needs it",
				"from_secret is not possible in the environment of a pipeline")
			c.answered(e.value)
		default:
			c.tell(diag.Error, CodeWrongShape, e.value, "", "%s in %s must be a text, found %s",
				e.key.Value, row.name(), foundName(e.value))
			c.answered(e.value)
		}
	}
	return true
}

func (c *checker) variables(row *Key, n *yamlv3.Node) bool {
	if n.Kind != yamlv3.MappingNode {
		return c.wrong(row, n)
	}
	c.repetitions(nil, n)
	for _, e := range entries(n) {
		switch e.value.Kind {
		case yamlv3.SequenceNode:
			c.tell(diag.Error, CodeWrongShape, e.value, "", "the variable %s must be a text or from_secret, found a list", e.key.Value)
			c.answered(e.value)
		case yamlv3.MappingNode:
			c.variable(e)
		default:
			if isNull(e.value) {
				c.tell(diag.Warning, CodeEmptyValue, e.key, `write "" for an empty text`,
					"the variable %s has no value; Drone does not set it", e.key.Value)
			}
		}
	}
	return true
}

// variable checks the long form of a variable.
func (c *checker) variable(e entry) {
	if lookup(e.value, "from_secret") == nil && lookup(e.value, "value") == nil {
		c.tell(diag.Warning, CodeEmptyValue, e.key, "write a text, or from_secret",
			"the variable %s is a map without from_secret; Drone sets it to an empty text", e.key.Value)
	}
	for _, sub := range entries(e.value) {
		switch {
		case sub.key.Value != "from_secret" && sub.key.Value != "value":
			c.tell(diag.Warning, CodeUnknownKey, sub.key, "", "%s is not a key of a variable; Drone ignores it", sub.key.Value)
		case sub.value.Kind != yamlv3.ScalarNode:
			c.tell(diag.Error, CodeWrongShape, sub.value, "", "%s must be a text, found %s", sub.key.Value, foundName(sub.value))
			c.answered(sub.value)
		}
	}
}
