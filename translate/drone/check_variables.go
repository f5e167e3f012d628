package drone

import (
	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// textMap checks a map whose values can only be texts, such as the environment of a pipeline.
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

// variables checks the environment of a step.
func (c *checker) variables(row *Key, n *yamlv3.Node) bool {
	if n.Kind != yamlv3.MappingNode {
		return c.wrong(row, n)
	}
	c.repetitions(nil, n)
	for _, e := range entries(n) {
		switch e.value.Kind {
		case yamlv3.SequenceNode:
			c.tell(diag.Error, CodeWrongShape, e.value, "",
				"the variable %s must be a text or from_secret, found a list", e.key.Value)
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
