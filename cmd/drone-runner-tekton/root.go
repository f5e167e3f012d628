package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// streams are what a command reads and writes: objects go to out, everything else to err.
type streams struct {
	in  io.Reader
	out io.Writer
	err io.Writer
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "drone-runner-tekton",
		Short: "Run Drone pipelines on Tekton",
		Long: `Run Drone pipelines on Tekton.

A pipeline becomes a PipelineRun, every step a task, the workspace and temp volumes
Tekton workspaces. Convert a file once, or run as a runner of a Drone server.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		Version:       version,
		// as many letters may be wrong
		SuggestionsMinimumDistance: 2,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{command: cmd.CommandPath(), err: err}
	})
	root.AddCommand(newConvert(s), newLint(s), newRun(s), newDoctor(s), newDaemon(s), newVersion(s))
	for _, cmd := range root.Commands() {
		addCompletion(cmd)
	}
	groupFlags(root)
	return root
}

// knownCommand is reached with arguments only where the first is no command.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	message := fmt.Sprintf("unknown command %q", args[0])
	if similar := root.SuggestionsFor(args[0]); len(similar) > 0 {
		message += ", did you mean " + strings.Join(similar, " or ") + "?"
	}
	return usageError{command: root.CommandPath(), err: errors.New(message)}
}

// usageArgs turns a check of arguments into a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{command: cmd.CommandPath(), err: err}
		}
		return nil
	}
}
