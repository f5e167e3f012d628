package translate

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// A later source of a variable wins over an earlier one, in Drone's order: the runner's own variables, build
// parameters, the pipeline's environment, what Drone knows, the step's environment, its settings, its secrets. The
// docker runner sets the variables of build, stage and step once more when a step starts.
func TestPrecedenceOfVariables(t *testing.T) {
	const step = "clone: {disable: true}\nsteps:\n- name: a\n  image: i\n"
	runner := func(name string) func(*Facts, *Options) {
		return func(_ *Facts, o *Options) { o.Environment = map[string]string{name: "runner"} }
	}
	param := func(name string) func(*Facts, *Options) {
		return func(f *Facts, _ *Options) { f.Build.Params = map[string]string{name: "parameter"} }
	}
	both := func(name string) func(*Facts, *Options) {
		return func(f *Facts, o *Options) { runner(name)(f, o); param(name)(f, o) }
	}
	for _, test := range []struct {
		rule, text         string
		change             func(*Facts, *Options)
		variable           string
		docker, kubernetes string
	}{
		{"the runner's own", step, runner("X"), "X", "runner", "runner"},
		{"parameters over the runner's", step, both("X"), "X", "parameter", "parameter"},
		{"the pipeline's over parameters", "environment: {X: pipeline}\n" + step, both("X"), "X", "pipeline",
			"pipeline"},
		{"the step's over the pipeline's", "environment: {X: pipeline}\n" + step + "  environment: {X: step}\n",
			both("X"), "X", "step", "step"},
		{"system over the pipeline's", "environment: {DRONE_SYSTEM_HOST: p}\n" + step, both("DRONE_SYSTEM_HOST"),
			"DRONE_SYSTEM_HOST",
			"drone.example.com", "drone.example.com"},
		{"repository over the pipeline's", "environment: {DRONE_REPO: p}\n" + step, both("DRONE_REPO"), "DRONE_REPO",
			"octocat/hello", "octocat/hello"},
		{"build over the pipeline's", "environment: {DRONE_BRANCH: p}\n" + step, both("DRONE_BRANCH"), "DRONE_BRANCH",
			"main", "main"},
		{"stage over the pipeline's", "environment: {DRONE_STAGE_NAME: p}\n" + step, both("DRONE_STAGE_NAME"),
			"DRONE_STAGE_NAME", "default", "default"},
		{"link over the pipeline's", "environment: {DRONE_BUILD_LINK: p}\n" + step, both("DRONE_BUILD_LINK"),
			"DRONE_BUILD_LINK",
			"https://drone.example.com/octocat/hello/7", "https://drone.example.com/octocat/hello/7"},
		{"git over the pipeline's", "environment: {GIT_AUTHOR_NAME: p}\n" + step, both("GIT_AUTHOR_NAME"),
			"GIT_AUTHOR_NAME", "drone", "drone"},
		{"workspace over the pipeline's", "environment: {DRONE_WORKSPACE: p}\n" + step, both("DRONE_WORKSPACE"),
			"DRONE_WORKSPACE", "/drone/src", "/drone/src"},
		{"the step's over system", step + "  environment: {DRONE_SYSTEM_HOST: s}\n", nil, "DRONE_SYSTEM_HOST", "s",
			"s"},
		{"the step's over repository", step + "  environment: {DRONE_REPO: s}\n", nil, "DRONE_REPO", "s", "s"},
		{"the step's over git", step + "  environment: {GIT_AUTHOR_NAME: s}\n", nil, "GIT_AUTHOR_NAME", "s", "s"},
		{"the step's over link", step + "  environment: {DRONE_BUILD_LINK: s}\n", nil, "DRONE_BUILD_LINK", "s", "s"},
		{"the step's over workspace", step + "  environment: {DRONE_WORKSPACE: s}\n", nil, "DRONE_WORKSPACE", "s", "s"},
		{"build over the step's, in docker", step + "  environment: {DRONE_BRANCH: s}\n", nil, "DRONE_BRANCH", "main",
			"s"},
		{"the commit over the step's, in docker", step + "  environment: {DRONE_COMMIT_MESSAGE: s, CI_COMMIT_SHA: s}\n",
			nil, "CI_COMMIT_SHA",
			"c0ffee0123456789", "s"},
		{"the state over the step's, in docker", step + "  environment: {DRONE_BUILD_STATUS: s}\n", nil,
			"DRONE_BUILD_STATUS", "success", "s"},
		{"stage over the step's, in docker", step + "  environment: {DRONE_STAGE_NAME: s}\n", nil, "DRONE_STAGE_NAME",
			"default", "s"},
		{"a step cannot rename itself", step + "  environment: {DRONE_STEP_NAME: s}\n", nil, "DRONE_STEP_NAME", "a",
			"a"},
		{"settings over the step's", step + "  environment: {PLUGIN_X: s}\n  settings: {x: setting}\n", nil, "PLUGIN_X",
			"setting", "setting"},
		{"a secret over settings", step + "  environment: {PLUGIN_X: {from_secret: k}}\n  settings: {x: setting}\n",
			nil, "PLUGIN_X",
			"secret drone-secrets/k", "secret drone-secrets/k"},
		{"a secret over all", "environment: {X: pipeline}\n" + step + "  environment: {X: {from_secret: k}}\n",
			both("X"), "X",
			"secret drone-secrets/k", "secret drone-secrets/k"},
		{"a secret over the build, in docker too", step + "  environment: {DRONE_BRANCH: {from_secret: k}}\n", nil,
			"DRONE_BRANCH",
			"secret drone-secrets/k", "secret drone-secrets/k"},
		{"a variable without value is none", "environment: {X: pipeline}\n" + step + "  environment: {X: ~}\n", nil,
			"X", "pipeline", "pipeline"},
		{"an explicit value", step + "  environment: {X: {value: v}}\n", nil, "X", "v", "v"},
		{"a setting without value is none", step + "  environment: {PLUGIN_X: s}\n  settings: {x: ~}\n", nil,
			"PLUGIN_X", "s", "s"},
		{"an empty variable is not passed, in docker", step + "  environment: {X: ''}\n", nil, "X", "unset", ""},
		{"an empty setting is not passed, in docker", step + "  settings: {x: [], y: ''}\n", nil, "PLUGIN_X", "unset",
			""},
		{"an empty fact is not passed, in docker", step, nil, "DRONE_DEPLOY_TO", "unset", ""},
		{"an empty text hides the pipeline's", "environment: {X: pipeline}\n" + step + "  environment: {X: ''}\n", nil,
			"X", "unset", ""},
	} {
		for head, want := range map[string]string{dockerHead: test.docker, kubernetesHead: test.kubernetes} {
			var changes []func(*Facts, *Options)
			if test.change != nil {
				changes = append(changes, test.change)
			}
			p := started(t, converted(t, head+test.text, changes...), "a")
			got, ok := p.env[test.variable]
			if !ok {
				got = "unset"
			}
			if s, ok := p.secrets[test.variable]; ok {
				got = "secret " + s
			}
			if got != want {
				t.Errorf("%s: %s = %q in\n%s, want %q", test.rule, test.variable, got, head+test.text, want)
			}
		}
	}
}

// What a step finds in its environment beside facts of the build.
func TestVariablesOfAStep(t *testing.T) {
	text := "workspace: {path: src}\nclone: {skip_verify: true, trace: true}\nsteps:\n- {name: one, image: i}\n" +
		"- {name: A b, image: i}\n"
	for head, want := range map[string]map[string]string{
		dockerHead: {
			"DRONE_STEP_NAME": "A b", "DRONE_STEP_NUMBER": "3", "DRONE_WORKSPACE": "/drone/src/src",
			"DRONE_WORKSPACE_BASE": "/drone/src",
			"DRONE_WORKSPACE_PATH": "src", "GIT_AUTHOR_NAME": "drone", "GIT_AUTHOR_EMAIL": "noreply@drone",
			"GIT_COMMITTER_NAME":  "drone",
			"GIT_COMMITTER_EMAIL": "noreply@drone", "GIT_TERMINAL_PROMPT": "0", "GIT_TRACE": "true",
			"GIT_SSL_NO_VERIFY": "true",
		},
		kubernetesHead: {
			"DRONE_STEP_NAME": "A b", "DRONE_STEP_NUMBER": "3", "DRONE_WORKSPACE": "/src",
			"GIT_AUTHOR_NAME": "drone", "GIT_AUTHOR_EMAIL": "noreply@drone", "GIT_COMMITTER_NAME": "drone",
			"GIT_COMMITTER_EMAIL": "noreply@drone", "GIT_TERMINAL_PROMPT": "0", "GIT_TRACE": "true",
			"GIT_SSL_NO_VERIFY": "true",
		},
	} {
		b := converted(t, head+text)
		got := started(t, b, "a-b").env
		facts := b.Plan.Facts
		for name, value := range facts.Substitutions() {
			if v, ok := got[name]; ok && v != value || !ok && value != "" {
				t.Errorf("%s = %q, %v, want %q", name, v, ok, value)
			}
			delete(got, name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("variables of a step in\n%s(-want +got):\n%s", head, diff)
		}
	}
}

func TestAuthorOfGit(t *testing.T) {
	f := full()
	got := gitVariables(parsePipeline(t, dockerHead+"steps: [{name: a, image: i}]\n"), f)
	want := map[string]string{
		"GIT_AUTHOR_NAME": "The Octocat", "GIT_AUTHOR_EMAIL": "octocat@example.com",
		"GIT_COMMITTER_NAME": "The Octocat", "GIT_COMMITTER_EMAIL": "octocat@example.com", "GIT_TERMINAL_PROMPT": "0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("variables of git (-want +got):\n%s", diff)
	}
}

// Texts of all kinds reach the process as they were written: variables, settings, facts, commands, arguments.
func TestTextsArriveByteForByte(t *testing.T) {
	for _, text := range textsLikeReferences {
		if strings.ContainsAny(text, "\x00\r") || !utf8.ValidString(text) { // not in YAML
			continue
		}
		quoted := yamlQuote(text)
		body := "clone: {disable: true}\nsteps:\n- name: a\n  image: i\n  entrypoint: [e, " + quoted +
			"]\n  command: [" + quoted + "]\n" +
			"  environment: {X: " + quoted + "}\n  settings: {x: " + quoted + ", l: [" + quoted + ", b]}\n"
		for _, head := range []string{dockerHead, kubernetesHead} {
			p := started(t, converted(t, head+body, func(f *Facts, o *Options) {
				f.Build.Message = text
				o.Environment = map[string]string{"RUNNER": text}
			}), "a")
			if diff := cmp.Diff([]string{"e", text, text}, p.argv); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			for name, want := range map[string]string{
				"X": text, "PLUGIN_X": text, "PLUGIN_L": text + ",b", "DRONE_COMMIT_MESSAGE": text, "RUNNER": text,
			} {
				if got, ok := p.env[name]; got != want || !ok && (want != "" || head == kubernetesHead) {
					t.Errorf("%s = %q, want %q", name, got, want)
				}
			}
		}
	}
}

// Tekton replaces references to results of steps in the environment of the running process, and ends a step where there
// is no such result. Nothing can be escaped there, so these texts, and no others, reach the process with a space.
func TestResultsOfStepsInVariablesGetASpace(t *testing.T) {
	const text = "a $(steps.x.results.y) $$(steps.x.outputs) b"
	p := started(t,
		converted(t, dockerHead+"clone: {disable: true}\nsteps:\n- name: a\n  image: i\n  environment: {X: "+
			yamlQuote(text)+"}\n",
			func(f *Facts, _ *Options) { f.Build.Message = text }), "a")
	const want = "a $ (steps.x.results.y) $$ (steps.x.outputs) b"
	for _, name := range []string{"X", "DRONE_COMMIT_MESSAGE"} {
		if got := p.env[name]; got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

// Variables that all steps have are written once for the run, and no step has one twice.
func TestCommonVariablesAreWrittenOnce(t *testing.T) {
	b := converted(t, kubernetesHead+"environment: {SHARED: s, MIXED: p}\nsteps:\n"+
		"- {name: a, image: i, environment: {MIXED: a}}\n- {name: b, image: i, environment: {DRONE_BRANCH: own}}\n")
	var shared []string
	for _, v := range b.PipelineRun.Spec.TaskRunTemplate.PodTemplate.Env {
		shared = append(shared, v.Name)
	}
	for _, name := range []string{"SHARED", "DRONE_REPO", "KUBERNETES_NODE"} {
		if !slices.Contains(shared, name) {
			t.Errorf("%s is not among the variables of the run: %v", name, shared)
		}
	}
	for _, task := range []string{"clone", "a", "b"} {
		seen := map[string]bool{}
		for _, v := range stepOf(t, b, task).Env {
			if slices.Contains(shared, v.Name) || seen[v.Name] {
				t.Errorf("task %s: %s is set twice, and Kubernetes takes the last", task, v.Name)
			}
			seen[v.Name] = true
		}
	}
	got := map[string]string{}
	for _, task := range []string{"clone", "a", "b"} {
		env := started(t, b, task).env
		got[task] = env["SHARED"] + " " + env["MIXED"] + " " + env["DRONE_BRANCH"]
	}
	if diff := cmp.Diff(map[string]string{"clone": "s p main", "a": "s a main", "b": "s p own"}, got); diff != "" {
		t.Errorf("SHARED, MIXED and DRONE_BRANCH by task (-want +got):\n%s", diff)
	}
}

func TestSecretsAreReferences(t *testing.T) {
	b, list := convert(t, dockerHead+`steps:
- name: a
  image: i
  environment: {A: {from_secret: Token}, B: {from_secret: token}, C: {from_secret: a b/c}}
  settings: {password: {from_secret: other}}
- name: b
  image: i
  environment: {A: {from_secret: a b_c}}
`, func(_ *Facts, o *Options) { o.SecretName = "mine" })
	if list.HasErrors() {
		t.Fatal(list)
	}
	p := started(t, b, "a")
	if p.secrets["A"] != "mine/Token" || p.secrets["B"] != "mine/Token" {
		t.Errorf("A is %s, B is %s: Drone finds secrets without regard to case, and the first spelling counts",
			p.secrets["A"], p.secrets["B"])
	}
	if got := p.secrets["PLUGIN_PASSWORD"]; got != "mine/other" {
		t.Errorf("PLUGIN_PASSWORD is %s, want mine/other", got)
	}
	if c, other := p.secrets["C"], started(t, b, "b").secrets["A"]; c == other {
		t.Errorf("the secrets %q and %q are both %s", "a b/c", "a b_c", c)
	}
	for _, pt := range b.PipelineRun.Spec.PipelineSpec.Tasks {
		for _, v := range pt.TaskSpec.Steps[0].Env {
			if v.ValueFrom != nil && (v.ValueFrom.SecretKeyRef.Optional == nil || !*v.ValueFrom.SecretKeyRef.Optional) {
				t.Errorf("%s of %s must be optional: a secret that is missing is no error to Drone", v.Name, pt.Name)
			}
		}
	}
	var names []string
	for _, s := range b.Secrets {
		names = append(names, strings.ToLower(s.Name))
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"a b/c", "a b_c", "other", "token"}, names); diff != "" {
		t.Errorf("secrets of the bundle (-want +got):\n%s", diff)
	}
	if got := about(list, CodeSecretNeeded); len(got) != 1 || !strings.Contains(got[0],
		"4 values from the Secret mine") {
		t.Errorf("what is said of secrets: %q", got)
	}
}

func TestKeysOfSecrets(t *testing.T) {
	seen := map[string]string{}
	for _, test := range []struct{ name, want string }{
		{"docker_password", "docker_password"}, {"a.b-c_D", "a.b-c_D"}, {"a b", "a_b-" + hash("a b")},
		{"a/b", "a_b-" + hash("a/b")},
		{".", "-" + hash(".")}, {"..", "-" + hash("..")}, {"..a", "a-" + hash("..a")}, {"é", "_-" + hash("é")},
		{strings.Repeat("x", 254), strings.Repeat("x", 200) + "-" + hash(strings.Repeat("x", 254))},
	} {
		got := secretKey(test.name)
		if got != test.want {
			t.Errorf("secretKey(%q) = %q, want %q", test.name, got, test.want)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("the secrets %q and %q have one key", test.name, other)
		}
		seen[got] = test.name
	}
}

func TestCredentialsOfCloningForTheCloneStepAlone(t *testing.T) {
	text := dockerHead + "steps: [{name: a, image: i, commands: [ls]}, {name: plugin, image: i}]\n"
	for only, want := range map[bool]map[string]bool{
		false: {"clone": true, "a": true, "plugin": true},
		true:  {"clone": true, "a": false, "plugin": false},
	} {
		b := converted(t, text, func(_ *Facts, o *Options) { o.Netrc, o.NetrcCloneOnly = "creds", only })
		got := map[string]bool{}
		for task := range want {
			got[task] = started(t, b, task).secrets["DRONE_NETRC_PASSWORD"] == "creds/password"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("clone only: %v: steps with the credentials (-want +got):\n%s", only, diff)
		}
	}
}
