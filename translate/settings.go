package translate

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
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
			texts[i] = encodeScalar(item)
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

func encodeJSON(v any) string {
	out, err := json.Marshal(jsonable(v))
	if err != nil { // Infinity and NaN have no JSON; Drone's encoder gives nothing for them.
		return ""
	}
	return string(out)
}

// jsonable gives maps string keys, as JSON has no others.
func jsonable(v any) any {
	switch v := v.(type) {
	case map[any]any:
		m := make(map[string]any, len(v))
		for k, item := range v {
			m[encodeScalar(k)] = jsonable(item)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, item := range v {
			l[i] = jsonable(item)
		}
		return l
	default:
		return v
	}
}
