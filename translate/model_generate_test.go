package translate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
	"github.com/drone-tekton/drone-runner-tekton/translate/testmodel"
)

// scenario is a pipeline, how it is written, and what its steps do when they run.
type scenario struct {
	kubernetes bool
	clone      *testmodel.Step
	services   []scenarioStep
	steps      []scenarioStep
	validated  bool // by Tekton's own validation, which takes ten times as long as all the rest
}

// scenarioStep is a step and the parts of its text that the model does not look at.
type scenarioStep struct {
	testmodel.Step
	when string // the YAML of its conditions
	body body
	temp bool // mounts a volume that other steps do not
}

// body is what a step is made of.
type body int

const (
	plainCommands body = iota
	// askingCommands name DRONE_FAILED_STEPS.
	askingCommands
	// plugin is a step without commands.
	plugin
)

// pipeline is the scenario as the models take it.
func (sc scenario) pipeline() testmodel.Pipeline {
	p := testmodel.Pipeline{Clone: sc.clone}
	for _, s := range sc.services {
		p.Services = append(p.Services, s.Step)
	}
	for _, s := range sc.steps {
		p.Steps = append(p.Steps, s.Step)
	}
	return p
}

// startable is the scenario with steps that fail in place of those that cannot be started. What becomes of the other
// steps of a pod then depends on when the cluster finds out.
func (sc scenario) startable() scenario {
	sc.steps = slices.Clone(sc.steps)
	for i := range sc.steps {
		sc.steps[i].Broken = false
	}
	return sc
}

// step finds a step or service; the clone step is a plugin.
func (sc scenario) step(name string) scenarioStep {
	for _, list := range [][]scenarioStep{sc.services, sc.steps} {
		for _, s := range list {
			if s.Name == name {
				return s
			}
		}
	}
	return scenarioStep{Step: *sc.clone, body: plugin}
}

// yaml is the scenario as a Drone file.
func (sc scenario) yaml() string {
	var b strings.Builder
	kind := drone.TypeDocker
	if sc.kubernetes {
		kind = drone.TypeKubernetes
	}
	fmt.Fprintf(&b, "kind: pipeline\ntype: %s\nname: model\n", kind)
	if sc.clone == nil {
		b.WriteString("clone:\n  disable: true\n")
	}
	writeSteps(&b, "services", sc.services)
	writeSteps(&b, "steps", sc.steps)
	b.WriteString("volumes:\n- name: cache\n  temp: {}\n")
	return b.String()
}

// parse reads the scenario's text.
func (sc scenario) parse() (*drone.Pipeline, error) {
	m, diags := drone.Parse("model.yml", []byte(sc.yaml()))
	if diags.HasErrors() {
		return nil, fmt.Errorf("parsing: %v", diags)
	}
	return m.Pipelines[0], nil
}

func writeSteps(b *strings.Builder, key string, steps []scenarioStep) {
	if len(steps) == 0 {
		return
	}
	fmt.Fprintf(b, "%s:\n", key)
	for _, s := range steps {
		fmt.Fprintf(b, "- name: %s\n  image: busybox\n", quoted(s.Name))
		switch s.body {
		case plainCommands:
			b.WriteString("  commands: [make]\n")
		case askingCommands:
			b.WriteString("  commands: [echo $DRONE_FAILED_STEPS]\n")
		case plugin:
			if key == "steps" {
				b.WriteString("  settings:\n    channel: dev\n")
			}
		}
		if s.Detached && key == "steps" {
			b.WriteString("  detach: true\n")
		}
		if s.Ignore {
			b.WriteString("  failure: ignore\n")
		}
		if len(s.DependsOn) > 0 {
			fmt.Fprintf(b, "  depends_on: %s\n", quoted(s.DependsOn))
		}
		if s.when != "" {
			fmt.Fprintf(b, "  when: {%s}\n", s.when)
		}
		if s.temp {
			b.WriteString("  volumes:\n  - name: cache\n    path: /cache\n")
		}
	}
}

// quoted is a text or a list in YAML, which JSON is a part of.
func quoted(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and lists of texts have JSON
	}
	return string(text)
}

// conditions are ways to write each policy, for a build of a push to main.
var conditions = map[testmodel.Policy][]string{
	testmodel.OnSuccess: {"", "status: [success]", "status: {exclude: [failure]}", "status: [changed]", "event: push"},
	testmodel.OnFailure: {"status: [failure]", "status: failure", "status: {exclude: [success]}",
		"status: [failure, killed]"},
	testmodel.Always: {"status: [success, failure]", "status: {include: [failure, success]}",
		"status: {exclude: [killed]}"},
	testmodel.Never: {"event: tag", "branch: {exclude: [main]}, status: [failure]",
		"event: [promote], status: [success, failure]"},
}

// trickyNames are names that meet those of tasks and steps that the translation adds, or each other as slugs.
var trickyNames = []string{
	"Build A", "build-a", "build a", "verdict", "failed steps", "on failure", "on-failure", "pipeline", "mark", "wait",
	"start s0", "start-s1", "start s2", "s0 on failure", "s1 on failure", "s2-on-failure", "status 1", "status-2",
	"status 3",
	"status-4", "outcome-s1", "source", "日本", "a, b", "clone on failure", "start verdict", "42", `say "hi"`, "back`tick",
	"a very long name that does not fit into the name of a task 1",
	"a very long name that does not fit into the name of a task 2",
}

// generate draws a scenario. The simplest choice is always the first, so that failures shrink to simple pipelines.
func generate(t *rapid.T) scenario {
	order := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}).Draw(t, "order")
	g := &generator{T: t, taken: map[string]bool{}, order: order}
	sc := scenario{kubernetes: g.chance(50, "kubernetes")}
	g.graph = g.chance(70, "graph")
	if !g.chance(30, "no clone") {
		clone := g.outcome(testmodel.Step{Name: drone.CloneName}, 8)
		sc.clone = &clone
		g.taken[drone.CloneName] = true
		g.earlier = append(g.earlier, drone.CloneName)
	}
	for range g.number(0, 2, "services") {
		s := g.step()
		s.Detached, s.Ignore, s.temp = true, false, false
		if s.body == askingCommands {
			s.body = plugin
		}
		sc.services = append(sc.services, s)
	}
	for range g.number(1, 10, "steps") {
		s := g.step()
		s.Detached = g.chance(8, "detached")
		s.Broken = s.Exit != 0 && s.Policy == testmodel.OnSuccess && g.chance(20, "broken")
		sc.steps = append(sc.steps, s)
	}
	sc.validated = g.chance(3, "validated")
	return sc
}

type generator struct {
	*rapid.T
	graph   bool
	taken   map[string]bool // names
	earlier []string
	order   []int // of entries, for durations
}

func (g *generator) number(from, to int, label string) int {
	return rapid.IntRange(from, to).Draw(g.T, label)
}

// chance is true in so many cases of a hundred.
func (g *generator) chance(percent int, label string) bool {
	return g.number(0, 99, label) >= 100-percent
}

func (g *generator) step() scenarioStep {
	i := len(g.earlier)
	s := scenarioStep{Step: testmodel.Step{Name: fmt.Sprintf("s%d", i)}}
	if g.chance(15, "tricky name") {
		s.Name = rapid.SampledFrom(trickyNames).Draw(g.T, "name")
	}
	for g.taken[s.Name] {
		s.Name += "'"
	}
	g.taken[s.Name] = true
	switch n := g.number(0, 99, "policy"); {
	case n < 50:
		s.Policy = testmodel.OnSuccess
	case n < 70:
		s.Policy = testmodel.Always
	case n < 92:
		s.Policy = testmodel.OnFailure
	default:
		s.Policy = testmodel.Never
	}
	s.when = rapid.SampledFrom(conditions[s.Policy]).Draw(g.T, "when")
	if g.graph && i > 0 {
		for range g.number(0, 3, "dependencies") {
			// Nearby steps more often than far ones, so that there are paths and not only stars.
			before := g.earlier[max(0, i-1-g.number(0, 3, "distance"))]
			if g.chance(20, "far") {
				before = rapid.SampledFrom(g.earlier).Draw(g.T, "before")
			}
			s.DependsOn = append(s.DependsOn, before)
		}
	}
	s.Step = g.outcome(s.Step, 24)
	s.Ignore = g.chance(15, "ignore")
	s.body = body(g.number(0, 2, "body"))
	s.temp = g.chance(10, "temp")
	g.earlier = append(g.earlier, s.Name)
	return s
}

// outcome draws what a step does. No two steps ever end at the same time: each duration has a bit of its own.
func (g *generator) outcome(s testmodel.Step, failing int) testmodel.Step {
	s.Duration = int64(g.number(1, 8, "duration"))<<16 | 1<<g.order[len(g.earlier)]
	if g.chance(failing, "fails") {
		s.Exit = rapid.SampledFrom([]int{1, 2, 127, 137, 255}).Draw(g.T, "exit")
	}
	return s
}
