package translate

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	api "github.com/drone/drone-go/drone"
	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"pgregory.net/rapid"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
	"github.com/drone-tekton/drone-runner-tekton/translate/testmodel"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// generatedPipelines is how many pipelines the comparison with Drone's scheduler takes; with -short a tenth of it.
const generatedPipelines = 10_000

var layouts = []workspace.Layout{workspace.Steps, workspace.Chains, workspace.Pod}

// TestGeneratedPipelinesRunAsInDrone translates generated pipelines in each layout, plays what comes out by Tekton's
// rules, and compares each step with what Drone's scheduler does on the same durations and exit codes: whether it
// runs, when, in which order, what it is told of the state of the build, and how the whole ends. Only the differences
// that have a name may be there. They are counted.
func TestGeneratedPipelinesRunAsInDrone(t *testing.T) {
	var counts tally
	checkScenarios(t, generatedPipelines, func(t *rapid.T) {
		sc := generate(t)
		counts.pipelines++
		p, err := sc.parse()
		if err != nil {
			t.Fatalf("%v\n%s", err, sc.yaml())
		}
		for _, layout := range layouts {
			c, err := compare(sc, p, layout)
			var found map[string][]difference
			if err == nil {
				found, err = c.differences()
			}
			if err != nil {
				t.Fatalf("layout %s: %v\n%s\n%s", layout, err, sc.yaml(), c)
			}
			counts.add(c, found)
		}
	})
	t.Logf("%d pipelines\n%s", counts.pipelines, counts.table())
}

// checkScenarios runs a property on so many scenarios, and prints the seed that repeats them. The flags -rapid.checks
// and -rapid.seed choose others.
func checkScenarios(t *testing.T, scenarios int, property func(*rapid.T)) {
	t.Helper()
	given := givenFlags()
	set := func(name, value string) {
		if given[name] {
			return
		}
		old := flag.Lookup(name).Value.String()
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := flag.Set(name, old); err != nil {
				t.Error(err)
			}
		})
	}
	if testing.Short() {
		scenarios /= 2 // and rapid takes a fifth of that
	}
	set("rapid.checks", strconv.Itoa(scenarios))
	set("rapid.nofailfile", "true")
	set("rapid.seed", strconv.FormatUint(rand.Uint64N(1<<40)+1, 10))
	t.Logf("to repeat: go test -run '^%s$' -rapid.seed=%s", t.Name(), flag.Lookup("rapid.seed").Value)
	rapid.Check(t, property)
}

// givenFlags are the flags of the command line. Setting one in a test makes it look like them, hence the once.
var givenFlags = sync.OnceValue(func() map[string]bool {
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return given
})

// comparison is a scenario in one layout, in Drone and in Tekton.
type comparison struct {
	layout workspace.Layout
	pipe   testmodel.Pipeline
	// drone is what Drone does; expected is that, but for the differences that the layout is known to make.
	drone, expected testmodel.History
	bundle          *Bundle
	tekton          testmodel.TektonRun
	runs            map[string][]unitRun // by the step's name
	launched        map[string]int64     // starts of detached steps, by ID
	unknown         []string             // containers that are neither a unit nor a helper
}

// unitRun is a container that ran a step.
type unitRun struct {
	unit Unit
	testmodel.StepRun
}

// compare finds the first difference between Drone and Tekton that has no name.
func compare(sc scenario, p *drone.Pipeline, layout workspace.Layout) (*comparison, error) {
	if layout != workspace.Steps {
		sc = sc.startable()
	}
	c, err := play(sc, p, layout)
	switch {
	case err != nil:
		return c, err
	case c.bundle == nil:
		return c, c.checkNothingRuns()
	}
	c.expected = c.pipe.Play(c.deviations(sc))
	for _, check := range []func(scenario) error{
		c.checkUnits, c.checkPlan, c.checkResult, c.checkOutcomes, c.checkOrder, c.checkState,
	} {
		if err := check(sc); err != nil {
			return c, err
		}
	}
	return c, nil
}

// translate is Pipeline, which takes most of its time to ask Tekton whether it would take the result. So only some
// pipelines go that way, and the others without that question.
func (c *comparison) translate(p *drone.Pipeline, validated bool) (*Bundle, diag.List) {
	o := Options{Workspace: workspace.Options{Layout: c.layout}}
	if validated {
		return Pipeline(p, modelFacts, o)
	}
	o = o.withDefaults()
	var diags diag.List
	return lower(plan(p, modelFacts.forStage(p), o), o, &diags), diags
}

// play runs a scenario in Drone and, if there is anything to run, in Tekton.
func play(sc scenario, p *drone.Pipeline, layout workspace.Layout) (*comparison, error) {
	c := &comparison{layout: layout, pipe: sc.pipeline(), runs: map[string][]unitRun{}, launched: map[string]int64{}}
	c.drone = c.pipe.Play(testmodel.Deviations{})
	var diags diag.List
	c.bundle, diags = c.translate(p, sc.validated)
	if diags.HasErrors() {
		return c, fmt.Errorf("translating: %v", diags)
	}
	if c.bundle == nil {
		return c, nil
	}
	var err error
	c.tekton, err = testmodel.RunPipeline(c.bundle.PipelineRun,
		func(k testmodel.Container) testmodel.Exit { return c.execute(sc, k) })
	return c, err
}

var modelFacts = Facts{
	Repo:  api.Repo{Name: "model", Slug: "octocat/model", HTTPURL: "https://git.example.com/octocat/model.git"},
	Build: api.Build{Number: 1, Event: api.EventPush, Target: "main", Ref: "refs/heads/main"},
}

// deviations are what the layout is known to do otherwise.
func (c *comparison) deviations(sc scenario) testmodel.Deviations {
	d := testmodel.Deviations{
		HandlersLast: c.layout != workspace.Pod, OneByOne: c.layout == workspace.Pod,
		NamesBroken: true, Follows: c.follows(), AtOnce: map[string]bool{}, NotWhenFailing: map[string]bool{},
	}
	handlers := slices.ContainsFunc(c.drone.Runs, func(r testmodel.Run) bool {
		return !r.Step.Detached && (r.Step.Policy == testmodel.OnFailure || r.Step.Policy == testmodel.Always)
	})
	for _, r := range c.drone.Runs {
		if !r.Step.Detached {
			continue
		}
		s := sc.step(r.Step.Name)
		service := slices.ContainsFunc(sc.services, func(s scenarioStep) bool { return s.Name == r.Step.Name })
		waits := s.body != plugin || !service && c.layout != workspace.Pod
		d.AtOnce[s.Name] = !waits && s.Policy != testmodel.OnFailure
		d.NotWhenFailing[s.Name] = s.Policy == testmodel.OnFailure || c.layout != workspace.Pod || !handlers
	}
	return d
}

// follows are the steps that share a task with the one before them, in the main graph.
func (c *comparison) follows() map[string]string {
	if c.layout != workspace.Chains {
		return nil
	}
	last := map[string]string{} // step by task
	follows := map[string]string{}
	for _, u := range c.bundle.Units {
		if u.Task == "" || u.Failing {
			continue
		}
		if before, ok := last[u.Task]; ok {
			follows[u.Step.Name] = before
		}
		last[u.Task] = u.Step.Name
	}
	return follows
}

// execute plays a container: one of the steps, or a helper of the translation.
func (c *comparison) execute(sc scenario, k testmodel.Container) testmodel.Exit {
	if exit, ok := helper(k, c.launched); ok {
		return exit
	}
	i := slices.IndexFunc(c.bundle.Units, func(u Unit) bool { return u.Task == k.Task && u.Container == k.Step.Name })
	if i < 0 {
		c.unknown = append(c.unknown, k.Task+"/"+k.Step.Name)
		return testmodel.Exit{}
	}
	s := c.bundle.Units[i].Step
	does := sc.step(s.Name).Step
	exit := testmodel.Exit{Code: does.Exit, Broken: does.Broken, Duration: does.Duration}
	run := testmodel.StepRun{Container: k, Exit: exit, End: k.Start + does.Duration}
	c.runs[s.Name] = append(c.runs[s.Name], unitRun{c.bundle.Units[i], run})
	return exit
}

// checkNothingRuns allows no bundle where Drone runs no step but detached ones.
func (c *comparison) checkNothingRuns() error {
	for _, r := range c.drone.Runs {
		if r.Outcome == testmodel.Ran && !r.Step.Detached {
			return fmt.Errorf("nothing was translated, and Drone runs %q", r.Step.Name)
		}
	}
	if c.drone.Failed {
		return fmt.Errorf("nothing was translated, and Drone fails")
	}
	return nil
}

// checkUnits checks that the bundle's units are what is in the run, and where they say.
func (c *comparison) checkUnits(scenario) error {
	if len(c.unknown) > 0 {
		return fmt.Errorf("containers that no unit has: %v", c.unknown)
	}
	spec := c.bundle.PipelineRun.Spec.PipelineSpec
	there := map[[2]string]bool{} // by task, or name of a Pod, and container
	for _, t := range slices.Concat(spec.Tasks, []v1.PipelineTask(spec.Finally)) {
		for _, s := range t.TaskSpec.Steps {
			there[[2]string{t.Name, s.Name}] = true
		}
		for _, s := range t.TaskSpec.Sidecars {
			there[[2]string{t.Name, s.Name}] = true
		}
	}
	for _, p := range c.bundle.Pods {
		for _, s := range p.Spec.Containers {
			there[[2]string{p.Name, s.Name}] = true
		}
	}
	for _, u := range c.bundle.Units {
		if !there[[2]string{u.Task + u.Pod, u.Container}] {
			return fmt.Errorf("nothing runs the unit %+v of %q", u, u.Step.Name)
		}
	}
	return nil
}

// checkPlan compares which steps there are, and their numbers.
func (c *comparison) checkPlan(scenario) error {
	number := 0
	for _, r := range c.drone.Runs {
		s := c.bundle.Plan.Step(r.Step.Name)
		if r.Outcome == testmodel.Absent {
			if s != nil {
				return fmt.Errorf("%q is there, and not in Drone", r.Step.Name)
			}
			continue
		}
		number++
		if s == nil || s.Number != number {
			return fmt.Errorf("%q is %+v, want number %d", r.Step.Name, s, number)
		}
	}
	return nil
}

// checkResult compares how the whole ended.
func (c *comparison) checkResult(scenario) error {
	if c.tekton.Succeeded == c.drone.Failed {
		return fmt.Errorf("the PipelineRun succeeded: %v, Drone's stage failed: %v", c.tekton.Succeeded, c.drone.Failed)
	}
	if c.expected.Failed != c.drone.Failed {
		return fmt.Errorf("with its deviations, the model itself ends otherwise: failed %v and %v", c.expected.Failed,
			c.drone.Failed)
	}
	return nil
}

// checkOutcomes compares which steps ran, and when those did that did not wait for the end.
func (c *comparison) checkOutcomes(scenario) error {
	for _, r := range c.expected.Runs {
		if r.Step.Detached {
			if err := c.checkDetached(r); err != nil {
				return err
			}
			continue
		}
		runs := c.runs[r.Step.Name]
		switch {
		case len(runs) > 1:
			return fmt.Errorf("%q ran %d times", r.Step.Name, len(runs))
		case len(runs) == 1 != (r.Outcome == testmodel.Ran):
			return fmt.Errorf("%q ran %d times, want %v", r.Step.Name, len(runs), r.Outcome)
		case len(runs) == 1 && r.Handler && runs[0].Start < r.Start:
			return fmt.Errorf("%q started at %d, before all had ended at %d", r.Step.Name, runs[0].Start, r.Start)
		case len(runs) == 1 && !r.Handler && runs[0].Start != r.Start:
			return fmt.Errorf("%q started at %d, want %d", r.Step.Name, runs[0].Start, r.Start)
		}
	}
	return nil
}

// checkDetached compares whether and when a detached step was launched.
func (c *comparison) checkDetached(r testmodel.Run) error {
	s := c.bundle.Plan.Step(r.Step.Name)
	there := s != nil && slices.ContainsFunc(c.bundle.Units, func(u Unit) bool { return u.Step == s })
	if !there {
		if r.Outcome == testmodel.Ran {
			return fmt.Errorf("the detached step %q is not there", r.Step.Name)
		}
		return nil
	}
	start, launched := c.launched[s.ID]
	if !c.waitsForStart(s) {
		start, launched = 0, true
	}
	if launched != (r.Outcome == testmodel.Ran) || launched && start != r.Start {
		return fmt.Errorf("the detached step %q was launched: %v, at %d; want %v at %d", r.Step.Name, launched, start,
			r.Outcome, r.Start)
	}
	return nil
}

// waitsForStart reports whether a detached step waits for the mark of its start.
func (c *comparison) waitsForStart(s *Step) bool {
	for _, p := range c.bundle.Pods {
		if p.Annotations[AnnotationStep] == s.Name {
			return len(p.Spec.InitContainers) > 0
		}
	}
	for _, t := range c.bundle.PipelineRun.Spec.PipelineSpec.Tasks {
		for _, sidecar := range t.TaskSpec.Sidecars {
			if sidecar.Name == s.ID {
				return strings.Contains(strings.Join(sidecar.Args, "\n"), "until [ -e ")
			}
		}
	}
	return false
}

// checkOrder checks that no step starts before all have ended that it waits for.
func (c *comparison) checkOrder(scenario) error {
	for i, later := range c.drone.Runs {
		for k, earlier := range c.drone.Runs[:i] {
			first, then := c.runs[earlier.Step.Name], c.runs[later.Step.Name]
			if len(first) > 0 && len(then) > 0 && then[0].Start < first[0].End && c.drone.After(i, k) {
				return fmt.Errorf("%q started at %d, before the end of %q at %d",
					later.Step.Name, then[0].Start, earlier.Step.Name, first[0].End)
			}
		}
	}
	return nil
}

// checkState compares what the steps are told of the state of the pipeline.
func (c *comparison) checkState(sc scenario) error {
	for _, r := range c.expected.Runs {
		if r.Step.Detached || r.Outcome != testmodel.Ran {
			continue
		}
		run := c.runs[r.Step.Name][0]
		want := api.StatusPassing
		if r.Failing {
			want = api.StatusFailing
		}
		for _, name := range []string{"DRONE_BUILD_STATUS", "DRONE_STAGE_STATUS", "CI_BUILD_STATUS"} {
			if got, _ := run.Env(name); got != want {
				return fmt.Errorf("%s of %q = %q, want %q", name, r.Step.Name, got, want)
			}
		}
		if c.layout != workspace.Pod && run.unit.Failing != r.Failing {
			return fmt.Errorf("the unit of %q says failing: %v, want %v", r.Step.Name, run.unit.Failing, r.Failing)
		}
		if c.layout != workspace.Pod && sc.kubernetes {
			if got := c.annotation(run.Task, "DRONE_BUILD_STATUS"); got != want {
				return fmt.Errorf("%s/%s tells %q that the state is %q, want %q", statusFolder, statusFile, r.Step.Name, got, want)
			}
		}
		got, given := run.Env(failedStepsVariable)
		if want := c.failedSteps(r); got != want && (given || r.Failing && sc.step(r.Step.Name).body != plainCommands) {
			return fmt.Errorf("%s of %q = %q (given: %v), want %q", failedStepsVariable, r.Step.Name, got, given, want)
		}
	}
	return nil
}

// annotation is an annotation of the pods of a task.
func (c *comparison) annotation(task, name string) string {
	spec := c.bundle.PipelineRun.Spec.PipelineSpec
	for _, t := range slices.Concat(spec.Tasks, []v1.PipelineTask(spec.Finally)) {
		if t.Name == task {
			return t.TaskSpec.Metadata.Annotations[name]
		}
	}
	return ""
}

// failedSteps is DRONE_FAILED_STEPS of a step. In a task of several steps, which of them failed is not known.
func (c *comparison) failedSteps(r testmodel.Run) string {
	if c.layout != workspace.Chains {
		return strings.Join(r.FailedSteps, ",")
	}
	var names []string
	for _, t := range c.mainTasks() {
		if slices.ContainsFunc(t, func(name string) bool { return slices.Contains(r.FailedSteps, name) }) {
			names = append(names, t...)
		}
	}
	return strings.Join(names, ",")
}

// mainTasks are the names of the steps of each task of the main graph, in order.
func (c *comparison) mainTasks() [][]string {
	index := map[string]int{}
	var tasks [][]string
	for _, u := range c.bundle.Units {
		if u.Task == "" || u.Failing {
			continue
		}
		i, ok := index[u.Task]
		if !ok {
			i = len(tasks)
			index[u.Task] = i
			tasks = append(tasks, nil)
		}
		tasks[i] = append(tasks[i], u.Step.Name)
	}
	return tasks
}

// String tells of both runs.
func (c *comparison) String() string {
	var b strings.Builder
	for i, r := range c.drone.Runs {
		fmt.Fprintf(&b, "%-12q drone: %v %d-%d failing %v", r.Step.Name, r.Outcome, r.Start, r.End, r.Failing)
		if i < len(c.expected.Runs) {
			e := c.expected.Runs[i]
			fmt.Fprintf(&b, "; expected: %v %d-%d failing %v", e.Outcome, e.Start, e.End, e.Failing)
		}
		for _, run := range c.runs[r.Step.Name] {
			fmt.Fprintf(&b, "; tekton: %s/%s %d-%d exit %d", run.Task, run.Step.Name, run.Start, run.End, run.Code)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
