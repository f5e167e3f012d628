package main

import (
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// addCompletion lets a shell complete what can be known of a command's flags and arguments.
func addCompletion(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		complete := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveNoFileComp)
		value, isChoice := f.Value.(interface{ words() []string })
		switch {
		case isChoice:
			complete = cobra.FixedCompletions(value.words(), cobra.ShellCompDirectiveNoFileComp)
		case f.Name == "pipeline":
			complete = pipelineNames
		case f.Name == "env-file", f.Name == "kubeconfig", f.Name == "policy":
			return // the shell's own completion of files
		case f.Name == "output-dir":
			complete = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // fails for a flag that is none, or that has one
	})
	switch cmd.Name() {
	case "convert", "lint", "run":
		cmd.ValidArgsFunction = cobra.FixedCompletions(
			[]string{"yml", "yaml", "star", "starlark", "script", "jsonnet"}, cobra.ShellCompDirectiveFilterFileExt)
	case "doctor", "version":
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
}

// pipelineNames are the names of the pipelines in the file of a command line that is being written.
func pipelineNames(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	file, err := sourceOf(args, eof{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	m, list := drone.Parse(file.name, file.text)
	if !list.HasErrors() {
		for _, p := range m.Pipelines {
			names = append(names, p.DisplayName())
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// eof is an empty input: a completion must not wait for the terminal.
type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
