package drone

import (
	"fmt"
	"slices"
	"strings"
)

// graph warns of steps that start at once because another step has depends_on. One depends_on anywhere ends the serial
// order of a pipeline: from then on, a step without depends_on waits for the clone only.
func (l *linter) graph() {
	steps := l.pipeline.Steps
	first := slices.IndexFunc(steps, func(s *Step) bool { return len(s.DependsOn) > 0 })
	if first < 0 {
		return
	}
	var names []string
	at := steps[first]
	for i, s := range steps {
		if i > 0 && len(s.DependsOn) == 0 && !s.Detach {
			if len(names) == 0 {
				at = s
			}
			names = append(names, fmt.Sprintf("%q", s.Name))
		}
	}
	if len(names) > 0 {
		l.warnf(at.At("name"), CodeGraph, "give each step the depends_on that it needs",
			"because %q has depends_on, the order of the file does not count, and steps without depends_on start at once: %s",
			steps[first].Name, strings.Join(names, ", "))
	}
}
