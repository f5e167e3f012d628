package main

import (
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// addStorage adds the flags that say where files live.
func addStorage(flags *pflag.FlagSet, w *workspace.Options) {
	*w = w.Defaults()
	w.AccessMode = "" // depends on --spread
	flags.StringVar(&w.StorageClass, "storage-class", "", "storage class of claims (default: the cluster's)")
	flags.Var(choice[corev1.PersistentVolumeAccessMode]{&w.AccessMode, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteMany}},
		"access-mode", "access mode of claims: ReadWriteOnce or ReadWriteMany")
	flags.Var(quantity{&w.Size}, "volume-size", "size of claims")
	flags.Var(choice[workspace.Layout]{&w.Layout, []workspace.Layout{workspace.Steps, workspace.Chains, workspace.Pod}}, "layout",
		"how steps share pods: steps (a pod each), chains (a pod for steps in a row), pod (one for all, without a claim)")
	flags.Var(choice[workspace.Claims]{&w.Claims, []workspace.Claims{workspace.Shared, workspace.PerVolume}}, "claims",
		"how volumes share claims: shared or per-volume")
	flags.StringVar(&w.Existing, "claim", "", "existing claim to use instead of making one")
	flags.BoolVar(&w.Spread, "spread", false, "let steps run on any node; claims are ReadWriteMany then")
}
