package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker for releases.
var version = "development"

func newVersion(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintf(s.out, "drone-runner-tekton %s\n", version)
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, m := range info.Deps {
					if m.Path == "github.com/tektoncd/pipeline" {
						fmt.Fprintf(s.out, "validates as Tekton Pipelines %s\n", m.Version)
					}
				}
			}
			return nil
		},
	}
}
