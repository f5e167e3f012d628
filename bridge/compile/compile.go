// Package compile turns what a Drone server tells of a stage into the objects that run it: it decides whether the stage
// may run here at all, finds its secrets and credentials, and has the pipeline translated. It reads no cluster and
// writes nothing.
package compile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/drone-tekton/drone-runner-tekton/bridge/policy"
	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
	"github.com/drone-tekton/drone-runner-tekton/translate"
	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// Refusal is an error that trying again does not mend: the stage cannot run, and its text tells the user why.
type Refusal struct{ Reason string }

func (r Refusal) Error() string { return r.Reason }

func refuse(format string, args ...any) error { return Refusal{fmt.Sprintf(format, args...)} }

// IsRefusal reports whether an error is a Refusal.
func IsRefusal(err error) bool { return errors.As(err, new(Refusal)) }

// Compiler makes work of stages.
type Compiler struct {
	// Options are what all stages have in common. Name, Namespace and Trusted are set for each.
	Options translate.Options
	Limits  Limits
	Access  Access
	// Defaults are for pipelines that say nothing of their own.
	Defaults Defaults
	// Policies change what a stage gets, the first one that matches.
	Policies policy.Policies
	// Cluster tells what clusters offer; nil leaves it unknown.
	Cluster Cluster
	// Secrets, Registries and Environment find what pipelines need from outside; each may be nil.
	Secrets     Secrets
	Registries  Registries
	Environment Environment
}

// Cluster tells what the cluster offers to runs in a namespace: what the planner of files may rely on, and whether others
// inject sidecars into pods.
type Cluster interface {
	Offers(ctx context.Context, namespace string) (known *workspace.Cluster, injects bool)
}

// Defaults are for pipelines that say nothing of their own.
type Defaults struct {
	NodeSelector map[string]string
	Labels       map[string]string // below the pipeline's own
	Annotations  map[string]string // below the pipeline's own
	Resources    policy.Requirements
}

func (d Defaults) apply(p *drone.Pipeline) {
	if len(p.NodeSelector) == 0 {
		p.NodeSelector = d.NodeSelector
	}
	p.Metadata.Labels = policy.Over(d.Labels, p.Metadata.Labels)
	p.Metadata.Annotations = policy.Over(d.Annotations, p.Metadata.Annotations)
}

// Work is a stage that can run.
type Work struct {
	// Bundle is nil where nothing is to run, which is a success to Drone.
	Bundle *translate.Bundle
	// Namespace and Name of the PipelineRun. All other names begin with it.
	Namespace, Name string
	// Secrets are the Secrets that the bundle refers to.
	Secrets []*corev1.Secret
	// Values are the texts that must not show in logs.
	Values   []string
	Warnings diag.List
}

// Stage compiles a stage. started is the time that counts as its start. A Refusal is the stage's end.
func (c *Compiler) Stage(ctx context.Context, d *rpc.Details, stage *rpc.Stage, started time.Time) (*Work, error) {
	if err := c.Limits.check(d); err != nil {
		return nil, err
	}
	globals, secretGlobals, err := c.globals(ctx, d)
	if err != nil {
		return nil, err
	}
	facts := factsOf(d, stage, started)
	pipeline, documents, warnings, err := parse(d, stage.Name, facts, globals)
	if err != nil {
		return nil, err
	}
	w := &Work{Name: RunName(d, stage)}
	o := c.Options
	o.Environment = maps.Clone(globals)
	o.Name, o.Server, o.Trusted = w.Name, true, d.Repo.Trusted
	o.SecretName = w.Name + "-secrets"
	if d.Netrc != nil && d.Netrc.Password != "" {
		o.Netrc = w.Name + "-netrc"
	}
	chosen := c.Policies.Find(facts)
	if err := c.Access.check(pipeline, d.Repo, chosen, o.Namespace); err != nil {
		return nil, err
	}
	w.Warnings = append(warnings, dropReserved(pipeline)...)
	c.Defaults.apply(pipeline)
	chosen.Apply(pipeline, &o)
	o.Namespace = pick(pipeline.Metadata.Namespace, o.Namespace)
	if c.Cluster != nil {
		o.Cluster, o.InjectedSidecars = c.Cluster.Offers(ctx, o.Namespace)
	}
	bundle, list := translate.Pipeline(pipeline, facts, o)
	w.Warnings = append(w.Warnings, list...)
	if err := list.Err(); err != nil {
		return nil, Refusal{err.Error()}
	}
	w.Bundle, w.Namespace = bundle, o.Namespace
	if bundle == nil {
		return w, nil
	}
	resources := c.Defaults.Resources
	if chosen != nil {
		resources = resources.Over(chosen.Resources)
	}
	resources.Apply(bundle)
	chosen.Mark(bundle.PipelineRun.Annotations)
	finder := &finder{chain: c.Secrets, details: d, documents: documents}
	if err := w.addSecrets(ctx, finder, d.Netrc, o); err != nil {
		return nil, err
	}
	w.Values = append(w.Values, secretGlobals...)
	return w, w.addPullSecret(ctx, finder, c.Registries, d)
}

// dropReserved takes labels and annotations from a pipeline that are the runner's own: they say which runs have ended, and
// how long they stay.
func dropReserved(p *drone.Pipeline) diag.List {
	var list diag.List
	for key, names := range map[string]map[string]string{"labels": p.Metadata.Labels, "annotations": p.Metadata.Annotations} {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if !strings.HasPrefix(name, policy.Reserved) {
				continue
			}
			delete(names, name)
			list.Warnf(p.At("metadata."+key), codeReserved, "%s among the %s is one of the runner's own, and is left out", name, key)
		}
	}
	return list
}

// codeReserved is a name that only the runner may use.
const codeReserved diag.Code = "reserved-name"

func pick(first, second string) string {
	if first != "" {
		return first
	}
	return second
}

// globals are the variables of the runner, and of its extension, with those that must not show.
func (c *Compiler) globals(ctx context.Context, d *rpc.Details) (vars map[string]string, hidden []string, err error) {
	vars = maps.Clone(c.Options.Environment)
	if vars == nil {
		vars = map[string]string{}
	}
	if c.Environment == nil {
		return vars, nil, nil
	}
	list, err := c.Environment.List(ctx, d.Repo, d.Build)
	if err != nil {
		return nil, nil, fmt.Errorf("asking the environment extension: %w", err)
	}
	for _, v := range list {
		vars[v.Name] = v.Data
		if v.Mask {
			hidden = append(hidden, v.Data)
		}
	}
	return vars, hidden, nil
}

func factsOf(d *rpc.Details, stage *rpc.Stage, started time.Time) translate.Facts {
	f := translate.Facts{Repo: *d.Repo, Build: *d.Build, Stage: stage.Stage, Now: started.Unix()}
	if d.System != nil {
		f.System = *d.System
	}
	f.Stage.Started = started.Unix()
	return f
}

// parse reads the configuration file and finds the stage's pipeline in it. To Drone, a pipeline without a name is called
// default.
func parse(d *rpc.Details, name string, f translate.Facts, globals map[string]string) (*drone.Pipeline, []*drone.Secret, diag.List, error) {
	file := pick(d.Repo.Config, ".drone.yml")
	vars := maps.Clone(globals)
	maps.Copy(vars, f.Substitutions())
	text, diags := drone.Substitute(file, d.Config.Data, vars)
	if err := diags.Err(); err != nil {
		return nil, nil, nil, Refusal{err.Error()}
	}
	m, list := drone.Parse(file, text)
	diags = append(diags, list...)
	if err := list.Err(); err != nil {
		return nil, nil, nil, Refusal{err.Error()}
	}
	for _, p := range m.Pipelines {
		if p.DisplayName() == pick(name, "default") {
			return p, m.Secrets, diags, nil
		}
	}
	return nil, nil, nil, refuse("%s: there is no pipeline %q in the file", file, name)
}
