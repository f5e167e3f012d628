package workspace

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

const (
	manyNodes = corev1.ReadWriteMany
	oneNode   = corev1.ReadWriteOnce
)

// sample is the request of a pipeline: clone, two branches, a join, and a handler of failures.
func sample(o Options, c *Cluster) Request {
	step := func(name string, needs ...string) Step {
		return Step{Name: name, Needs: needs, Mounts: "source", Volumes: []string{"source"}}
	}
	cached := func(s Step) Step {
		s.Mounts, s.Volumes = "source cache", []string{"source", "cache"}
		return s
	}
	return Request{
		Options: o, Cluster: c,
		Volumes: []Volume{{Name: "source"}, {Name: "cache"}},
		Steps: []Step{
			step("clone"), cached(step("a1", "clone")), cached(step("a2", "a1")), step("b", "clone"), step("join", "a2", "b"),
		},
		Handlers: [][]Step{{step("tell")}},
	}
}

func clusterOf(mode Coschedule, classes ...Class) *Cluster {
	return &Cluster{Coschedule: mode, Classes: classes}
}

var standard = Class{Name: "standard", Default: true}

func TestPlacesOfVolumes(t *testing.T) {
	onShared := map[string]Place{"source": {Claim: "files", SubPath: "source"}, "cache": {Claim: "files", SubPath: "cache"}}
	files := func(c Claim) []Claim {
		if c.Size == "" {
			c.Size = DefaultSize
		}
		if c.AccessMode == "" {
			c.AccessMode = oneNode
		}
		return []Claim{c}
	}
	disabled := clusterOf(CoscheduleDisabled, standard)
	for _, test := range []struct {
		rule     string
		options  Options
		cluster  *Cluster
		outside  []string
		places   map[string]Place
		claims   []Claim
		asVolume bool
		oneNode  bool
	}{
		{rule: "nothing is known of the cluster", places: onShared, claims: files(Claim{Name: "files"}), oneNode: true},
		{rule: "class, mode and size are chosen", options: Options{StorageClass: "standard", AccessMode: manyNodes, Size: "1Gi"},
			cluster: clusterOf("", standard), places: onShared,
			claims: files(Claim{Name: "files", StorageClass: "standard", AccessMode: manyNodes, Size: "1Gi"})},
		{rule: "an existing claim", options: Options{Existing: "mine"}, places: onShared,
			claims: files(Claim{Name: "files", Existing: "mine"}), oneNode: true},
		{rule: "an existing claim is one, also where each volume was to have one", options: Options{Existing: "mine", Claims: PerVolume},
			places: onShared, claims: files(Claim{Name: "files", Existing: "mine"}), oneNode: true},
		{rule: "spread mounts the claim, which needs a name, as a volume", options: Options{Spread: true}, places: onShared,
			claims: files(Claim{Name: "files", AccessMode: manyNodes, Beside: true}), asVolume: true},
		{rule: "without co-scheduling no node is the tasks'", cluster: disabled, places: onShared, claims: files(Claim{Name: "files"})},
		{rule: "a Pod beside the tasks needs the claim's name", outside: []string{"source"}, places: onShared,
			claims: files(Claim{Name: "files", Beside: true}), oneNode: true},
		// The cache is used by the chain of a1 and a2 alone.
		{rule: "what one task uses alone is in its pod", options: Options{Layout: Chains},
			places: map[string]Place{"source": {Claim: "files", SubPath: "source"}, "cache": {}},
			claims: files(Claim{Name: "files"}), oneNode: true},
		{rule: "what one task and a Pod beside it use is on the claim", options: Options{Layout: Chains}, outside: []string{"cache"},
			places: onShared, claims: files(Claim{Name: "files", Beside: true}), oneNode: true},
		{rule: "on an existing claim are all files", options: Options{Layout: Chains, Existing: "mine"},
			places: onShared, claims: files(Claim{Name: "files", Existing: "mine"}), oneNode: true},
		{rule: "a claim for each volume", options: Options{Claims: PerVolume}, cluster: disabled, outside: []string{"cache"},
			places: map[string]Place{"source": {Claim: "source", SubPath: "source"}, "cache": {Claim: "cache", SubPath: "cache"}},
			claims: slices.Concat(files(Claim{Name: "source"}), files(Claim{Name: "cache", Beside: true}))},
		{rule: "one pod needs no claim", options: Options{Layout: Pod}, cluster: clusterOf(""),
			places: map[string]Place{"source": {}, "cache": {}}},
	} {
		r := sample(test.options, test.cluster)
		r.Outside = test.outside
		d := Plan(r)
		if diff := cmp.Diff(test.places, d.Places); diff != "" {
			t.Errorf("%s: places (-want +got):\n%s", test.rule, diff)
		}
		if diff := cmp.Diff(test.claims, d.Claims); diff != "" {
			t.Errorf("%s: claims (-want +got):\n%s", test.rule, diff)
		}
		if d.AsVolume != test.asVolume || d.OneNode != test.oneNode {
			t.Errorf("%s: AsVolume %v, OneNode %v, want %v, %v", test.rule, d.AsVolume, d.OneNode, test.asVolume, test.oneNode)
		}
		if len(d.Problems) > 0 {
			t.Errorf("%s: problems %v", test.rule, d.Problems)
		}
	}
}

// A volume in memory is honoured where one pod uses it; a claim cannot be in memory.
func TestMemory(t *testing.T) {
	inMemory := Place{Memory: true, SizeLimit: 1 << 20}
	onClaim := Place{Claim: "files", SubPath: "fast"}
	for _, test := range []struct {
		rule     string
		layout   Layout
		users    []string // steps of the sample that mount it
		handlers [][]Step
		outside  []string
		want     Place
	}{
		{"one step", Steps, []string{"b"}, nil, nil, inMemory},
		{"two steps", Steps, []string{"a1", "a2"}, nil, nil, onClaim},
		{"two steps of one chain", Chains, []string{"a1", "a2"}, nil, nil, inMemory},
		{"two steps of two chains", Chains, []string{"a1", "b"}, nil, nil, onClaim},
		{"all in one pod", Pod, []string{"a1", "b", "join"}, nil, nil, inMemory},
		{"a step and a service", Steps, []string{"b"}, nil, []string{"fast"}, onClaim},
		{"a step, and a service that uses another volume", Steps, []string{"b"}, nil, []string{"source"}, inMemory},
		{"a step and a handler", Steps, []string{"b"}, [][]Step{{{Name: "tell", Volumes: []string{"fast"}}}}, nil, onClaim},
		{"two handlers of one task", Steps, nil, [][]Step{{{Name: "x", Volumes: []string{"fast"}}, {Name: "y", Volumes: []string{"fast"}}}}, nil, inMemory},
		{"a step that runs in order or as a handler, never as both", Steps, []string{"b"}, [][]Step{{{Name: "b", Volumes: []string{"fast"}}}}, nil, inMemory},
		{"such a step in one task with another handler", Steps, []string{"b"},
			[][]Step{{{Name: "b", Volumes: []string{"fast"}}, {Name: "tell"}}}, nil, onClaim},
	} {
		r := sample(Options{Layout: test.layout}, nil)
		r.Volumes = append(r.Volumes, Volume{Name: "fast", Memory: true, SizeLimit: 1 << 20})
		for i, s := range r.Steps {
			if slices.Contains(test.users, s.Name) {
				r.Steps[i].Volumes = append(slices.Clone(s.Volumes), "fast")
			}
		}
		r.Handlers, r.Outside = test.handlers, test.outside
		d := Plan(r)
		if got := d.Places["fast"]; got != test.want {
			t.Errorf("%s: the volume is at %+v, want %+v", test.rule, got, test.want)
		}
		if told := strings.Contains(reasons(d.Reasons), "fast: "); test.layout != Pod && !told {
			t.Errorf("%s: no reason is given for the volume: %s", test.rule, reasons(d.Reasons))
		}
	}
}

func reasons(list []Reason) string {
	var out []string
	for _, r := range list {
		out = append(out, r.Topic+": "+r.Text)
	}
	return strings.Join(out, "\n")
}

// What the cluster will not do is told before a run is made, with a way out.
func TestProblemsAndWarnings(t *testing.T) {
	immediate := Class{Name: "zonal", Default: true, Immediate: true}
	other := Class{Name: "other"}
	for _, test := range []struct {
		rule     string
		options  Options
		cluster  *Cluster
		problems []string // a part of each
		warnings []string
	}{
		{rule: "all is well", cluster: clusterOf("", standard)},
		{rule: "nothing is known"},
		{rule: "no class at all", cluster: clusterOf(""),
			problems: []string{"no default storage class (classes: none), so the claim would wait for ever; name a class, or use the layout pod"}},
		{rule: "classes that may not be listed", cluster: &Cluster{Unlisted: true}},
		{rule: "no default class", cluster: clusterOf("", other), problems: []string{"no default storage class (classes: other)"}},
		{rule: "a class that is not there", options: Options{StorageClass: "fast"}, cluster: clusterOf("", standard, other),
			problems: []string{`no storage class "fast" (classes: other, standard), so the claim would wait for ever; name another class, or use the layout pod`}},
		{rule: "no class, in one pod", options: Options{Layout: Pod}, cluster: clusterOf("")},
		{rule: "no class, with a claim that exists", options: Options{Existing: "mine"}, cluster: clusterOf("")},
		{rule: "a class that places volumes at once", cluster: clusterOf("", immediate), warnings: []string{"zonal places volumes before it knows the pods"}},
		{rule: "the same for many nodes", options: Options{AccessMode: manyNodes}, cluster: clusterOf("", immediate)},
		{rule: "spread on storage for one node", options: Options{Spread: true, AccessMode: oneNode}, cluster: clusterOf("", standard),
			problems: []string{"use ReadWriteMany, or leave out spread"}},
		{rule: "spread on an existing claim", options: Options{Spread: true, Existing: "mine"}, cluster: clusterOf("", standard)},
		{rule: "spread where runs are kept together", options: Options{Spread: true}, cluster: clusterOf(CoschedulePipelineRuns, standard),
			warnings: []string{"coschedule: pipelineruns"}},
		{rule: "spread where runs are isolated", options: Options{Spread: true}, cluster: clusterOf(CoscheduleIsolate, standard),
			warnings: []string{"coschedule: isolate-pipelinerun"}},
		{rule: "nothing keeps tasks on the claim's node", cluster: clusterOf(CoscheduleDisabled, standard),
			warnings: []string{"co-scheduling is disabled and the claim is ReadWriteOnce"}},
		{rule: "nothing keeps tasks on an existing claim's node", options: Options{Existing: "mine"}, cluster: clusterOf(CoscheduleDisabled),
			warnings: []string{"where one node alone can mount the claim mine"}},
		{rule: "many nodes, no co-scheduling", options: Options{AccessMode: manyNodes}, cluster: clusterOf(CoscheduleDisabled, standard)},
		{rule: "a task with two claims", options: Options{Claims: PerVolume}, cluster: clusterOf(CoscheduleWorkspaces, standard),
			problems: []string{"the task of step a1 would bind 2 claims"}},
		{rule: "two claims by Tekton's default", options: Options{Claims: PerVolume}, problems: []string{"let volumes share one claim, or change"}},
		{rule: "two claims as volumes", options: Options{Claims: PerVolume, Spread: true}, cluster: clusterOf(CoscheduleWorkspaces, standard)},
		{rule: "two claims where runs are kept together", options: Options{Claims: PerVolume}, cluster: clusterOf(CoschedulePipelineRuns, standard)},
		{rule: "no second claim where one task uses the volume alone", options: Options{Claims: PerVolume, Layout: Chains},
			cluster: clusterOf(CoscheduleWorkspaces, standard)},
		{rule: "an existing claim in one pod", options: Options{Layout: Pod, Existing: "mine"}, warnings: []string{"the claim mine is not used"}},
		{rule: "an unknown layout", options: Options{Layout: "rings"}, problems: []string{`there is no layout "rings"; use steps, chains or pod`}},
		{rule: "unknown claims", options: Options{Claims: "many"}, problems: []string{`claims cannot be "many"; use shared or per-volume`}},
		{rule: "a claim to read", options: Options{AccessMode: corev1.ReadOnlyMany}, problems: []string{"use ReadWriteOnce or ReadWriteMany"}},
		{rule: "a claim for one pod", options: Options{AccessMode: corev1.ReadWriteOncePod}, problems: []string{"use ReadWriteOnce or ReadWriteMany"}},
		{rule: "a size that is none", options: Options{Size: "big"}, problems: []string{`"big" is no size of a claim; use an amount such as 5Gi`}},
		{rule: "a size of nothing", options: Options{Size: "0"}, problems: []string{`"0" is no size`}},
	} {
		d := Plan(sample(test.options, test.cluster))
		if got := reasons(d.Problems); !hasAll(got, test.problems) || len(d.Problems) != len(test.problems) {
			t.Errorf("%s: problems\n%s\nwant %q", test.rule, got, test.problems)
		}
		if got := reasons(d.Warnings); !hasAll(got, test.warnings) || len(d.Warnings) != len(test.warnings) {
			t.Errorf("%s: warnings\n%s\nwant %q", test.rule, got, test.warnings)
		}
	}
}

func hasAll(text string, parts []string) bool {
	return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(text, p) })
}

// Handlers that share a task bind the claims of all of them, where each binds but one.
func TestTwoClaimsOfOneTaskOfHandlers(t *testing.T) {
	step := func(name string, volumes ...string) Step { return Step{Name: name, Volumes: volumes} }
	r := Request{
		Options: Options{Claims: PerVolume}, Volumes: []Volume{{Name: "x"}, {Name: "y"}},
		Steps: []Step{step("a", "x"), step("b", "y")}, Handlers: [][]Step{{step("c", "x"), step("d", "y")}},
	}
	if d := Plan(r); len(d.Problems) != 1 || !strings.Contains(d.Problems[0].Text, "the task of step c would bind 2 claims") {
		t.Errorf("problems %v, want one about the task of c", d.Problems)
	}
	r.Handlers = [][]Step{{step("c", "x")}, {step("d", "y")}}
	if d := Plan(r); len(d.Problems) > 0 {
		t.Errorf("apart, they have problems %v", d.Problems)
	}
}

// Tasks can run on any node where neither the storage nor Tekton keeps them together.
func TestAnyNode(t *testing.T) {
	many := Options{AccessMode: manyNodes}
	for _, test := range []struct {
		options Options
		mode    Coschedule
		want    bool
	}{
		{Options{}, CoscheduleWorkspaces, false},
		{many, CoscheduleWorkspaces, false},
		{Options{Spread: true}, CoscheduleWorkspaces, true},
		{Options{Spread: true}, CoschedulePipelineRuns, false},
		{Options{Spread: true, AccessMode: oneNode}, CoscheduleWorkspaces, false},
		{Options{Spread: true, Layout: Pod}, CoscheduleWorkspaces, false},
		{Options{}, CoscheduleDisabled, false},
		{many, CoscheduleDisabled, true},
		{many, CoscheduleIsolate, false},
	} {
		if got := Plan(sample(test.options, clusterOf(test.mode, standard))).AnyNode; got != test.want {
			t.Errorf("with %+v and coschedule %s, tasks run on any node: %v, want %v", test.options, test.mode, got, test.want)
		}
	}
}

func TestChains(t *testing.T) {
	chain := func(steps ...Step) []Step {
		for i := range steps {
			steps[i].Name = string(rune('a' + i))
		}
		return steps
	}
	after := func(needs ...string) Step { return Step{Needs: needs} }
	for _, test := range []struct {
		rule  string
		steps []Step
		want  string
	}{
		{"a row is one", chain(after(), after("a"), after("b")), "[[a b c]]"},
		{"it ends at a fork", chain(after(), after("a"), after("b"), after("b")), "[[a b] [c] [d]]"},
		{"it ends at a join", chain(after(), after(), after("a", "b"), after("c")), "[[a] [b] [c d]]"},
		{"two branches", chain(after(), after("a"), after("a"), after("b"), after("c"), after("d", "e")), "[[a] [b d] [c e] [f]]"},
		{"other mounts begin another", chain(after(), Step{Needs: []string{"a"}, Mounts: "x"}, Step{Needs: []string{"b"}, Mounts: "x"}), "[[a] [b c]]"},
		{"a step that is to be alone", chain(after(), Step{Needs: []string{"a"}, Alone: true}, after("b")), "[[a] [b] [c]]"},
		{"a step that is to begin a task", chain(after(), Step{Needs: []string{"a"}, First: true}, after("b")), "[[a] [b c]]"},
		{"a step that is to end one", chain(after(), Step{Needs: []string{"a"}, Last: true}, after("b")), "[[a b] [c]]"},
		{"a step after one that is no task", chain(after(), Step{Needs: []string{"start"}}), "[[a] [b]]"},
		{"no step", nil, "[]"},
	} {
		if got := fmt.Sprint(tasks(Chains, test.steps)); got != test.want {
			t.Errorf("%s: %s, want %s", test.rule, got, test.want)
		}
	}
}

// A long row is cut, since a pod of very many containers cannot be stored.
func TestLongChains(t *testing.T) {
	steps := []Step{{Name: "0"}}
	for i := 1; i < 120; i++ {
		steps = append(steps, Step{Name: fmt.Sprint(i), Needs: []string{fmt.Sprint(i - 1)}})
	}
	var got []int
	for _, task := range tasks(Chains, steps) {
		got = append(got, len(task))
	}
	if want := []int{50, 50, 20}; !slices.Equal(got, want) {
		t.Errorf("120 steps in a row are in chains of %v, want %v", got, want)
	}
}
