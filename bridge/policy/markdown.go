package policy

import (
	"fmt"
	"strings"
)

// Markdown is the table of keys for the documentation.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| key | value | meaning |\n|---|---|---|\n")
	for _, k := range keys {
		name := "`" + k.Path + "`"
		if k.Own {
			name += " *"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, k.Value, k.Help)
	}
	return b.String()
}
