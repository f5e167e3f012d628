package drone

import (
	"fmt"
	"strings"
)

// Matrix is the support matrix: a page of Markdown that says of every key of Drone's file format what becomes of it.
func Matrix() string {
	var b strings.Builder
	b.WriteString(`# What becomes of each key

This page is generated from the table that checks Drone files: ` + "`go test ./translate/drone -run TestMatrix -update`" + `.

| status | meaning |
|---|---|
| translated | becomes part of the PipelineRun, or of what stands beside it |
| diagnostic | has no counterpart; a diagnostic says what happens instead |
| server | Drone's server acts on it before a runner sees the pipeline; ` + "`convert`" + ` says so |
| ignored | Drone reads it without any effect, and so does this project |

Any other key is unknown to Drone, which ignores it; a warning says so, and names the key that was probably meant.
`)
	kind := ""
	for _, key := range keys() {
		if key.Kind != kind {
			kind = key.Kind
			fmt.Fprintf(&b, "\n## kind: %s\n\n", kind)
			if kind == "pipeline" {
				b.WriteString("Services have the keys of steps.\n\n")
			}
			b.WriteString("| key | type | value | status | becomes |\n|---|---|---|---|---|\n")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", key.Path, typeColumn(key), key.Shape, key.Status, key.Becomes)
	}
	return b.String()
}

// typeColumn names the types that have a key, where a document has a type.
func typeColumn(k Key) string {
	switch {
	case k.Kind != "pipeline":
		return ""
	case k.Types == OfBoth:
		return "both"
	default:
		return k.Types.String()
	}
}
