package policy

import (
	"fmt"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// checker compares a document with the table of keys. Whatever is not certain to mean what was meant is an error: a policy
// that is ignored grants too much.
type checker struct {
	doc    *drone.Document
	list   diag.List
	places map[string]diag.Position // by path, with indices in place of []
	// strange are the paths of maps with an unknown key, which may be what is missing, and of items that are no maps.
	strange map[string]bool
}

func (c *checker) fail(code diag.Code, n *yamlv3.Node, hint, format string, args ...any) {
	c.list.Add(diag.Diagnostic{
		Severity: diag.Error, Code: code, Position: c.doc.Position(n), Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// mapping checks the keys of a part.
func (c *checker) mapping(p *part, path string, n *yamlv3.Node) {
	if path != "" && len(drone.Entries(n)) == 0 && !strings.HasSuffix(path, ".temp") {
		c.empty(path, n)
		return
	}
	seen := map[string]bool{}
	for _, e := range drone.Entries(n) {
		name := e.Key.Value
		at := join(path, name)
		if seen[name] {
			hint := "keep one of the two"
			if at == "kind" {
				hint = "put a line --- between two documents"
			}
			c.fail(drone.CodeRepeatedKey, e.Key, hint, "%s is given twice", at)
			continue
		}
		seen[name] = true
		c.places[at] = c.doc.Position(e.Key)
		k := p.keys[name]
		switch {
		case k != nil:
			c.value(k, p.subs[name], at, e.Value)
		default:
			c.strange[path] = true
			c.unknown(p, e.Key)
		}
	}
}

// meant are keys of Kubernetes and of other runners, with those of policies.
var meant = map[string]string{
	"mount_path": "path", "mountPath": "path", "subPath": "sub_path", "empty_dir": "temp", "emptyDir": "temp",
	"pvc": "claim", "persistentVolumeClaim": "claim", "serviceAccountName": "service_account", "storageClassName": "storage_class",
}

func (c *checker) unknown(p *part, key *yamlv3.Node) {
	name := key.Value
	if p.noun == "a volume" && strings.HasPrefix(name, "host") {
		c.fail(drone.CodeUnknownKey, key, "use config_map, secret, claim or temp",
			"a policy cannot mount folders of the node, which would let pipelines leave traces on it")
		return
	}
	hint := drone.DidYouMean(name, p.names())
	switch {
	case p.keys[meant[name]] != nil:
		hint = "did you mean " + meant[name] + "?"
	case hint == "":
		hint = "the keys are " + strings.Join(p.names(), ", ")
	}
	c.fail(drone.CodeUnknownKey, key, hint, "%s is not a key of %s", name, p.noun)
}

func (c *checker) empty(path string, n *yamlv3.Node) {
	if path == "match" {
		c.fail(drone.CodeEmptyValue, n, "name conditions, or leave the key out for a policy of all builds",
			"match is empty, so the policy would hold for every build")
		return
	}
	c.fail(drone.CodeEmptyValue, n, "give it one, or leave the key out", "%s has no value", path)
}

// value checks the value of a key.
func (c *checker) value(k *Key, sub *part, path string, n *yamlv3.Node) {
	isScalar := n.Kind == yamlv3.ScalarNode
	if isScalar && drone.Scalar(n) == nil {
		c.empty(path, n)
		return
	}
	switch k.shape {
	case aMap:
		if c.want(k, path, n, n.Kind == yamlv3.MappingNode) {
			c.mapping(sub, path, n)
		}
	case someMaps:
		if !c.want(k, path, n, n.Kind == yamlv3.SequenceNode) {
			return
		}
		if len(n.Content) == 0 {
			c.empty(path, n)
		}
		for i, item := range drone.Items(n) {
			at := join(path, strconv.Itoa(i))
			c.places[at] = c.doc.Position(item)
			if item.Kind != yamlv3.MappingNode {
				c.strange[at] = true
				c.fail(drone.CodeWrongShape, item, "write keys and values, such as name: …",
					"each item of %s must be a map, found %s", path, drone.FoundName(item))
				continue
			}
			c.mapping(sub, at, item)
		}
	case someTexts:
		if c.want(k, path, n, n.Kind == yamlv3.SequenceNode) {
			c.texts(k, path, n)
		}
	case textsByName:
		if !c.want(k, path, n, n.Kind == yamlv3.MappingNode) {
			return
		}
		c.textMap(k, path, n)
	case aCondition:
		c.condition(k, path, n)
	default:
		if c.want(k, path, n, isScalar && k.takes(drone.Scalar(n))) {
			c.scalar(k, path, "", n)
		}
	}
}

// takes reports whether a scalar has the shape of the key.
func (k *Key) takes(v any) bool {
	switch v.(type) {
	case bool:
		return k.shape == aFlag || k.shape == aText && k.check == nil
	case int, int64, uint64:
		return k.shape != aFlag
	case float64:
		return k.shape == aText
	default:
		return k.shape == aText || k.shape == aSize
	}
}

// want reports whether a value has its shape, and tells where it has not.
func (c *checker) want(k *Key, path string, n *yamlv3.Node, ok bool) bool {
	if ok {
		return true
	}
	isText := n.Kind == yamlv3.ScalarNode
	hint := ""
	switch name := path[strings.LastIndexByte(path, '.')+1:]; {
	case name == "cpu" && isText && strings.HasSuffix(n.Value, "m"):
		hint = "write cpu: " + strings.TrimSuffix(n.Value, "m") + ", in thousandths of a core"
	case name == "cpu":
		hint = "write thousandths of a core, such as cpu: 500"
	case k.shape == someTexts && isText, k.shape == someMaps && n.Kind == yamlv3.MappingNode:
		hint = "start each item with a dash"
	case (k.shape == aFlag || k.shape == aNumber) && isText:
		hint = "write " + k.Value + ", without quotes"
	case k.shape == aMap && name == "temp":
		hint = "write temp: {}"
	case k.shape == aMap:
		hint = "write its keys below it, or in braces"
	case k.shape == textsByName:
		hint = "write name: value on a line each, without dashes"
	}
	c.fail(drone.CodeWrongShape, n, hint, "%s must be %s, found %s", path, k.Value, drone.FoundName(n))
	return false
}

// scalar checks a single value.
func (c *checker) scalar(k *Key, path, name string, n *yamlv3.Node) {
	if k.check == nil {
		return
	}
	if problem, hint := k.check(name, n.Value); problem != "" {
		c.fail(drone.CodeUnknownValue, n, hint, "%s: %s", path, problem)
	}
}

func (c *checker) texts(k *Key, path string, n *yamlv3.Node) {
	if len(n.Content) == 0 {
		c.empty(path, n)
	}
	for _, item := range drone.Items(n) {
		if item.Kind != yamlv3.ScalarNode || drone.Scalar(item) == nil {
			c.fail(drone.CodeWrongShape, item, "write texts only", "each item of %s must be a text, found %s", path, drone.FoundName(item))
			continue
		}
		c.scalar(k, path, "", item)
	}
}

func (c *checker) textMap(k *Key, path string, n *yamlv3.Node) {
	if len(drone.Entries(n)) == 0 {
		c.empty(path, n)
	}
	seen := map[string]bool{}
	for _, e := range drone.Entries(n) {
		at := join(path, e.Key.Value)
		c.places[at] = c.doc.Position(e.Key)
		switch {
		case seen[e.Key.Value]:
			c.fail(drone.CodeRepeatedKey, e.Key, "keep one of the two", "%s is given twice", at)
		case e.Value.Kind != yamlv3.ScalarNode:
			c.fail(drone.CodeWrongShape, e.Value, "write name: value on a line each", "%s must be a text, found %s", at, drone.FoundName(e.Value))
		default:
			c.scalar(k, path, e.Key.Value, e.Value)
		}
		seen[e.Key.Value] = true
	}
}

// condition checks a pattern, a list of patterns, or lists to include and exclude.
func (c *checker) condition(k *Key, path string, n *yamlv3.Node) {
	switch n.Kind {
	case yamlv3.ScalarNode:
		c.scalar(k, path, "", n)
	case yamlv3.SequenceNode:
		c.texts(k, path, n)
	default:
		c.includeExclude(k, path, n)
	}
}

func (c *checker) includeExclude(k *Key, path string, n *yamlv3.Node) {
	if len(drone.Entries(n)) == 0 {
		c.empty(path, n)
	}
	known := []string{"include", "exclude"}
	seen := map[string]bool{}
	for _, e := range drone.Entries(n) {
		name := e.Key.Value
		at := join(path, name)
		switch {
		case name != "include" && name != "exclude":
			c.fail(drone.CodeUnknownKey, e.Key, choose(name, known), "%s is not a key of %s", name, path)
		case seen[name]:
			c.fail(drone.CodeRepeatedKey, e.Key, "keep one of the two", "%s is given twice", at)
		case e.Value.Kind == yamlv3.ScalarNode && drone.Scalar(e.Value) == nil:
			c.empty(at, e.Value)
		case e.Value.Kind != yamlv3.SequenceNode:
			c.fail(drone.CodeWrongShape, e.Value, "start each item with a dash", "%s must be a list of texts, found %s", at, drone.FoundName(e.Value))
		default:
			c.texts(k, at, e.Value)
		}
		seen[name] = true
	}
}
