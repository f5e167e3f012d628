package translate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/tektoncd/pipeline/pkg/apis/config"
	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// maxRunSize is the largest PipelineRun in JSON, in bytes. etcd takes 1.5 MiB in one object, and Tekton stores the
// specification twice, in spec and in status.
const maxRunSize = 700 << 10

// maxPodSize is the largest pod in bytes: etcd takes 1.5 MiB. A pod that grows beyond that when the kubelet adds the state of
// its containers runs, and nobody learns of it.
const maxPodSize = 1500 << 10

// maxSteps is more than fit into a run of that size, however small they are.
const maxSteps = 2000

// validate checks the run as Tekton's admission would. Tekton's own webhook does the same again when the run is created.
func validate(p *Plan, run *v1.PipelineRun, diags *diag.List) {
	err := refusal(outline(run))
	if err != nil { // Once more with everything that the message may speak of.
		err = refusal(run.DeepCopy())
	}
	if err != nil {
		diags.Errorf(p.Pipeline.At(""), CodeInvalid, "Tekton would refuse the PipelineRun: %v", err)
	}
	size, err := json.Marshal(run)
	if err != nil {
		diags.Errorf(p.Pipeline.At(""), CodeInvalid, "the PipelineRun cannot be encoded: %v", err)
		return
	}
	if len(size) > maxRunSize {
		diags.Add(diag.Diagnostic{
			Severity: diag.Error, Code: CodeTooLarge, Position: p.Pipeline.At(""),
			Message: fmt.Sprintf("the PipelineRun is %d KiB, more than the %d KiB that a cluster can store twice", len(size)>>10, maxRunSize>>10),
			Hint:    "move long commands into scripts of the repository, or split the pipeline",
		})
		return
	}
	for _, t := range slices.Concat(run.Spec.PipelineSpec.Tasks, run.Spec.PipelineSpec.Finally) {
		if n := len(t.TaskSpec.Steps) + len(t.TaskSpec.Sidecars); n > 1 && podSize(run, len(size), n) > maxPodSize {
			diags.Add(diag.Diagnostic{
				Severity: diag.Error, Code: CodeTooLarge, Position: p.Pipeline.At(""),
				Message: fmt.Sprintf("the pod of %s would have %d containers, which is too much for a cluster to store", t.DisplayName, n),
				Hint:    "give each step a pod of its own with --layout=steps, or split the pipeline",
			})
		}
	}
}

// podSize is about how large the pod of a task with n containers becomes, in bytes: what the run says, the common variables
// in each container, and in each the folders of all of them, which Tekton mounts there and the kubelet tells as mounted.
// Pods of one line a step, measured in Kubernetes 1.34: 1.43 MB with 105 steps, and too large with 112.
func podSize(run *v1.PipelineRun, size, n int) int {
	const perMount, perContainer = 105, 700
	variables := 0
	for _, v := range run.Spec.TaskRunTemplate.PodTemplate.Env {
		variables += len(`{"name":"","value":""},`) + len(v.Name) + len(v.Value)
	}
	return size + n*(variables+perContainer) + n*n*perMount
}

// refusal is what Tekton's admission has against a run: defaulted, then validated, with the feature flags of a default
// installation. The run is changed.
func refusal(run *v1.PipelineRun) error {
	if run.Name == "" { // The webhook sees the name that Kubernetes makes of generateName.
		run.Name = run.GenerateName + "xxxxx"
	}
	run.SetDefaults(tektonContext())
	if err := run.Validate(tektonContext()); err != nil {
		return err
	}
	return nil
}

// tektonContext holds the configuration of a default installation of Tekton.
var tektonContext = sync.OnceValue(func() context.Context {
	flags, err := config.NewFeatureFlagsFromMap(map[string]string{})
	if err != nil {
		panic(err) // the empty map is Tekton's default
	}
	defaults, err := config.NewDefaultsFromMap(map[string]string{})
	if err != nil {
		panic(err)
	}
	return config.ToContext(context.Background(), &config.Config{FeatureFlags: flags, Defaults: defaults})
})
