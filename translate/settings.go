package translate

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	buildkite "github.com/buildkite/yaml"
	"sigs.k8s.io/yaml"
)

// settingName is the environment variable of a plugin's setting. Drone puts the key in upper case and changes nothing
// else: my-key becomes PLUGIN_MY-KEY.
func settingName(key string) string { return "PLUGIN_" + strings.ToUpper(key) }

// encodeSetting is a setting's value as Drone passes it to a plugin: texts as they are, numbers in Go's shortest form,
// lists of plain values joined by commas, lists of anything else and maps as JSON with sorted keys.
func encodeSetting(v any) string {
	switch v := v.(type) {
	case []any:
		texts := make([]string, len(v))
		for i, item := range v {
			switch item.(type) {
			case []any, map[any]any, map[string]any:
				return encodeJSON(v)
			}
			texts[i] = encodeItem(item)
		}
		return strings.Join(texts, ",")
	case map[any]any, map[string]any:
		return encodeJSON(v)
	default:
		return encodeScalar(v)
	}
}

func encodeScalar(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

// encodeItem is a plain value in a list, where Drone writes numbers that are none as YAML does.
func encodeItem(v any) string {
	switch f, _ := v.(float64); {
	case math.IsNaN(f):
		return ".nan"
	case math.IsInf(f, 1):
		return ".inf"
	case math.IsInf(f, -1):
		return "-.inf"
	default:
		return encodeScalar(v)
	}
}

// encodeJSON goes through YAML, as Drone does, with the same effects: a text such as 1e3, which the reader of the file
// takes for a text, is a number to the writer of JSON.
func encodeJSON(v any) string {
	text, err := buildkite.Marshal(v)
	if err != nil {
		return ""
	}
	out, err := yaml.YAMLToJSON(text)
	if err != nil { // Infinity and NaN have no JSON; Drone's encoder gives nothing for them.
		return ""
	}
	return string(out)
}
