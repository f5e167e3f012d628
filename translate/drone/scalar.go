package drone

import (
	"strconv"
	"strings"

	"github.com/buildkite/yaml"
	yamlv3 "go.yaml.in/yaml/v3"
)

// scalarOf is what Drone's decoder takes a scalar for where the target does not say: nil, bool, int, int64, uint64,
// float64 or string, by the rules of YAML 1.1.
func scalarOf(n *yamlv3.Node) any {
	if n.Style&yamlv3.TaggedStyle != 0 {
		switch n.Tag {
		case "!!null":
			return nil
		case "!!bool", "!!int", "!!float":
			return plain(n.Value)
		default:
			return n.Value
		}
	}
	if n.Style&(yamlv3.SingleQuotedStyle|yamlv3.DoubleQuotedStyle|yamlv3.LiteralStyle|yamlv3.FoldedStyle) != 0 {
		return n.Value
	}
	return plain(n.Value)
}

// longestWord is the length of the longest word that stands for something else than itself.
const longestWord = len("false")

// plain resolves an unquoted scalar. The library is asked only about texts that can be more than a text, apart from the
// commonest of them.
func plain(text string) any {
	switch {
	case text == "":
		return nil
	case text == "true", text == "false":
		return text == "true"
	case isDecimal(text):
		n, err := strconv.ParseFloat(text, 64)
		if err == nil {
			return n
		}
	case strings.IndexByte("+-.0123456789", text[0]) >= 0:
	case len(text) <= longestWord && strings.IndexByte("yYnNtTfFoO~", text[0]) >= 0:
	default:
		return text
	}
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return text
	}
	switch v.(type) {
	case nil, bool, int, int64, uint64, float64, string:
		return v
	default: // A lone "-" would read as a list.
		return text
	}
}

// isDecimal reports whether a text is digits around one dot, such as 1.10.
func isDecimal(text string) bool {
	whole, fraction, found := strings.Cut(text, ".")
	return found && isNumeral(whole) && isNumeral(fraction)
}

// isNull reports whether a node is nothing to Drone's decoder.
func isNull(n *yamlv3.Node) bool { return n.Kind == yamlv3.ScalarNode && scalarOf(n) == nil }

// settingText is how Drone writes a scalar setting into an environment variable.
func settingText(v any) string {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return v
	default:
		return ""
	}
}

// foundName is how a message calls what stands in the place of a value.
func foundName(n *yamlv3.Node) string {
	switch n.Kind {
	case yamlv3.MappingNode:
		return "a map"
	case yamlv3.SequenceNode:
		return "a list"
	}
	switch scalarOf(n).(type) {
	case nil:
		return "nothing"
	case bool:
		return "true or false"
	case int, int64, uint64:
		return "a number"
	case float64:
		return "a fraction"
	default:
		return "a text"
	}
}
