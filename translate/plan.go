package translate

import (
	"math/big"
	"slices"
	"time"

	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// Plan is a pipeline for one build, still in Drone's terms: the steps that exist in this build, numbered as Drone's
// server numbers them, with what they wait for and when they run.
type Plan struct {
	Pipeline *drone.Pipeline
	Facts    Facts
	Steps    []*Step
	// Source is where the source lies and where steps start.
	Source SourcePath
	// Timeout is how long the pipeline may run.
	Timeout time.Duration
}

// Step is one step, detached step or service of a plan.
type Step struct {
	// Number counts from 1 over clone, services and steps, without those that the build's facts exclude.
	Number int
	// ID is a DNS-1123 label of at most 50 characters, unique in the plan: the name of what the step becomes.
	ID string
	// Name is the step's name as written.
	Name   string
	Policy Policy
	// IgnoreFailure is a step whose failure the pipeline does not take for its own.
	IgnoreFailure bool
	// FailFast is a step whose failure ends the pipeline at once. Only a runner can do that.
	FailFast bool
	// Detached is a step that others do not wait for, and that ends with the pipeline. Services are detached.
	Detached bool
	Service  bool
	// Clone is the step that fetches the source.
	Clone bool
	// Needs are the steps that it waits for, in the plan's order.
	Needs []*Step
	// Spec is the step as written; for clone it is made up.
	Spec *drone.Step

	index  int     // its place in the plan
	before big.Int // the steps that it waits for, directly or not, as bits by index
}

// SourcePath is where the source lies in every step.
type SourcePath struct {
	// Mount is where the volume is mounted; Full, in it or equal to it, is the source's folder and the steps' working
	// directory.
	Mount, Full string
	// Base and Path are what Drone's docker runner tells in DRONE_WORKSPACE_BASE and _PATH. Path is relative to Base.
	Base, Path string
}

// plan decides all of a pipeline that depends on the build's facts. The pipeline has passed the linter.
func plan(p *drone.Pipeline, f Facts, o Options) *Plan {
	pl := &Plan{Pipeline: p, Facts: f, Source: sourcePath(p), Timeout: o.timeout(f)}
	all := assemble(p, f, o)
	wireNeeds(all, dependencies(p))
	findBefore(all)

	exists := func(s *Step) bool { return s.Policy != Never }
	needs := map[*Step][]*Step{}
	for _, s := range all {
		needs[s] = nearest(s, exists)
	}
	ids := newNames(maxTaskName, helperNames(len(all))...)
	for _, s := range all {
		if !exists(s) {
			continue
		}
		s.Needs = needs[s]
		s.index = len(pl.Steps)
		s.Number = s.index + 1
		s.ID = ids.unique(s.Name)
		pl.Steps = append(pl.Steps, s)
	}
	findBefore(pl.Steps)
	return pl
}

// assemble is Drone's list of a pipeline's entries: clone unless disabled, then services, then steps.
func assemble(p *drone.Pipeline, f Facts, o Options) []*Step {
	var all []*Step
	add := func(s *Step) {
		s.index = len(all)
		all = append(all, s)
	}
	if !p.Clone.Disable {
		add(&Step{Name: drone.CloneName, Policy: OnSuccess, Clone: true, Spec: cloneStep(p, o)})
	}
	for _, spec := range p.Services {
		add(&Step{Name: spec.Name, Policy: policyOf(spec.When, f), Detached: true, Service: true, Spec: spec})
	}
	for _, spec := range p.Steps {
		add(&Step{
			Name: spec.Name, Policy: policyOf(spec.When, f), Detached: spec.Detach, Spec: spec,
			IgnoreFailure: spec.Failure == "ignore",
			FailFast:      slices.Contains([]string{"fast", "fast-fail", "fail-fast"}, spec.Failure),
		})
	}
	return all
}

func wireNeeds(all []*Step, needs map[string][]string) {
	byName := map[string]*Step{}
	for _, s := range all {
		byName[s.Name] = s
	}
	for _, s := range all {
		for _, name := range needs[s.Name] {
			if n := byName[name]; n != nil {
				s.Needs = append(s.Needs, n)
			}
		}
	}
}

// Step finds a step by its name as written.
func (p *Plan) Step(name string) *Step {
	for _, s := range p.Steps {
		if s.Name == name {
			return s
		}
	}
	return nil
}
