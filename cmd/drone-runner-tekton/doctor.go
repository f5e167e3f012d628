package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"github.com/drone-tekton/drone-runner-tekton/bridge/cluster"
)

func newDoctor(s streams) *cobra.Command {
	k := &kubeFlags{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what a cluster offers to pipelines",
		Long: `Tell what a cluster offers to pipelines: Tekton's version and settings, storage
classes, Pod security and permissions, and what follows from each for runs.

The exit status is 1 where builds could not run.`,
		Example: `  # Check the current context
  drone-runner-tekton doctor

  # Check the namespace of the builds
  drone-runner-tekton doctor -n builds`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, namespace, err := k.config()
			if err != nil {
				return err
			}
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return err
			}
			facts, err := cluster.Read(cmd.Context(), client, namespace)
			if err != nil {
				return err
			}
			return printFindings(s, facts.Findings())
		},
	}
	k.add(cmd.Flags())
	cmd.Flags().StringVarP(&k.namespace, "namespace", "n", "", "namespace of the builds (default: the context's)")
	return cmd
}

func printFindings(s streams, findings []cluster.Finding) error {
	w := tabwriter.NewWriter(s.out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "SUBJECT\tFOUND\tVERDICT\tMEANS")
	failed := 0
	for _, f := range findings {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.Subject, f.Found, f.Verdict, f.Means)
		if f.Verdict == cluster.Fails {
			failed++
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if failed > 0 {
		fmt.Fprintf(s.err, "builds cannot run: %d of the above fail\n", failed)
		return errReported
	}
	return nil
}
