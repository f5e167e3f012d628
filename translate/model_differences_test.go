package translate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"

	"github.com/drone-tekton/drone-runner-tekton/translate/testmodel"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// difference is a way in which a step fares otherwise than in Drone, and may.
type difference string

const (
	// Tekton starts finally tasks after all others have ended; Drone starts a handler once what it waits for is done.
	handlerWaits difference = "a handler waits until nothing else runs"
	// Drone skips an on-failure step for good if its turn comes before the failure. Where nothing tells that it had come,
	// because no step after it ran, the step runs.
	handlerTooEarly difference = "an on-failure step runs, whose turn was before another branch failed"
	// A task that has begun goes on; Drone decides at each step.
	chainGoesOn difference = "a step of a chain runs, after another branch failed"
	// Steps of one pod have no other order than that of the file.
	podWaits difference = "a step waits for one that it does not depend on"
	// So another one may have failed before the turn of a step comes, or not yet.
	podDecides difference = "a step is decided otherwise, because another ran before it"
	// What DRONE_FAILED_STEPS names.
	failedMeanwhile difference = "DRONE_FAILED_STEPS names steps that failed while the handler waited"
	failedHandler   difference = "DRONE_FAILED_STEPS does not name a failed handler"
	failedTask      difference = "DRONE_FAILED_STEPS names all steps of a chain that failed"
	failedToStart   difference = "DRONE_FAILED_STEPS names a step that could not start, though its failure is ignored"
	failedInPod     difference = "DRONE_FAILED_STEPS names the steps that failed in another order of running"
	// Services and detached steps.
	serviceAtOnce   difference = "a service or detached step without commands starts with the run"
	detachedHandler difference = "a detached step for failures does not start"
)

// inSerial are the differences that a pipeline without depends_on may have too.
var inSerial = []difference{failedHandler, failedToStart, failedTask, serviceAtOnce, detachedHandler}

// differences names what is different for each step, by its name. An error is a difference without a name.
func (c *comparison) differences() (map[string][]difference, error) {
	found := map[string][]difference{}
	if c.bundle == nil {
		return found, nil
	}
	for i, d := range c.drone.Runs {
		name, e := d.Step.Name, c.expected.Runs[i]
		add := func(what difference) { found[name] = append(found[name], what) }
		pod := c.layout == workspace.Pod
		if d.Step.Detached {
			if err := c.detachedDifferences(d, e, add); err != nil {
				return found, err
			}
			continue
		}
		switch {
		case d.Outcome != e.Outcome && pod, d.Outcome == testmodel.Ran && d.Failing != e.Failing && pod:
			add(podDecides)
		case d.Outcome == testmodel.Skipped && e.Handler && d.Step.Policy == testmodel.OnFailure:
			add(handlerTooEarly)
		case d.Outcome == testmodel.Skipped && e.Outcome == testmodel.Ran && c.follows()[name] != "":
			add(chainGoesOn)
		case d.Outcome != e.Outcome, d.Failing != e.Failing:
			return found, fmt.Errorf("%q: %v (failing: %v) in Drone, %v (failing: %v) here", name, d.Outcome, d.Failing,
				e.Outcome, e.Failing)
		case d.Outcome == testmodel.Ran:
			if err := c.stateDifferences(d, e, add); err != nil {
				return found, err
			}
		}
	}
	if c.pipe.Serial() {
		for name, list := range found {
			for _, what := range list {
				if !slices.Contains(inSerial, what) {
					return found, fmt.Errorf("in a serial pipeline, of %q: %s", name, what)
				}
			}
		}
	}
	return found, nil
}

func (c *comparison) detachedDifferences(d, e testmodel.Run, add func(difference)) error {
	handler := d.Step.Policy == testmodel.OnFailure || d.Step.Policy == testmodel.Always
	same := d.Outcome == e.Outcome && d.Start == e.Start
	switch {
	case same:
	case e.Outcome == testmodel.Ran && e.Start == 0:
		add(serviceAtOnce)
	case d.Outcome == testmodel.Ran && e.Outcome == testmodel.Skipped && handler:
		add(detachedHandler)
	case c.layout == workspace.Pod && d.Outcome == e.Outcome:
		add(podWaits)
	case c.layout == workspace.Pod:
		add(podDecides)
	default:
		return fmt.Errorf("%q: %v at %d in Drone, %v at %d here", d.Step.Name, d.Outcome, d.Start, e.Outcome, e.Start)
	}
	return nil
}

// stateDifferences are those of a step that runs in both.
func (c *comparison) stateDifferences(d, e testmodel.Run, add func(difference)) error {
	start := c.runs[d.Step.Name][0].Start
	switch {
	case start == d.Start:
	case c.layout == workspace.Pod:
		add(podWaits)
	case e.Handler && start > d.Start:
		add(handlerWaits)
	default:
		return fmt.Errorf("%q starts at %d in Drone, and at %d here", d.Step.Name, d.Start, start)
	}
	here := c.failedSteps(e)
	if here == strings.Join(d.FailedSteps, ",") {
		return nil
	}
	if c.layout == workspace.Pod {
		add(failedInPod)
		return nil
	}
	if !e.Handler {
		return fmt.Errorf("%q: failed steps are %v in Drone, and %q here", d.Step.Name, d.FailedSteps, here)
	}
	for _, name := range e.FailedSteps {
		i := slices.IndexFunc(c.drone.Runs, func(r testmodel.Run) bool { return r.Step.Name == name })
		switch s := c.drone.Runs[i].Step; {
		case slices.Contains(d.FailedSteps, name):
		case s.Broken && s.Ignore:
			add(failedToStart)
		default:
			add(failedMeanwhile)
		}
	}
	for _, name := range d.FailedSteps {
		if !slices.Contains(e.FailedSteps, name) {
			add(failedHandler)
			break
		}
	}
	if here != strings.Join(e.FailedSteps, ",") {
		add(failedTask)
	}
	return nil
}

// tally counts the steps with each difference, by layout.
type tally struct {
	pipelines int
	steps     map[workspace.Layout]int
	counts    map[difference]map[workspace.Layout]int
}

func (t *tally) add(c *comparison, found map[string][]difference) {
	if t.counts == nil {
		t.counts, t.steps = map[difference]map[workspace.Layout]int{}, map[workspace.Layout]int{}
	}
	t.steps[c.layout] += len(c.drone.Runs)
	for _, list := range found {
		for _, what := range list {
			if t.counts[what] == nil {
				t.counts[what] = map[workspace.Layout]int{}
			}
			t.counts[what][c.layout]++
		}
	}
}

// table shows the counts.
func (t *tally) table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(what string, counts map[workspace.Layout]int) {
		for _, layout := range layouts {
			fmt.Fprintf(w, "%d\t", counts[layout])
		}
		fmt.Fprintf(w, "  %s\n", what)
	}
	for _, layout := range layouts {
		fmt.Fprintf(w, "%s\t", layout)
	}
	fmt.Fprintln(w, "  ")
	row("steps compared", t.steps)
	for _, what := range []difference{
		handlerWaits, handlerTooEarly, chainGoesOn, podWaits, podDecides, failedMeanwhile, failedHandler,
		failedToStart, failedTask, failedInPod,
		serviceAtOnce, detachedHandler,
	} {
		row(string(what), t.counts[what])
	}
	if err := w.Flush(); err != nil {
		panic(err) // a Builder takes everything
	}
	return b.String()
}

// step is a step for a scenario: its name, how long it takes, and what else there is to say.
func step(name string, duration int64, more ...func(*scenarioStep)) scenarioStep {
	s := scenarioStep{Step: testmodel.Step{Name: name, Duration: duration}, body: askingCommands}
	for _, m := range more {
		m(&s)
	}
	return s
}

func fails(s *scenarioStep)      { s.Exit = 1 }
func isBroken(s *scenarioStep)   { s.Broken, s.Exit = true, 1 }
func ignored(s *scenarioStep)    { s.Ignore = true }
func isDetached(s *scenarioStep) { s.Detached = true }
func withPlugin(s *scenarioStep) { s.body = plugin }
func onFailure(s *scenarioStep)  { setPolicy(s, testmodel.OnFailure) }
func always(s *scenarioStep)     { setPolicy(s, testmodel.Always) }
func setPolicy(s *scenarioStep, p testmodel.Policy) {
	s.Policy, s.when = p, conditions[p][0]
}

func dependsOn(names ...string) func(*scenarioStep) {
	return func(s *scenarioStep) { s.DependsOn = names }
}

func TestDifferencesFromDrone(t *testing.T) {
	clone := &testmodel.Step{Name: "clone", Duration: 1}
	for _, tt := range []struct {
		name   string
		layout workspace.Layout
		sc     scenario
		want   map[string][]difference
	}{
		{
			// To Drone, notify starts when test has failed; here it starts after build, which runs on.
			name: "handler waits", layout: workspace.Steps,
			sc: scenario{clone: clone, steps: []scenarioStep{
				step("test", 10, fails), step("build", 100), step("notify", 1, onFailure, dependsOn("test")),
			}},
			want: map[string][]difference{"notify": {handlerWaits}},
		},
		{
			// The turn of cleanup comes after lint, before test fails.
			name: "handler too early", layout: workspace.Steps,
			sc: scenario{clone: clone, steps: []scenarioStep{
				step("lint", 1), step("test", 100, fails), step("cleanup", 1, onFailure, dependsOn("lint")),
			}},
			want: map[string][]difference{"cleanup": {handlerTooEarly}},
		},
		{
			// That publish ran tells that the turn of cleanup was before.
			name: "handler too early, and a step after it ran", layout: workspace.Steps,
			sc: scenario{clone: clone, steps: []scenarioStep{
				step("lint", 1), step("test", 100, fails), step("cleanup", 1, onFailure, dependsOn("lint")),
				step("publish", 1, dependsOn("cleanup")),
			}},
			want: map[string][]difference{},
		},
		{
			// deploy, which fails, cannot have started before the turn of cleanup.
			name: "handler too early, and what failed waits for the same", layout: workspace.Steps,
			sc: scenario{clone: clone, steps: []scenarioStep{
				step("build", 1), step("cleanup", 1, onFailure, dependsOn("build")), step("deploy", 1, fails, dependsOn("build")),
			}},
			want: map[string][]difference{},
		},
		{
			// build and package are one task, which runs when test fails.
			name: "chain goes on", layout: workspace.Chains,
			sc: scenario{clone: clone, steps: []scenarioStep{
				step("test", 10, fails), step("build", 100), step("package", 1, dependsOn("build")),
			}},
			want: map[string][]difference{"package": {chainGoesOn}},
		},
		{
			name: "pod waits", layout: workspace.Pod,
			sc: scenario{clone: clone, steps: []scenarioStep{
				step("test", 10), step("build", 100, dependsOn("clone")),
			}},
			want: map[string][]difference{"build": {podWaits}},
		},
		{
			// To Drone, build starts beside test; here after it has failed.
			name: "pod decides", layout: workspace.Pod,
			sc: scenario{clone: clone, steps: []scenarioStep{
				step("test", 10, fails), step("build", 100, dependsOn("clone")),
			}},
			want: map[string][]difference{"build": {podDecides}},
		},
		{
			name: "failed meanwhile", layout: workspace.Steps,
			sc: scenario{clone: clone, steps: []scenarioStep{
				step("test", 10, fails), step("build", 100, fails), step("notify", 1, onFailure, dependsOn("test")),
			}},
			want: map[string][]difference{"notify": {handlerWaits, failedMeanwhile}},
		},
		{
			name: "failed handler", layout: workspace.Steps,
			sc: scenario{clone: clone, steps: []scenarioStep{
				step("test", 10, fails), step("cleanup", 1, onFailure, fails), step("notify", 1, onFailure),
			}},
			want: map[string][]difference{"notify": {failedHandler}},
		},
		{
			name: "failed to start", layout: workspace.Steps,
			sc: scenario{clone: clone, steps: []scenarioStep{
				step("test", 10, isBroken, ignored), step("notify", 1, onFailure), step("publish", 1),
			}},
			want: map[string][]difference{"notify": {failedToStart}},
		},
		{
			name: "failed task", layout: workspace.Chains,
			sc:   scenario{clone: clone, steps: []scenarioStep{step("test", 10, fails), step("notify", 1, onFailure)}},
			want: map[string][]difference{"notify": {failedTask}},
		},
		{
			// To Drone, notify starts when test has failed; here after build has, too.
			name: "failed in pod", layout: workspace.Pod,
			sc: scenario{clone: clone, steps: []scenarioStep{
				step("build", 100, fails), step("test", 10, always, fails, dependsOn("clone")),
				step("notify", 1, onFailure, dependsOn("test")),
			}},
			want: map[string][]difference{"test": {podDecides}, "notify": {podWaits, failedInPod}},
		},
		{
			name: "service at once", layout: workspace.Steps,
			sc: scenario{
				clone:    clone,
				services: []scenarioStep{step("redis", 1, isDetached, withPlugin)},
				steps:    []scenarioStep{step("test", 10)},
			},
			want: map[string][]difference{"redis": {serviceAtOnce}},
		},
		{
			name: "detached handler", layout: workspace.Steps,
			sc: scenario{clone: clone, steps: []scenarioStep{
				step("test", 10, fails), step("collector", 1, isDetached, always), step("watcher", 1, isDetached, onFailure),
			}},
			want: map[string][]difference{"collector": {detachedHandler}, "watcher": {detachedHandler}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.sc.validated = true
			p, err := tt.sc.parse()
			if err != nil {
				t.Fatal(err)
			}
			c, err := compare(tt.sc, p, tt.layout)
			if err != nil {
				t.Fatalf("%v\n%s", err, c)
			}
			got, err := c.differences()
			if err != nil {
				t.Fatalf("%v\n%s", err, c)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("differences (-want +got):\n%s\n%s", diff, c)
			}
		})
	}
}

// TestStepThatCannotStartTakesItsTaskWithIt shows a difference that generated pipelines leave out, because what
// becomes of the other steps depends on when the cluster finds out: steps that share a pod fail together if one
// cannot be started.
func TestStepThatCannotStartTakesItsTaskWithIt(t *testing.T) {
	clone := &testmodel.Step{Name: "clone", Duration: 1}
	for _, tt := range []struct {
		layout workspace.Layout
		steps  []scenarioStep
		lost   string // runs in Drone, and not here
	}{
		{workspace.Steps, []scenarioStep{step("test", 1, fails), step("cleanup", 1, onFailure, isBroken),
			step("notify", 1, onFailure)}, "notify"},
		{workspace.Pod, []scenarioStep{step("test", 1, isBroken), step("notify", 1, onFailure)}, "notify"},
	} {
		sc := scenario{clone: clone, steps: tt.steps, validated: true}
		p, err := sc.parse()
		if err != nil {
			t.Fatal(err)
		}
		c, err := play(sc, p, tt.layout)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range c.drone.Runs {
			ran := len(c.runs[r.Step.Name]) == 1
			if r.Outcome != testmodel.Ran || ran != (r.Step.Name != tt.lost) {
				t.Errorf("layout %s: %q: %v in Drone, ran here: %v", tt.layout, r.Step.Name, r.Outcome, ran)
			}
		}
	}
}
