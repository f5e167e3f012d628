package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/drone-tekton/drone-runner-tekton/bridge/policy"
	"github.com/drone-tekton/drone-runner-tekton/translate"
	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

func newLint(s streams) *cobra.Command {
	c := &conversion{}
	var policies []string
	cmd := &cobra.Command{
		Use:   "lint [FILE...]",
		Short: "Check Drone pipelines, and tell what would not carry over",
		Long: `Check Drone pipelines, and tell what would not carry over.

All pipelines of each file are converted, whatever their trigger, and only the
diagnostics are printed, on standard error. The exit status is 1 where one is an error.

With --policy, a file of the runner's policies is checked as the runner does at its start,
and pipelines only where a FILE is named.`,
		Example: `  # Check the file of the checkout you are in
  drone-runner-tekton lint

  # Check many, for a script
  drone-runner-tekton lint --trusted --diagnostics json */.drone.yml

  # Check the runner's policies before they are rolled out
  drone-runner-tekton lint --policy policies.yml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args)+len(policies) == 0 {
				args = []string{defaultFile}
			}
			var diags diag.List
			bad, badPolicies := 0, 0
			for _, file := range policies {
				list := lintPolicies(s, file)
				if c.fails(list) {
					badPolicies++
				}
				diags = append(diags, list...)
			}
			for _, file := range args {
				list, err := c.lint(cmd, s, file)
				if err != nil {
					list.Errorf(diag.Position{File: file}, codeUnreadable, "%v", err)
				}
				if c.fails(list) {
					bad++
				}
				diags = append(diags, list...)
			}
			if err := report(s.err, diags, c.diagnostics); err != nil {
				return err
			}
			if c.diagnostics == "text" {
				if len(policies) > 0 {
					fmt.Fprintf(s.err, "%d of %d files of policies can be used\n", len(policies)-badPolicies, len(policies))
				}
				if len(args) > 0 {
					fmt.Fprintf(s.err, "%d of %d files can be converted\n", len(args)-bad, len(args))
				}
			}
			if bad+badPolicies > 0 {
				return errReported
			}
			return nil
		},
	}
	c.add(cmd.Flags())
	cmd.Flags().StringArrayVar(&policies, "policy", nil, "file of the runner's policies to check")
	return cmd
}

// codeUnreadable is a file that cannot be opened or read.
const codeUnreadable diag.Code = "unreadable"

// lintPolicies checks a file of policies.
func lintPolicies(s streams, file string) diag.List {
	text, err := readSource(file, s.in)
	if err != nil {
		var list diag.List
		list.Errorf(diag.Position{File: file}, codeUnreadable, "%v", err)
		return list
	}
	_, list := policy.Parse(file, text)
	return list
}

// lint converts all pipelines of a file for their diagnostics.
func (c *conversion) lint(cmd *cobra.Command, s streams, file string) (diag.List, error) {
	text, err := readSource(file, s.in)
	if err != nil {
		return nil, err
	}
	facts, err := c.facts.facts(cmd.Context(), folderOf(file))
	if err != nil {
		return nil, err
	}
	m, diags := parseSource(cmd.Context(), file, text, facts)
	if diags.HasErrors() {
		return diags, nil
	}
	diags = append(diags, translate.ExplainSecrets(m)...)
	for _, p := range m.Pipelines {
		if c.pipeline != "" && p.DisplayName() != c.pipeline {
			continue
		}
		_, list := translate.Pipeline(p, facts, c.options)
		for _, d := range list {
			if d.Code != translate.CodeNoSource { // This is about where lint runs, not about the file.
				diags.Add(d)
			}
		}
	}
	return diags, nil
}
