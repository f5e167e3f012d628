package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"github.com/drone-tekton/drone-runner-tekton/bridge/cluster"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

func newDoctor(s streams) *cobra.Command {
	k := &kubeFlags{}
	var storage workspace.Options
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what a cluster offers to pipelines",
		Long: `Tell what a cluster offers to pipelines: Tekton's version and settings, storage
classes, Pod security and permissions, and what follows from each for runs. The lines named
plan tell where the files of a pipeline would live with the same flags of storage as given
to convert, and why.

The exit status is 1 where builds could not run.`,
		Example: `  # Check the current context
  drone-runner-tekton doctor

  # Check the namespace of the builds
  drone-runner-tekton doctor -n builds

  # See what it takes to let steps run on any node
  drone-runner-tekton doctor --spread --storage-class nfs`,
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
			return reached(examine(cmd.Context(), s, client, namespace, storage), config)
		},
	}
	k.add(cmd.Flags())
	addStorage(cmd.Flags(), &storage)
	cmd.Flags().StringVarP(&k.namespace, "namespace", "n", "", "namespace of the builds (default: the context's)")
	return cmd
}

// examine prints what a cluster offers, as a table. Where builds could not run, the error is errReported.
func examine(ctx context.Context, s streams, client kubernetes.Interface, namespace string, storage workspace.Options) error {
	facts, err := cluster.Read(ctx, client, namespace)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(s.out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "SUBJECT\tFOUND\tVERDICT\tMEANS")
	failed := 0
	for _, f := range facts.Findings(storage) {
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
