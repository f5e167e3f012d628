package drone

import (
	"slices"
	"strings"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// codes are the codes of a list, each once, in order, joined by blanks.
func codes(list diag.List) string {
	var all []string
	for _, d := range list {
		all = append(all, string(d.Code))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

// report is a list as text, a line for each diagnostic.
func report(list diag.List) string {
	var lines []string
	for _, d := range list.Sorted() {
		lines = append(lines, d.String())
	}
	return strings.Join(lines, "\n")
}
