package drone

import (
	"fmt"
	"strings"

	"github.com/docker/go-units"
	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// shape checks a value against the shape of its key, and reports whether it is of that shape. Drone's decoder takes
// nothing for the empty value everywhere.
func (c *checker) shape(row *Key, v value, sub *part) bool {
	if isNull(v.node) {
		return true
	}
	switch row.Shape {
	case aText:
		return v.node.Kind == yamlv3.ScalarNode || c.wrong(row, v.node)
	case aFlag:
		if v.node.Kind == yamlv3.ScalarNode {
			if _, ok := scalarOf(v.node).(bool); ok {
				return true
			}
		}
		return c.wrong(row, v.node)
	case aNumber:
		return c.number(row, v.node)
	case aSize:
		return c.size(row, v.node)
	case someTexts:
		return c.texts(row, v.node)
	case textsByName:
		return c.textMap(row, v.node)
	case variablesByName:
		return c.variables(row, v.node)
	case settingsByName:
		return c.settings(row, v.node)
	case aPattern:
		return c.pattern(row, v)
	case aMap:
		if v.node.Kind != yamlv3.MappingNode {
			return c.wrong(row, v.node)
		}
		if sub != nil {
			c.mapping(sub, v.node)
		}
	case someMaps:
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
	case row.Shape == someMaps && isNull(n):
		hint, what = "remove the empty item", "a map"
	case row.Shape == someMaps:
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
	case row.Shape == someTexts && isText:
		return fmt.Sprintf("start a list: a dash before each item of %s", row.name())
	case row.Shape == someMaps && n.Kind == yamlv3.MappingNode:
		return "start each item with a dash"
	case (row.Shape == textsByName || row.Shape == variablesByName) && n.Kind == yamlv3.SequenceNode:
		return "write NAME: value on each line, without dashes"
	case row.Shape == aFlag && isText, row.Shape == aNumber && isText && isNumeral(n.Value):
		return fmt.Sprintf("write %s: %s, without quotes", row.name(), n.Value)
	case row.name() == "cpu" && isText && strings.HasSuffix(n.Value, "m") && isNumeral(strings.TrimSuffix(n.Value, "m")):
		return fmt.Sprintf("write cpu: %s, in thousandths of a core", strings.TrimSuffix(n.Value, "m"))
	case row.name() == "cpu":
		return "write thousandths of a core, such as cpu: 500"
	case row.name() == "user" || row.name() == "group":
		return "write the numeric id, such as 0 for root"
	case row.Shape == aMap && row.name() == "temp":
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
