// Package translate turns Drone pipelines into Tekton PipelineRuns. It is pure: no cluster, no network, no clock, no
// environment. The same input gives the same output, byte for byte.
//
// The way through it: drone.Parse reads a file, plan decides all that depends on the build's facts and stays in Drone's
// terms, lower makes objects of that, and validate asks Tekton's own code whether it would take them.
package translate

import (
	"fmt"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// Pipeline translates one pipeline for one build. The bundle is nil where the diagnostics hold an error, and where there
// is nothing to run: no step matches the build, or the pipeline is for machines that Tekton does not have. A warning says
// so then.
func Pipeline(p *drone.Pipeline, f Facts, o Options) (*Bundle, diag.List) {
	o = o.withDefaults()
	f = f.forStage(p)
	if n := len(p.Services) + len(p.Steps); n > maxSteps {
		return nil, diag.List{{
			Severity: diag.Error, Code: CodeTooLarge, Position: p.At(""),
			Message: fmt.Sprintf("the pipeline %s has %d steps, more than a PipelineRun can hold", p.DisplayName(), n), Hint: "split it",
		}}
	}
	diags := lint(p, o)
	if diags.HasErrors() {
		return nil, diags
	}
	if p.Platform.OS != "" && p.Platform.OS != "linux" {
		diags.Add(diag.Diagnostic{
			Severity: diag.Warning, Code: CodePlatform, Position: p.At("platform.os"),
			Message: fmt.Sprintf("the pipeline %s is left out: it is for %s, and scripts and paths are made for linux", p.DisplayName(), p.Platform.OS),
			Hint:    "keep a Drone runner for it",
		})
		return nil, diags
	}
	b := lower(plan(p, f, o), o, &diags)
	if b == nil || diags.HasErrors() {
		return nil, diags
	}
	validate(b.Plan, b.PipelineRun, &diags)
	if diags.HasErrors() {
		return nil, diags
	}
	return b, diags
}

// lint checks a pipeline by Drone's rules. Without a Drone server, whoever converts says whether the repository is trusted.
func lint(p *drone.Pipeline, o Options) diag.List {
	diags := drone.Lint(p, o.Trusted)
	for i := range diags {
		if diags[i].Code == drone.CodeUntrusted && !o.Server {
			diags[i].Hint = "pass --trusted if the repository is trusted in Drone"
		}
	}
	return diags
}

// forStage fills what Drone's server would know of the pipeline, where the facts do not say.
func (f Facts) forStage(p *drone.Pipeline) Facts {
	if f.Stage.Name == "" {
		f.Stage.Name = p.DisplayName()
		f.Stage.Kind, f.Stage.Type = p.Kind, p.Type
		f.Stage.OS, f.Stage.Arch, f.Stage.Variant = p.Platform.OS, p.Platform.Arch, p.Platform.Variant
		f.Stage.DependsOn = p.DependsOn
	}
	if f.Stage.Type == "" {
		f.Stage.Type = drone.TypeDocker
	}
	if f.Stage.OS == "" {
		f.Stage.OS = "linux"
	}
	if f.Stage.Arch == "" {
		f.Stage.Arch = "amd64"
	}
	return f
}
