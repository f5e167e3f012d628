package config

import (
	"fmt"
	"strings"
)

// Markdown is the page about the variables.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Configuration of the runner

` + "`drone-runner-tekton daemon`" + ` reads variables, those of Drone's kubernetes runner and some of its own, from its environment and
from a file that is named as its argument. This page is made from the code.

| variable | default | meaning |
|---|---|---|
`)
	for _, v := range variables {
		if !v.Supported() {
			continue
		}
		value := v.Default
		if v.Required {
			value = "required"
		}
		name := "`" + v.Name + "`"
		if v.Own {
			name += " *"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, value, escape(v.Help))
	}
	b.WriteString(`
\* not a variable of Drone's kubernetes runner.

The variables http_proxy, https_proxy and no_proxy, in either case, reach every step. A variable of Drone's that is not
listed here or below is told in the runner's log, and has no effect.

## Refused at start

| variable | what replaces it |
|---|---|
`)
	for _, v := range variables {
		if v.Instead != "" {
			fmt.Fprintf(&b, "| `%s` | %s |\n", v.Name, escape(v.Instead))
		}
	}
	b.WriteString(`
## Without effect

| variable | why none is needed |
|---|---|
`)
	for _, v := range variables {
		if !v.Supported() && v.Instead == "" {
			fmt.Fprintf(&b, "| `%s` | %s |\n", v.Name, escape(v.Help))
		}
	}
	return b.String()
}

func escape(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
