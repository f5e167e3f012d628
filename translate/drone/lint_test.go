package drone

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lintCase is a file with what Lint says of its first pipeline, for a trusted and for an untrusted repository.
type lintCase struct{ rule, text, trusted, untrusted string }

func runLints(t *testing.T, cases []lintCase) {
	t.Helper()
	for _, test := range cases {
		m, list := Parse("f", []byte(test.text))
		if list.HasErrors() {
			t.Errorf("%s: Parse: %v", test.rule, list)
			continue
		}
		for trusted, want := range map[bool]string{true: test.trusted, false: test.trusted + "\n" + test.untrusted} {
			if diff := cmp.Diff(strings.TrimSpace(want), report(Lint(m.Pipelines[0], trusted))); diff != "" {
				t.Errorf("%s: Lint(trusted: %v) of\n%s(-want +got):\n%s", test.rule, trusted, test.text, diff)
			}
		}
	}
}

func TestLintNames(t *testing.T) {
	name100 := strings.Repeat("é", 100)
	runLints(t, []lintCase{
		{rule: "a step without a name", text: dockerHead + "steps:\n- image: i\n",
			trusted: "f:5:3: error: the step has no name; Drone refuses it; add a name [step-name]"},
		{rule: "a service without a name", text: dockerHead + "services:\n- image: i\n" + stepHead,
			trusted: "f:5:3: warning: the service has no name, so no step can reach it by one; add a name [step-name]"},
		{rule: "100 characters", text: dockerHead + "steps:\n- name: " + name100 + "\n  image: i\n"},
		{rule: "101 characters", text: dockerHead + "steps:\n- name: " + name100 + "x\n  image: i\n",
			trusted: "f:5:3: error: the name has more than 100 characters; Drone refuses it; shorten it [step-name]"},
		{rule: "two steps of one name", text: dockerHead + stepHead + "- name: a\n  image: i\n",
			trusted: `f:7:3: error: the name "a" is used twice; Drone refuses that; give every step and service a name of its own [duplicate-name]`},
		{rule: "a step and a service of one name", text: dockerHead + "services:\n- name: a\n  image: i\n" + stepHead,
			trusted: `f:8:3: error: the name "a" is used twice; Drone refuses that; give every step and service a name of its own [duplicate-name]`},
		{rule: "clone is reserved", text: dockerHead + "steps:\n- name: clone\n  image: i\n",
			trusted: "f:5:3: error: the name clone belongs to the step that fetches the source; rename it, or set clone.disable: true [duplicate-name]"},
		{rule: "clone is free where cloning is disabled", text: dockerHead + "clone: {disable: true}\nsteps:\n- name: clone\n  image: i\n"},
		{rule: "no image", text: dockerHead + "steps:\n- name: a\n",
			trusted: `f:5:3: error: the step "a" has no image; Drone refuses it; add an image [image-missing]`},
		{rule: "no steps", text: dockerHead, trusted: "f:1:1: warning: the pipeline has no steps; add steps [step-name]"},
	})
}

func TestLintDependencies(t *testing.T) {
	steps := func(a, b string) string {
		return dockerHead + "services:\n- {name: s, image: i}\nsteps:\n- name: a\n  image: i\n  depends_on: [" + a +
			"]\n- name: b\n  image: i\n  depends_on: [" + b + "]\n"
	}
	runLints(t, []lintCase{
		{rule: "a step before, the clone, a service", text: steps("clone, s", "a")},
		{rule: "itself", text: steps("a", "a"),
			trusted: `f:9:16: error: the step "a" depends on itself; Drone refuses that; remove it [depends-on]`},
		{rule: "a step after it", text: steps("b", "a"),
			trusted: `f:9:16: error: the step "a" depends on "b", which stands after it; Drone refuses that; move "b" before it [depends-on]`},
		{rule: "no step", text: steps("clon", "a"),
			trusted: `f:9:16: error: the step "a" depends on "clon", and there is no such step; Drone refuses that; correct the name (did you mean clone?) [depends-on]`},
		{rule: "the clone that is disabled", text: steps("clone", "a") + "clone: {disable: true}\n",
			trusted: `f:9:16: error: there is no step clone to depend on, because cloning is disabled; remove it [depends-on]`},
	})
}

// One depends_on anywhere makes the other steps start at once.
func TestLintGraphMode(t *testing.T) {
	runLints(t, []lintCase{
		{rule: "serial", text: dockerHead + stepHead + "- {name: b, image: i}\n"},
		{rule: "mixed", text: dockerHead + stepHead + "- {name: b, image: i}\n- {name: c, image: i, depends_on: [a]}\n- {name: d, image: i}\n",
			trusted: `f:7:4: warning: because "c" has depends_on, the order of the file does not count, and steps without depends_on start at once: "b", "d"; give each step the depends_on that it needs [graph-mode]`},
		{rule: "a whole graph", text: dockerHead + stepHead + "- {name: b, image: i, depends_on: [a]}\n- {name: c, image: i, depends_on: [a]}\n"},
	})
}

func TestLintVolumes(t *testing.T) {
	mount := func(name, path string) string {
		return kubernetesHead + stepHead + "  volumes:\n  - name: " + name + "\n    path: " + path + "\nvolumes:\n- name: v\n  temp: {}\n"
	}
	runLints(t, []lintCase{
		{rule: "a declared volume", text: mount("v", "/x")},
		{rule: "an undeclared volume", text: mount("w", "/x"),
			trusted: `f:8:5: warning: the volume "w" is mounted and not declared; the mount is left out, as in Drone; declare it under volumes of the pipeline [undeclared-volume]`},
		{rule: "a reserved mount", text: mount("_workspace", "/x"),
			trusted: `f:8:5: error: the volume name "_workspace" is reserved; choose another name [volume]`},
		{rule: "reserved in type kubernetes", text: mount("_status", "/x"),
			trusted: `f:8:5: error: the volume name "_status" is reserved; choose another name [volume]`},
		{rule: "below Drone's own directory", text: mount("v", "/run/drone/x"),
			trusted: `f:9:5: error: nothing can be mounted below /run/drone, which is Drone's own; choose another path [volume]`},
		{rule: "on the way there", text: mount("v", "/run/../run/drone"),
			trusted: `f:9:5: error: nothing can be mounted below /run/drone, which is Drone's own; choose another path [volume]`},
		{rule: "no path", text: mount("v", ""),
			trusted: `f:8:5: error: the mount of the volume "v" has no path; add a path [volume]`},
		{rule: "a reserved volume", text: kubernetesHead + stepHead + "volumes:\n- {name: _addons, temp: {}}\n",
			trusted: `f:8:4: error: the volume name "_addons" is reserved; choose another name [volume]`},
		{rule: "free in type docker", text: dockerHead + stepHead + "volumes:\n- {name: _addons, temp: {}}\n"},
		{rule: "no name", text: dockerHead + stepHead + "volumes:\n- {temp: {}}\n",
			trusted: `f:8:3: error: the volume has no name; Drone refuses it; add a name [volume]`},
		{rule: "no kind", text: dockerHead + stepHead + "volumes:\n- {name: v}\n",
			trusted: `f:8:3: warning: the volume "v" is of no kind that type docker has; Drone leaves it and its mounts out; add temp: {}, or another kind [volume]`},
		{rule: "twice", text: dockerHead + stepHead + "volumes:\n- {name: v, temp: {}}\n- {name: v, temp: {}}\n",
			trusted: `f:9:4: error: the volume "v" is declared twice; give every volume a name of its own [duplicate-name]`},
	})
}

func TestLintOfUntrustedRepositories(t *testing.T) {
	refused := func(place, what string) string {
		return "f:" + place + ": error: " + what + " is for trusted repositories only; ask an administrator of Drone to mark the repository as trusted [untrusted]"
	}
	volume := func(head, kind string) string { return head + stepHead + "volumes:\n- {name: v, " + kind + "}\n" }
	runLints(t, []lintCase{
		{rule: "privileged", text: dockerHead + stepHead + "  privileged: true\n", untrusted: refused("7:3", "privileged")},
		{rule: "devices", text: dockerHead + stepHead + "  devices: [{name: d, path: /dev/x}]\n", untrusted: refused("7:3", "devices")},
		{rule: "dns", text: dockerHead + stepHead + "  dns: [1.1.1.1]\n", untrusted: refused("7:3", "dns")},
		{rule: "dns_search", text: dockerHead + stepHead + "  dns_search: [x]\n", untrusted: refused("7:3", "dns_search")},
		{rule: "extra_hosts", text: dockerHead + stepHead + "  extra_hosts: ['a:b']\n", untrusted: refused("7:3", "extra_hosts")},
		{rule: "network_mode", text: dockerHead + stepHead + "  network_mode: host\n", untrusted: refused("7:3", "network_mode")},
		{rule: "shm_size", text: dockerHead + stepHead + "  shm_size: 1g\n", untrusted: refused("7:3", "shm_size")},
		{rule: "host", text: volume(dockerHead, "host: {path: /x}"), untrusted: refused("8:13", "a host volume")},
		{rule: "memory", text: volume(dockerHead, "temp: {medium: memory}"), untrusted: refused("8:20", "a temp volume in memory")},
		{rule: "claim", text: volume(kubernetesHead, "claim: {name: c}"), untrusted: refused("8:13", "a claim volume")},
		{rule: "config_map", text: volume(kubernetesHead, "config_map: {name: c}"), untrusted: refused("8:13", "a config_map volume")},
		{rule: "secret", text: volume(kubernetesHead, "secret: {name: c}"), untrusted: refused("8:13", "a secret volume")},
		{rule: "temp", text: volume(dockerHead, "temp: {}")},
	})
}

func TestLintLimitsOfAPipeline(t *testing.T) {
	runLints(t, []lintCase{{rule: "limits", text: kubernetesHead + "resources: {limits: {cpu: 100}}\n" + stepHead,
		trusted: "f:4:13: error: a pipeline cannot have resources.limits; Drone refuses it; set limits on the steps, and requests on the pipeline [resources]"}})
}

func TestLintManifest(t *testing.T) {
	doc := func(text string) string { return "---\nkind: pipeline\n" + text + "steps: [{name: a, image: i}]\n" }
	runChecks(t, []checkCase{
		{"names", doc("name: p\n") + doc("name: q\ndepends_on: [p]\n"), ""},
		{"a name twice", doc("name: p\n") + doc("name: p\n"),
			`f:7:1: error: two pipelines have the name "p"; Drone refuses that; give every pipeline a name of its own [duplicate-name]`},
		{"no name is default", doc("") + doc("name: default\n"),
			`f:6:1: error: two pipelines have the name "default"; Drone refuses that; give every pipeline a name of its own [duplicate-name]`},
		{"itself", doc("name: p\ndepends_on: [p]\n"),
			`f:4:14: error: the pipeline "p" depends on itself; Drone refuses that; remove it [depends-on]`},
		{"a later pipeline", doc("name: p\ndepends_on: [q]\n") + doc("name: q\n"),
			`f:4:14: error: the pipeline "p" depends on "q", and no pipeline of this name stands before it; Drone refuses that; name a pipeline that stands before it [depends-on]`},
		{"a pipeline of another type", doc("type: exec\nname: p\n") + doc("name: q\ndepends_on: [p]\n"),
			"f:2:1: warning: the pipeline is of type exec, which has no counterpart in Tekton, and is left out; keep a Drone runner for it [type-skipped]"},
		{"a platform", doc("name: p\nplatform: {os: linux, arch: arm64}\n"), ""},
		{"an unknown platform", doc("name: p\nplatform: {os: plan9, arch: mips}\n"),
			"f:4:12: error: the operating system plan9 is unknown to Drone, which refuses the file; linux is possible [platform]\n" +
				"f:4:23: error: the architecture mips is unknown to Drone, which refuses the file; amd64, arm64 and arm are possible [platform]"},
		{"any platform in type kubernetes", doc("type: kubernetes\nname: p\nplatform: {arch: ppc64le}\n"), ""},
	})
}
