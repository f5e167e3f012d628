package translate

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// What a step runs. Commands run in a shell and win over entrypoint and command; the kubernetes runner lets the
// entrypoint win, and splits one text with spaces in a shell.
func TestCommandLineOfAStep(t *testing.T) {
	script := []string{"/bin/sh", "-c", "set -e\n\nprintf '%s\\n' '+ ls'\nls\n"}
	for _, test := range []struct {
		keys               string
		docker, kubernetes []string
	}{
		{"", nil, nil},
		{"commands: [ls]", script, script},
		{"commands: []", nil, nil},
		{"command: [a, b c]", []string{"a", "b c"}, []string{"a", "b c"}},
		{"entrypoint: [e]", []string{"e"}, []string{"e"}},
		{"entrypoint: [e, -x], command: [a, b c]", []string{"e", "-x", "a", "b c"}, []string{"e", "-x", "a", "b c"}},
		{"entrypoint: [e, b c]", []string{"e", "b c"}, []string{"e", "b c"}},
		{"entrypoint: ['e -x y']", []string{"e -x y"}, []string{"/bin/sh", "-c", "e -x y"}},
		{"entrypoint: ['e -x'], command: [a, b]", []string{"e -x", "a", "b"}, []string{"/bin/sh", "-c", "e -x a b"}},
		{"entrypoint: [e], commands: [ls]", script, []string{"e"}},
		{"command: [a], commands: [ls]", script, script},
	} {
		for head, want := range map[string][]string{dockerHead: test.docker, kubernetesHead: test.kubernetes} {
			step := stepOf(t, converted(t, head+"steps: [{name: a, image: i, "+test.keys+"}]\n"), "a")
			if diff := cmp.Diff(want, slices.Concat(step.Command, step.Args)); diff != "" {
				t.Errorf("a step with %s in\n%s(-want +got):\n%s", test.keys, head, diff)
			}
			if step.Script != "" {
				t.Errorf("a step with %s has a script, in which Tekton replaces what it takes for its own", test.keys)
			}
		}
	}
}

// A plugin is an image with its own entrypoint; a command without an entrypoint is that entrypoint's arguments.
func TestEntrypointsOfImagesAreKept(t *testing.T) {
	for keys, args := range map[string][]string{"settings: {a: b}": nil, "command: [x]": {"x"}} {
		step := stepOf(t, converted(t, dockerHead+"steps: [{name: a, image: i, "+keys+"}]\n"), "a")
		if len(step.Command) > 0 || !slices.Equal(step.Args, args) {
			t.Errorf("a step with %s has the command %q and the arguments %q, want none and %q", keys, step.Command,
				step.Args, args)
		}
	}
}

// When the image is pulled: as the step says; else, with docker, always for the tag latest, which is Kubernetes' own
// rule, and with kubernetes never where it is there.
func TestPullPolicy(t *testing.T) {
	for _, test := range []struct{ keys, docker, kubernetes string }{
		{"image: i", "", "IfNotPresent"},
		{"image: 'i:latest'", "", "IfNotPresent"},
		{"image: 'i:1'", "", ""},
		{"image: 'i@sha256:0123'", "", ""},
		{"image: 'i:latest@sha256:0123'", "", ""},
		{"image: 'example.com:5000/i'", "", "IfNotPresent"},
		{"image: i, pull: always", "Always", "Always"},
		{"image: i, pull: if-not-exists", "IfNotPresent", "IfNotPresent"},
		{"image: i, pull: never", "Never", "Never"},
		{"image: i, pull: default", "", "IfNotPresent"},
	} {
		for head, want := range map[string]string{dockerHead: test.docker, kubernetesHead: test.kubernetes} {
			if got := stepOf(t, converted(t, head+"steps: [{name: a, "+test.keys+"}]\n"),
				"a").ImagePullPolicy; string(got) != want {
				t.Errorf("a step with %s has the pull policy %q, want %q, in\n%s", test.keys, got, want, head)
			}
		}
	}
}

// Users are numbers in a Pod; root is 0 everywhere, and other names are told.
func TestUserAndGroup(t *testing.T) {
	id := func(n int64) *int64 { return &n }
	for _, test := range []struct {
		head, keys  string
		user, group *int64
		told        bool
	}{
		{dockerHead, "", nil, nil, false},
		{dockerHead, "user: root", id(0), nil, false},
		{dockerHead, "user: 0", id(0), nil, false},
		{dockerHead, "user: 1000", id(1000), nil, false},
		{dockerHead, "user: '1000'", id(1000), nil, false},
		{dockerHead, "user: '1000:2000'", id(1000), id(2000), false},
		{dockerHead, "user: 'root:root'", id(0), id(0), false},
		{dockerHead, "user: node", nil, nil, true},
		{dockerHead, "user: '-1'", nil, nil, true},
		{kubernetesHead, "user: 1000", id(1000), nil, false},
		{kubernetesHead, "user: 1000, group: 3000", id(1000), id(3000), false},
		{kubernetesHead, "group: 3000", nil, id(3000), false},
		{kubernetesHead, "user: 0", id(0), nil, false},
	} {
		b, list := convert(t, test.head+"steps: [{name: a, image: i, "+test.keys+"}]\n")
		if list.HasErrors() {
			t.Errorf("a step with %s: %s", test.keys, report(list))
			continue
		}
		sc := stepOf(t, b, "a").SecurityContext
		if sc == nil {
			sc = &corev1.SecurityContext{}
		}
		if diff := cmp.Diff([]*int64{test.user, test.group}, []*int64{sc.RunAsUser, sc.RunAsGroup}); diff != "" {
			t.Errorf("user and group of a step with %s (-want +got):\n%s", test.keys, diff)
		}
		if told := about(list, CodeUser); (len(told) > 0) != test.told {
			t.Errorf("said of the user of a step with %s: %q", test.keys, told)
		}
	}
}

// New volumes belong to root on most storage; where the pipeline names a user, its group owns them.
func TestGroupOfVolumes(t *testing.T) {
	for _, test := range []struct {
		steps string
		want  int64
		set   int64
	}{
		{"{name: a, image: i}", 0, 0},
		{"{name: a, image: i, user: root}", 0, 0},
		{"{name: a, image: i, user: '1000'}", 1000, 0},
		{"{name: a, image: i, user: '1000:2000'}", 2000, 0},
		{"{name: a, image: i, user: '0'}, {name: b, image: i, user: '1001'}", 1001, 0},
		{"{name: a, image: i, user: '1000'}", 5, 5},
		{"{name: a, image: i}", 5, 5},
	} {
		b := converted(t, dockerHead+"steps: ["+test.steps+"]\n", func(_ *Facts, o *Options) { o.FSGroup = test.set })
		var got int64
		if sc := b.PipelineRun.Spec.TaskRunTemplate.PodTemplate.SecurityContext; sc != nil && sc.FSGroup != nil {
			got = *sc.FSGroup
		}
		if got != test.want {
			t.Errorf("steps %s with the option %d: fsGroup %d, want %d", test.steps, test.set, got, test.want)
		}
	}
}

// Keys of docker containers that a Pod does not have are answered, each where it stands.
func TestKeysOfDockerAlone(t *testing.T) {
	text := dockerHead + `steps:
- name: a
  image: i
  devices: [{name: d, path: /dev/d}]
  dns: [1.1.1.1]
  dns_search: [example.com]
  extra_hosts: ["h:1.1.1.1"]
  network_mode: host
  memswap_limit: 1GiB
  shm_size: 1GiB
`
	_, list := convert(t, text)
	var got []string
	for _, d := range list.Sorted() {
		if d.Code == CodeDockerOnly {
			got = append(got, d.Position.String()+" "+strings.Fields(d.Message)[0])
		}
	}
	want := []string{"f:7:3 devices", "f:8:3 dns", "f:9:3 dns_search", "f:10:3 extra_hosts", "f:11:3 network_mode",
		"f:12:3 memswap_limit", "f:13:3 shm_size"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is said of keys of docker (-want +got):\n%s", diff)
	}
}

// A step whose failure is ignored goes on as a step of its task, so that the task has not failed for those that look.
func TestIgnoredFailure(t *testing.T) {
	b := converted(t, dockerHead+"steps: [{name: a, image: i, failure: ignore}, {name: b, image: i, failure: fail}]\n")
	for task, want := range map[string]string{"a": "continue", "b": ""} {
		pt := taskOf(t, b, task)
		if got := pt.TaskSpec.Steps[0].OnError; string(got) != want || pt.OnError != "" {
			t.Errorf("task %s: onError of the step is %q, of the task %q, want %q and none", task, got, pt.OnError,
				want)
		}
	}
}

// Every task has a time limit, the pipeline's: Tekton would give it an hour, however long the pipeline may take.
func TestTimeouts(t *testing.T) {
	text := dockerHead + "steps: [{name: a, image: i}, {name: b, image: i, when: {status: [failure]}}]\n"
	for _, test := range []struct {
		rule   string
		change func(*Facts, *Options)
		want   string
	}{
		{"an hour", func(*Facts, *Options) {}, "1h0m0s"},
		{"the runner's", func(_ *Facts, o *Options) { o.Timeout = 90e9 }, "1m30s"},
		{"the repository's, in minutes", func(f *Facts, o *Options) { f.Repo.Timeout, o.Timeout = 120, 90e9 },
			"2h0m0s"},
	} {
		b := converted(t, text, test.change)
		got := map[string]string{"run": b.PipelineRun.Spec.Timeouts.Pipeline.Duration.String()}
		for _, pt := range slices.Concat(b.PipelineRun.Spec.PipelineSpec.Tasks,
			b.PipelineRun.Spec.PipelineSpec.Finally) {
			got[pt.Name] = pt.Timeout.Duration.String()
		}
		if diff := cmp.Diff(map[string]string{"run": test.want, "clone": test.want, "a": test.want, "b": test.want},
			got); diff != "" {
			t.Errorf("%s: timeouts (-want +got):\n%s", test.rule, diff)
		}
	}
}

func TestCloneStep(t *testing.T) {
	for _, test := range []struct {
		clone string
		want  map[string]string
	}{
		{"{}", map[string]string{}},
		{"{depth: 50}", map[string]string{"PLUGIN_DEPTH": "50"}},
		{"{depth: 1, retries: 3, skip_verify: true, trace: true}", map[string]string{
			"PLUGIN_DEPTH": "1", "PLUGIN_RETRIES": "3", "PLUGIN_SKIP_VERIFY": "true", "GIT_SSL_NO_VERIFY": "true",
			"GIT_TRACE": "true",
		}},
	} {
		b := converted(t, dockerHead+"clone: "+test.clone+"\nsteps: [{name: a, image: i}]\n")
		step := stepOf(t, b, "clone")
		if step.Image != "drone/git:latest" || step.ImagePullPolicy != corev1.PullIfNotPresent || len(step.Command)+
			len(step.Args) > 0 || step.WorkingDir != "/drone/src" {
			t.Errorf("clone: %s: the step is %+v", test.clone, step)
		}
		got := map[string]string{}
		for name, value := range started(t, b, "clone").env {
			if strings.HasPrefix(name, "PLUGIN_") || name == "GIT_SSL_NO_VERIFY" || name == "GIT_TRACE" {
				got[name] = value
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("clone: %s: variables (-want +got):\n%s", test.clone, diff)
		}
	}
	b := converted(t, dockerHead+"steps: [{name: a, image: i}]\n",
		func(_ *Facts, o *Options) { o.CloneImage = "mine/git:1" })
	if got := stepOf(t, b, "clone").Image; got != "mine/git:1" {
		t.Errorf("the image of the clone step is %s, want the one that was chosen", got)
	}
	b = converted(t, dockerHead+"clone: {disable: true}\nsteps: [{name: a, image: i}]\n")
	if got := taskNames(b.PipelineRun.Spec.PipelineSpec.Tasks); !slices.Equal(got, []string{"a"}) {
		t.Errorf("tasks without cloning are %v", got)
	}
}
