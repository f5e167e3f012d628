package translate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The order of steps: serial without any depends_on, a graph with one anywhere.
func TestOrderOfSteps(t *testing.T) {
	for _, test := range []struct {
		rule, text string
		want       map[string]string
	}{
		{"serial: each entry waits for the one before it, services too",
			"services: [{name: db, image: i}, {name: mq, image: i}]\n" +
				"steps: [{name: a, image: i}, {name: b, image: i}]\n",
			map[string]string{"clone": "", "db": "clone", "mq": "db", "a": "mq", "b": "a"}},
		{"serial without clone", "clone: {disable: true}\nsteps: [{name: a, image: i}, {name: b, image: i}]\n",
			map[string]string{"a": "", "b": "a"}},
		{"graph: entries without depends_on wait for clone alone",
			"services: [{name: db, image: i}]\nsteps: [{name: a, image: i}, {name: b, image: i}, " +
				"{name: c, image: i, depends_on: [a, b]}]\n",
			map[string]string{"clone": "", "db": "clone", "a": "clone", "b": "clone", "c": "a b"}},
		{"graph without clone: entries without depends_on wait for nothing",
			"clone: {disable: true}\nsteps: [{name: a, image: i}, {name: b, image: i}, " +
				"{name: c, image: i, depends_on: [a]}]\n",
			map[string]string{"a": "", "b": "", "c": "a"}},
		{"a depends_on of a service makes a graph too",
			"services: [{name: db, image: i, depends_on: [clone]}]\nsteps: [{name: a, image: i}, {name: b, image: i}]\n",
			map[string]string{"clone": "", "db": "clone", "a": "clone", "b": "clone"}},
		{"an empty depends_on makes no graph", "steps: [{name: a, image: i, depends_on: []}, {name: b, image: i}]\n",
			map[string]string{"clone": "", "a": "clone", "b": "a"}},
		{"a step may depend on clone, a service and a step",
			"services: [{name: db, image: i}]\nsteps: [{name: a, image: i}, {name: b, image: i, depends_on: [clone, " +
				"db, a]}]\n",
			map[string]string{"clone": "", "db": "clone", "a": "clone", "b": "clone db a"}},
	} {
		got := map[string]string{}
		needs := dependencies(parsePipeline(t, dockerHead+test.text))
		for name := range test.want {
			got[name] = strings.Join(needs[name], " ")
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: what each entry waits for (-want +got):\n%s", test.rule, diff)
		}
	}
}

// A step that the build's facts exclude does not exist; steps that wait for it wait for what it waits for.
func TestStepsThatAreLeftOutPassTheirDependenciesOn(t *testing.T) {
	const never = "when: {branch: other}"
	for _, test := range []struct {
		rule, text string
		want       map[string]string
		numbers    string
	}{
		{"in the middle", "steps: [{name: a, image: i}, {name: b, image: i, " + never + "}, {name: c, image: i}]\n",
			map[string]string{"clone": "", "a": "clone", "c": "a"}, "clone:1 a:2 c:3"},
		{"several in a row", "steps: [{name: a, image: i}, {name: b, image: i, " + never + "}, {name: c, image: i, " +
			never + "}, {name: d, image: i}]\n",
			map[string]string{"clone": "", "a": "clone", "d": "a"}, "clone:1 a:2 d:3"},
		{"the first", "clone: {disable: true}\nsteps: [{name: a, image: i, " + never + "}, {name: b, image: i}]\n",
			map[string]string{"b": ""}, "b:1"},
		{"the last", "steps: [{name: a, image: i}, {name: b, image: i, " + never + "}]\n",
			map[string]string{"clone": "", "a": "clone"}, "clone:1 a:2"},
		{"a join in a graph",
			"steps: [{name: a, image: i}, {name: b, image: i}, {name: c, image: i, depends_on: [a, b], " + never +
				"}, {name: d, image: i, depends_on: [c]}]\n",
			map[string]string{"clone": "", "a": "clone", "b": "clone", "d": "a b"}, "clone:1 a:2 b:3 d:4"},
		{"one way of two, where the other implies its end",
			"steps: [{name: a, image: i}, {name: b, image: i, depends_on: [a]}, {name: c, image: i, depends_on: [a], " +
				never +
				"}, {name: d, image: i, depends_on: [b, c]}]\n",
			map[string]string{"clone": "", "a": "clone", "b": "a", "d": "b"}, "clone:1 a:2 b:3 d:4"},
		{"a step with the only depends_on still makes a graph",
			"steps: [{name: a, image: i}, {name: b, image: i}, {name: c, image: i, depends_on: [a], " + never + "}]\n",
			map[string]string{"clone": "", "a": "clone", "b": "clone"}, "clone:1 a:2 b:3"},
	} {
		b := converted(t, dockerHead+test.text)
		if diff := cmp.Diff(test.want, runAfter(b)); diff != "" {
			t.Errorf("%s: runAfter by task (-want +got):\n%s", test.rule, diff)
		}
		var numbers []string
		for _, s := range b.Plan.Steps {
			numbers = append(numbers, s.Name+":"+string(rune('0'+s.Number)))
		}
		if got := strings.Join(numbers, " "); got != test.numbers {
			t.Errorf("%s: steps are numbered %s, want %s", test.rule, got, test.numbers)
		}
	}
}

// Others do not wait for services and detached steps, only for what those wait for.
func TestNothingWaitsForDetachedSteps(t *testing.T) {
	b := converted(t, dockerHead+
		"services: [{name: db, image: i}]\nsteps: [{name: a, image: i}, {name: b, image: i}]\n")
	if diff := cmp.Diff(map[string]string{"clone": "", "a": "clone", "b": "a"}, runAfter(b)); diff != "" {
		t.Errorf("runAfter by task (-want +got):\n%s", diff)
	}
}

// A pipeline of which nothing is left is no error: Drone counts it as a success. It is said.
func TestAPipelineWithoutSteps(t *testing.T) {
	b, list := convert(t, dockerHead+"clone: {disable: true}\nsteps: [{name: a, image: i, when: {branch: other}}]\n")
	if b != nil || list.HasErrors() {
		t.Errorf("a bundle: %v, diagnostics: %s; want neither a bundle nor an error", b != nil, report(list))
	}
	if got := about(list, CodeNothingRuns); len(got) != 1 {
		t.Errorf("what is said: %q, want one warning", got)
	}
}
