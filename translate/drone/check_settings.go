package drone

import (
	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// settings checks the settings of a plugin. Any YAML is allowed; what is told is where the plugin gets something else
// than was written.
func (c *checker) settings(row *Key, n *yamlv3.Node) bool {
	if n.Kind != yamlv3.MappingNode {
		return c.wrong(row, n)
	}
	c.repetitions(nil, n)
	for _, e := range entries(n) {
		if isNull(e.value) {
			c.tell(diag.Warning, CodeEmptyValue, e.key, `write "" for an empty text`,
				"the setting %s has no value; Drone does not pass it", e.key.Value)
			continue
		}
		secret := lookup(e.value, "from_secret")
		if secret == nil || secret.Kind != yamlv3.ScalarNode || isNull(secret) {
			c.setting(e.key.Value, e.value)
			continue
		}
		for _, sub := range entries(e.value) {
			if sub.key.Value != "from_secret" {
				c.tell(diag.Warning, CodeUnknownKey, sub.key, "", "%s beside from_secret is ignored by Drone", sub.key.Value)
			}
		}
	}
	return true
}

// setting checks a value, or a value inside one, that is passed as it stands.
func (c *checker) setting(name string, n *yamlv3.Node) {
	n = resolve(n)
	switch n.Kind {
	case yamlv3.SequenceNode:
		for _, item := range n.Content {
			c.setting(name, item)
		}
	case yamlv3.MappingNode:
		for _, e := range entries(n) {
			if e.key.Value == "from_secret" {
				c.tell(diag.Warning, CodeNestedSecret, e.key, "use from_secret directly below the setting",
					"from_secret inside the list or map of the setting %s is not resolved: the plugin gets the secret's name", name)
				continue
			}
			c.setting(name, e.value)
		}
	case yamlv3.ScalarNode:
		v := scalarOf(n)
		if v == nil {
			return
		}
		if text := settingText(v); text != n.Value {
			c.tell(diag.Warning, CodeSettingValue, n, "put it in quotes to pass it as it is written",
				"the setting %s is written %s and passed as %s", name, n.Value, text)
		}
	}
}
