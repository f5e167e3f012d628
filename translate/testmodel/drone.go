package testmodel

import (
	"maps"
	"slices"
)

// Policy is the state of a pipeline that a step runs in.
type Policy int

const (
	OnSuccess Policy = iota
	OnFailure
	Always
	// Never is a step whose conditions do not match the build. It stays in the graph as a vertex that does nothing.
	Never
)

// Step is a step or service as far as Drone's scheduler looks at it, with what it does when it runs.
type Step struct {
	Name      string
	DependsOn []string
	Policy    Policy
	Detached  bool // as services are
	Ignore    bool // failure: ignore
	Exit      int
	// Broken is a step that cannot be started, say because there is no such image. That is an error, which counts even
	// where failure is ignored.
	Broken   bool
	Duration int64
}

// Pipeline is a pipeline for one build.
type Pipeline struct {
	Clone    *Step // nil where cloning is disabled
	Services []Step
	Steps    []Step
}

// Outcome is what became of a step.
type Outcome int

const (
	// Absent is a step that Drone's server does not hear of.
	Absent Outcome = iota
	Skipped
	// Ran is a step that was started. For a detached one that is all there is to say.
	Ran
)

// String is the outcome as a word.
func (o Outcome) String() string { return [...]string{"absent", "skipped", "ran"}[o] }

// Run is what became of one step.
type Run struct {
	Step    Step
	Outcome Outcome
	// Start and End count for a step that ran. A detached one ends when it is launched.
	Start, End int64
	// Failing is the state that the step was started in; FailedSteps are the steps that had failed by then, in list order.
	Failing     bool
	FailedSteps []string
	// Handler is a step that a deviation kept to the end: its Start is the earliest possible one.
	Handler bool
}

// History is a run of a pipeline: the steps in Drone's list order, and how the stage ended.
type History struct {
	Runs   []Run
	Failed bool

	before []map[int]bool
}

// After reports whether one of the runs, by its index, waits for another, directly or not.
func (h History) After(run, other int) bool { return h.before[run][other] }

// Deviations are the ways in which a run may differ from what Drone's scheduler does. The zero value is Drone.
type Deviations struct {
	// HandlersLast lets on-failure steps, and always-steps that become ready while the pipeline is failing, wait until
	// nothing else runs. An on-failure step is then judged at the end: it runs if the pipeline is failing, unless a step
	// has run that waited for all that it waits for, which tells that its turn was before the failure.
	HandlersLast bool
	// Follows maps a step to the one right before it in the same task. A task that has started goes on to its end, or to
	// its first failure, whatever happens elsewhere.
	Follows map[string]string
	// OneByOne runs steps in list order, one at a time.
	OneByOne bool
	// AtOnce are detached steps that start with the run.
	AtOnce map[string]bool
	// NamesBroken has the failed steps name those that could not be started, also where failure is ignored.
	NamesBroken bool
	// NotWhenFailing are detached steps that do not start any more once the pipeline is failing.
	NotWhenFailing map[string]bool
}

// Play runs a pipeline by the rules of Drone's runners. A step is ready when all that it waits for is done, whatever
// came of it. What happens to it is decided at that moment, by its policy and by whether anything in the pipeline has
// failed.
func (p Pipeline) Play(d Deviations) History {
	g := &game{deviations: d}
	g.assemble(p)
	if d.OneByOne {
		g.line()
	}
	g.play()
	if d.HandlersLast {
		g.handle()
	}
	return History{Runs: g.runs, Failed: g.failing(), before: g.before}
}

type game struct {
	deviations Deviations
	now        int64
	needs      [][]int        // the entries that an entry waits for; all stand before it
	before     []map[int]bool // the same, directly or not
	runs       []Run
	state      []state
	failed     []int
	late       []int // the handlers that were kept to the end
}

type state int

const (
	waiting state = iota
	running
	done
)

// assemble makes Drone's list: clone, services, steps. Without any depends_on each waits for the one before it. With
// one anywhere, what has none waits for clone alone.
func (g *game) assemble(p Pipeline) {
	var steps []Step
	if p.Clone != nil {
		steps = append(steps, *p.Clone)
	}
	for _, s := range p.Services {
		s.Detached = true
		steps = append(steps, s)
	}
	steps = append(steps, p.Steps...)
	graph := slices.ContainsFunc(steps, func(s Step) bool { return len(s.DependsOn) > 0 })
	index := map[string]int{}
	for i, s := range steps {
		index[s.Name] = i
		var needs []int
		switch {
		case !graph && i > 0:
			needs = []int{i - 1}
		case len(s.DependsOn) == 0 && p.Clone != nil && i > 0:
			needs = []int{0}
		}
		for _, name := range s.DependsOn {
			needs = append(needs, index[name])
		}
		g.needs = append(g.needs, needs)
		g.runs = append(g.runs, Run{Step: s})
	}
	g.state = make([]state, len(steps))
	for _, needs := range g.needs {
		all := map[int]bool{}
		for _, n := range needs {
			all[n] = true
			maps.Copy(all, g.before[n])
		}
		g.before = append(g.before, all)
	}
}

// line lets each step that may run wait for the one before it too.
func (g *game) line() {
	previous := -1
	for i, r := range g.runs {
		if r.Step.Detached || r.Step.Policy == Never {
			continue
		}
		if previous >= 0 {
			g.needs[i] = append(slices.Clone(g.needs[i]), previous)
		}
		previous = i
	}
}

func (g *game) failing() bool { return len(g.failed) > 0 }

// play runs everything that can run.
func (g *game) play() {
	for {
		for again := true; again; {
			again = false
			for i := range g.runs {
				if g.state[i] == waiting && g.ready(i) {
					g.decide(i)
					again = true
				}
			}
		}
		next := -1
		for i := range g.runs {
			if g.state[i] == running && (next < 0 || g.runs[i].End < g.runs[next].End) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		g.now = g.runs[next].End
		g.state[next] = done
		if s := g.runs[next].Step; s.Broken || s.Exit != 0 && !s.Ignore {
			g.failed = append(g.failed, next)
		}
	}
}

func (g *game) ready(i int) bool {
	return !slices.ContainsFunc(g.needs[i], func(n int) bool { return g.state[n] != done })
}

func (g *game) decide(i int) {
	r := &g.runs[i]
	s := r.Step
	switch {
	case s.Policy == Never:
		g.state[i] = done
	case g.deviations.AtOnce[s.Name]:
		r.Outcome = Ran
		g.state[i] = done
	case g.failing() && g.deviations.NotWhenFailing[s.Name]:
		r.Outcome = Skipped
		g.state[i] = done
	case g.deviations.HandlersLast && !s.Detached && (s.Policy == OnFailure || s.Policy == Always && g.failing()):
		r.Outcome = Skipped
		g.state[i] = done
		g.late = append(g.late, i)
	case g.goesOn(s):
		g.start(i)
		r.Failing, r.FailedSteps = false, nil // what the task was told at its start
	case s.Policy == OnFailure && !g.failing(), s.Policy == OnSuccess && g.failing():
		r.Outcome = Skipped
		g.state[i] = done
	default:
		g.start(i)
	}
}

// goesOn reports whether the step before this one in the same task ran and let the task go on.
func (g *game) goesOn(s Step) bool {
	before, ok := g.deviations.Follows[s.Name]
	if !ok {
		return false
	}
	i := slices.IndexFunc(g.runs, func(r Run) bool { return r.Step.Name == before })
	r := g.runs[i]
	return r.Outcome == Ran && (r.Step.Exit == 0 || r.Step.Ignore)
}

func (g *game) start(i int) {
	r := &g.runs[i]
	r.Outcome, r.Start, r.End = Ran, g.now, g.now
	r.Failing, r.FailedSteps = g.failing(), g.failedSteps()
	g.state[i] = done
	if !r.Step.Detached {
		r.End += r.Step.Duration
		g.state[i] = running
	}
}

func (g *game) failedSteps() []string {
	var names []string
	for _, i := range slices.Sorted(slices.Values(g.failed)) {
		if s := g.runs[i].Step; !s.Ignore || g.deviations.NamesBroken {
			names = append(names, s.Name)
		}
	}
	return names
}

// handle runs the handlers that were kept to the end.
func (g *game) handle() {
	if !g.failing() {
		return
	}
	failed := g.failedSteps()
	for _, i := range g.late {
		r := &g.runs[i]
		if r.Step.Policy == OnFailure && g.passed(i) {
			continue
		}
		r.Outcome, r.Start, r.End = Ran, g.now, g.now
		r.Handler, r.Failing, r.FailedSteps = true, true, failed
	}
}

// passed reports whether a step was started before any failure, and cannot have been before the turn of another.
func (g *game) passed(i int) bool {
	for k := range g.runs {
		if g.inOrder(k) && g.runs[k].Outcome == Ran && !g.runs[k].Failing && g.waitsForAll(k, i) {
			return true
		}
	}
	return false
}

// inOrder is a step that has a place in the order, and is no handler alone.
func (g *game) inOrder(i int) bool {
	s := g.runs[i].Step
	return (s.Policy == OnSuccess || s.Policy == Always) && !g.deviations.AtOnce[s.Name]
}

// waitsForAll reports whether an entry waits for all in-order steps that another waits for.
func (g *game) waitsForAll(k, i int) bool {
	for n := range g.before[i] {
		if g.inOrder(n) && !g.before[k][n] {
			return false
		}
	}
	return true
}

// Serial reports whether no step has depends_on, so that each waits for the one before it.
func (p Pipeline) Serial() bool {
	return !slices.ContainsFunc(slices.Concat(p.Services, p.Steps), func(s Step) bool { return len(s.DependsOn) > 0 })
}
