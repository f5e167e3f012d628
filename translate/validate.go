package translate

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/tektoncd/pipeline/pkg/apis/config"
	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// maxRunSize is the largest PipelineRun in JSON, in bytes. etcd takes 1.5 MiB in one object, and Tekton stores the
// specification twice, in spec and in status.
const maxRunSize = 700 << 10

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
	}
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
