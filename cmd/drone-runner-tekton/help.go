package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// groupOf is the annotation of a flag that names the part of the help it is listed in.
const groupOf = "group"

// group lists the flags that add adds under a heading of the help, in the order in which they are added.
func group(flags *pflag.FlagSet, heading string, add func(*pflag.FlagSet)) {
	flags.SortFlags = false
	known := map[string]bool{}
	flags.VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
	add(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		if !known[f.Name] {
			f.Annotations = map[string][]string{groupOf: {heading}}
		}
	})
}

// flagUsages are the flags of a command by their groups, the others last.
func flagUsages(flags *pflag.FlagSet) string {
	groups := map[string]*pflag.FlagSet{}
	var headings []string
	flags.VisitAll(func(f *pflag.Flag) {
		heading := strings.Join(f.Annotations[groupOf], "")
		if groups[heading] == nil {
			groups[heading] = pflag.NewFlagSet(heading, pflag.ContinueOnError)
			groups[heading].SortFlags = false
			if heading != "" {
				headings = append(headings, heading)
			}
		}
		groups[heading].AddFlag(f)
	})
	var parts []string
	for _, heading := range append(headings, "") {
		if g := groups[heading]; g != nil {
			parts = append(parts, strings.TrimSpace(heading+" Flags")+":\n"+strings.TrimRight(g.FlagUsages(), "\n"))
		}
	}
	return strings.Join(parts, "\n\n")
}

// groupFlags makes the help of a command and of those below it list flags by groups.
func groupFlags(root *cobra.Command) {
	cobra.AddTemplateFunc("flagUsages", flagUsages)
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(),
		"Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}", "{{flagUsages .LocalFlags}}", 1))
}
