package drone

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The head of a pipeline, three lines, and of its first step, three more.
const (
	dockerHead     = "kind: pipeline\ntype: docker\nname: p\n"
	kubernetesHead = "kind: pipeline\ntype: kubernetes\nname: p\n"
	stepHead       = "steps:\n- name: a\n  image: i\n"
)

type checkCase struct{ rule, text, want string }

func runChecks(t *testing.T, cases []checkCase) {
	t.Helper()
	for _, test := range cases {
		_, list := Parse("f", []byte(test.text))
		if diff := cmp.Diff(strings.TrimSpace(test.want), report(list)); diff != "" {
			t.Errorf("%s: diagnostics of\n%s(-want +got):\n%s", test.rule, test.text, diff)
		}
	}
}

func TestUnknownKeys(t *testing.T) {
	step := dockerHead + stepHead
	runChecks(t, []checkCase{
		{"a misspelling", step + "  imgae: x\n",
			"f:7:3: warning: imgae is not a key of a step; Drone ignores it; did you mean image? [unknown-key]"},
		{"a known misspelling", step + "  when: {events: push}\n",
			"f:7:10: warning: events is not a key of when; Drone ignores it; did you mean event? [unknown-key]"},
		{"a key of another part", step + "  platform: {arch: arm64}\n",
			"f:7:3: warning: platform is not a key of a step; Drone ignores it; it belongs to the pipeline [unknown-key]"},
		{"a key of another CI system", step + "  script: [x]\n",
			"f:7:3: warning: script is not a key of a step; Drone ignores it; did you mean commands? [unknown-key]"},
		{"no idea", step + "  zzz: 1\n",
			"f:7:3: warning: zzz is not a key of a step; Drone ignores it [unknown-key]"},
		{"trigger", step + "trigger: {actions: [opened]}\n",
			"f:7:11: warning: actions is not a key of trigger; Drone ignores it; did you mean action? [unknown-key]"},
		{"clone", step + "clone: {image: x, recursive: true}\n",
			"f:7:9: warning: image is not a key of clone; Drone ignores it; it belongs to a step [unknown-key]\n" +
				"f:7:19: warning: recursive is not a key of clone; Drone ignores it [unknown-key]"},
		{"volume and mount", step + "  volumes:\n  - name: v\n    mountPath: /x\nvolumes:\n- name: v\n  emptyDir: {}\n",
			"f:9:5: warning: mountPath is not a key of a mount; Drone ignores it; did you mean path? [unknown-key]\n" +
				"f:12:3: warning: emptyDir is not a key of a volume; Drone ignores it; did you mean temp? [unknown-key]"},
		{"services", dockerHead + "services:\n- name: a\n  image: i\n  port: 80\n" + stepHead,
			"f:7:3: warning: port is not a key of a step; Drone ignores it; did you mean ports? [unknown-key]"},
		{"a place for anchors", dockerHead + "x: &x {image: i}\nsteps:\n- {name: a, <<: *x}\n", ""},
		{"other kinds", step + "---\nkind: secret\nname: s\ndata: x\nvalue: y\n",
			"f:11:1: warning: value is not a key of a document of kind secret; Drone ignores it [unknown-key]"},
		{"once, though it is merged twice", dockerHead + "x: &x {imge: i, image: i}\nsteps:\n- {<<: *x, name: a}\n- {<<: *x, name: b}\n",
			"f:4:8: warning: imge is not a key of a step; Drone ignores it; did you mean image? [unknown-key]"},
	})
}

func TestKeysOfTheOtherType(t *testing.T) {
	runChecks(t, []checkCase{
		{"docker", dockerHead + "node_selector: {a: b}\n" + stepHead + "  resources: {limits: {cpu: 1000m}}\n",
			"f:4:1: warning: node_selector is a key of type kubernetes; in type docker Drone ignores it; remove it, or set type: kubernetes [other-type]\n" +
				"f:8:3: warning: resources is a key of type kubernetes; in type docker Drone ignores it; remove it, or set type: kubernetes [other-type]"},
		{"kubernetes", kubernetesHead + stepHead + "  network_mode: host\n",
			"f:7:3: warning: network_mode is a key of type docker; in type kubernetes Drone ignores it; remove it, or set type: docker [other-type]"},
		{"group of type docker is of Drone 0.8", dockerHead + stepHead + "  group: build\n",
			"f:7:3: warning: Drone reads group and does nothing with it; remove it [ignored-key]"},
	})
	m, _ := Parse("f", []byte(dockerHead+"node_selector: {a: b}\nservice_account_name: x\n"+stepHead+"  volumes: [{name: v, path: /x, sub_path: y}]\nvolumes: [{name: v, temp: {}}]\n"))
	p := m.Pipelines[0]
	if p.NodeSelector != nil || p.ServiceAccountName != "" || p.Steps[0].Volumes[0].SubPath != "" {
		t.Errorf("keys that docker pipelines do not have were kept: %+v", p)
	}
}

func TestWrongShapes(t *testing.T) {
	step := dockerHead + stepHead
	runChecks(t, []checkCase{
		{"when as a list", step + "  when:\n  - event: push\n",
			"f:8:3: error: when must be a map, found a list; Drone has no lists of conditions: write one map, or a step for each [wrong-shape]"},
		{"environment as a list", step + "  environment:\n  - A=b\n",
			"f:8:3: error: environment must be a map of texts or from_secret, found a list; write NAME: value on each line, without dashes [wrong-shape]"},
		{"commands as one text", step + "  commands: |\n    make\n",
			"f:7:13: error: commands must be a list of texts, found a text; start a list: a dash before each item of commands [wrong-shape]"},
		{"a command with a colon", step + "  commands:\n  - echo a: b\n",
			"f:8:5: error: each item of commands must be a text, found a map; a colon and a space make it a map: put the whole text in quotes [wrong-shape]"},
		{"steps as a map", dockerHead + "steps:\n  a: {image: i}\n",
			"f:5:3: error: steps must be a list of maps, found a map; start each item with a dash [wrong-shape]"},
		{"an empty step", step + "-\n",
			"f:7:2: error: each item of steps must be a map, found nothing; remove the empty item [wrong-shape]"},
		{"a step that is a text", step + "- build\n",
			"f:7:3: error: each item of steps must be a map, found a text; write keys and values, such as name: … [wrong-shape]"},
		{"a scalar depends_on", step + "  depends_on: clone\n",
			"f:7:15: error: depends_on must be a list of texts, found a text; start a list: a dash before each item of depends_on [wrong-shape]"},
		{"a truth value in quotes", step + "  privileged: 'true'\n",
			"f:7:15: error: privileged must be true or false, found a text; write privileged: true, without quotes [wrong-shape]"},
		{"a number in quotes", step + "clone: {depth: '50'}\n",
			"f:7:16: error: depth must be a whole number, found a text; write depth: 50, without quotes [wrong-shape]"},
		{"a trigger that is a text", step + "trigger: push\n",
			"f:7:10: error: trigger must be a map, found a text [wrong-shape]"},
		{"a secret in the environment of a pipeline", step + "environment:\n  A: {from_secret: s}\n",
			"f:8:6: error: from_secret is not possible in the environment of a pipeline; move it to the environment of each step that needs it [wrong-shape]"},
		{"a list as a variable", step + "  environment: {A: [b]}\n",
			"f:7:20: error: the variable A must be a text or from_secret, found a list [wrong-shape]"},
		{"a size", step + "  mem_limit: many\n",
			"f:7:14: error: mem_limit must be a number of bytes, or a size such as 512MiB, found a text [wrong-shape]"},
		{"a user by name in type kubernetes", kubernetesHead + stepHead + "  user: root\n",
			"f:7:9: error: user must be a whole number, found a text; write the numeric id, such as 0 for root [wrong-shape]"},
		{"a user by name in type docker", step + "  user: root\n", ""},
		{"an amount of CPU as Kubernetes has it", kubernetesHead + stepHead + "  resources: {limits: {cpu: 500m}}\n",
			"f:7:29: error: cpu must be a whole number, found a text; write cpu: 500, in thousandths of a core [wrong-shape]"},
	})
}

func TestValuesThatSurprise(t *testing.T) {
	step := kubernetesHead + stepHead
	runChecks(t, []checkCase{
		{"half a core", step + "  resources: {limits: {cpu: 0.5}}\n",
			"f:7:29: warning: Drone cuts cpu: 0.5 to 0, which is no amount at all; write thousandths of a core: 500 is half a core [cpu-unit]"},
		{"one and a half", step + "  resources: {limits: {cpu: 1.5}}\n",
			"f:7:29: warning: Drone cuts cpu: 1.5 to 1 thousandths of a core; write thousandths of a core: 500 is half a core [cpu-unit]"},
		{"two cores", "kind: pipeline\ntype: kubernetes\nname: p\nresources: {requests: {cpu: 2}}\n" + stepHead,
			"f:4:29: warning: cpu: 2 is 2 thousandths of a core; write thousandths of a core: 500 is half a core [cpu-unit]"},
		{"thousandths", step + "  resources: {limits: {cpu: 500, memory: 1GiB}}\n", ""},
		{"a fraction", step + "clone: {depth: 1.5}\n",
			"f:7:16: warning: Drone cuts 1.5 to 1; write a whole number [truncated-number]"},
		{"a fraction of a byte", step + "  resources: {limits: {memory: 1.5}}\n",
			"f:7:32: warning: Drone cuts 1.5 to 1 bytes; write a unit, such as 512MiB [truncated-number]"},
		{"a decimal mode", step + "volumes:\n- name: v\n  secret: {name: s, default_mode: 644}\n",
			"f:9:35: warning: the mode 644 is decimal: it is 01204 in octal; write 0644 [file-mode]"},
		{"an octal mode", step + "volumes:\n- name: v\n  secret: {name: s, default_mode: 0644}\n", ""},
		{"failure", step + "  failure: always\n",
			"f:7:12: warning: failure: always has no meaning to Drone: a failure of the step counts; ignore and fast are possible [unknown-value]"},
		{"pull", step + "  pull: Always\n",
			"f:7:9: warning: pull: Always has no meaning to Drone (did you mean always?); always, if-not-exists and never are possible [unknown-value]"},
		{"pull of Drone 0.8", step + "  pull: true\n",
			"f:7:9: warning: pull: true has no meaning to Drone (did you mean always?); always, if-not-exists and never are possible [unknown-value]"},
		{"a variable without a value", step + "  environment:\n    A:\n",
			`f:8:5: warning: the variable A has no value; Drone does not set it; write "" for an empty text [empty-value]`},
		{"an empty command", step + "  commands:\n  -\n  - true\n",
			"f:8:4: warning: an empty item of commands counts as an empty text; remove it [empty-value]"},
		{"temp without a value", step + "volumes:\n- name: v\n  temp:\n",
			"f:9:3: warning: temp without a value is no volume to Drone, which drops it and its mounts; here it is a volume; write temp: {} [empty-value]"},
		{"the policy's spelling", step + "tolerations:\n- key: k\n  toleration_seconds: 5\n",
			"f:9:3: info: Drone reads tolerationseconds and ignores toleration_seconds; here both are read [unknown-key]"},
		{"an ignored key", step + "  shell: bash\n",
			"f:7:3: warning: Drone reads shell and does nothing with it; remove it [ignored-key]"},
	})
}

func TestSettingsThatSurprise(t *testing.T) {
	step := dockerHead + stepHead + "  settings:\n"
	told := func(line, column, name, written, passed string) string {
		return "f:" + line + ":" + column + ": warning: the setting " + name + " is written " + written + " and passed as " + passed +
			"; put it in quotes to pass it as it is written [setting-value]"
	}
	runChecks(t, []checkCase{
		{"yes", step + "    a: yes\n", told("8", "8", "a", "yes", "true")},
		{"octal", step + "    a: 0644\n", told("8", "8", "a", "0644", "420")},
		{"a fraction", step + "    a: 1.10\n", told("8", "8", "a", "1.10", "1.1")},
		{"a large number", step + "    a: 1000000.0\n", told("8", "8", "a", "1000000.0", "1e+06")},
		{"underscores", step + "    a: 1_000\n", told("8", "8", "a", "1_000", "1000")},
		{"in a list", step + "    a: [x, off]\n", told("8", "12", "a", "off", "false")},
		{"in quotes", step + "    a: ['yes', \"0644\"]\n", ""},
		{"with a tag", step + "    a: !!str yes\n    b: !!int 5\n", ""},
		{"texts and times", step + "    a: [x, 2001-01-01, 20:30, 1.2.3, true, 12, 1.5, n o]\n", ""},
		{"nothing", step + "    a:\n", `f:8:5: warning: the setting a has no value; Drone does not pass it; write "" for an empty text [empty-value]`},
		{"a secret", step + "    a: {from_secret: s}\n", ""},
		{"a secret and more", step + "    a: {from_secret: s, x: y}\n",
			"f:8:25: warning: x beside from_secret is ignored by Drone [unknown-key]"},
		{"a secret in a list", step + "    a: [{from_secret: s}]\n",
			"f:8:10: warning: from_secret inside the list or map of the setting a is not resolved: the plugin gets the secret's name; use from_secret directly below the setting [nested-secret]"},
	})
}

func TestConditionsThatLetEverythingThrough(t *testing.T) {
	step := dockerHead + stepHead
	runChecks(t, []checkCase{
		{"an unknown event", step + "  when: {event: pull-request}\n",
			"f:7:17: warning: there is no event pull-request (did you mean pull_request?); the events are push, pull_request, tag, promote, rollback, cron, custom [condition]"},
		{"a glob", step + "  when: {event: ['pull_*', 'p?sh']}\n", ""},
		{"a pattern that takes for ever", step + "  when: {branch: ['*a*a*a*a*b']}\n",
			"f:7:19: error: the pattern has more than 4 of * or { in one part, or of ** in all, and could take for ever to match; use fewer of them [condition]"},
		{"many parts", step + "  when: {ref: ['refs/*/*/*/*/*/v*.*.*-*']}\n", ""},
		{"an excluded event", step + "  when: {event: {exclude: [deploy]}}\n",
			"f:7:28: warning: there is no event deploy; the events are push, pull_request, tag, promote, rollback, cron, custom [condition]"},
		{"an unknown status", step + "  when: {status: [changed]}\n",
			"f:7:19: warning: there is no status changed; the statuses are success and failure [condition]"},
		{"paths", step + "  when: {paths: [x]}\n",
			"f:7:10: warning: Drone never checks when.paths, so it lets everything through; decide in a command, for example by git diff --name-only [condition]"},
		{"instance of a trigger", step + "trigger: {instance: x}\n",
			"f:7:11: warning: Drone never checks trigger.instance, so it lets everything through; remove it, or use branch, event, ref, repo, target, action or cron [condition]"},
		{"instance of a step", step + "  when: {instance: x}\n", ""},
		{"include that is a text", step + "  when: {branch: {include: main}}\n",
			"f:7:28: warning: include of the condition branch must be a list; Drone ignores it; start a list: a dash before each pattern [condition]"},
		{"a key beside include", step + "  when: {branch: {includes: [main]}}\n",
			"f:7:19: warning: includes in the condition branch is ignored by Drone (did you mean include?); only include and exclude are possible here [condition]"},
		{"an item that is a map", step + "  when: {branch: [main, {a: b}]}\n",
			"f:7:25: warning: an item of the condition branch is a map; Drone ignores it; write texts only [condition]"},
	})
}

func TestRepeatedKeys(t *testing.T) {
	step := dockerHead + stepHead
	runChecks(t, []checkCase{
		{"a text", step + "  image: j\n", "f:7:3: warning: image is given twice; Drone takes the last; keep one of the two [repeated-key]"},
		{"a map", step + "  environment: {A: b}\n  environment: {C: d}\n",
			"f:8:3: warning: environment is given here and before, or by a merge; Drone puts the two maps together instead of replacing one [repeated-key]"},
		{"a variable", step + "  environment: {A: b, A: c}\n", "f:7:23: warning: A is given twice; Drone takes the last; keep one of the two [repeated-key]"},
		{"a merge after the key", dockerHead + "x: &x {image: j}\n" + stepHead + "  <<: *x\n",
			"f:8:3: warning: the merged image overrides the one above: Drone applies << in the place where it stands; put << before the keys that are to win [repeated-key]"},
		{"a merge before the key", dockerHead + "x: &x {image: j}\nsteps:\n- <<: *x\n  name: a\n  image: i\n", ""},
		{"a merged map", dockerHead + "x: &x {when: {event: push}}\n" + "steps:\n- <<: *x\n  name: a\n  image: i\n  when: {branch: main}\n",
			"f:9:3: warning: when is given here and before, or by a merge; Drone puts the two maps together instead of replacing one [repeated-key]"},
		{"a missing separator", step + "kind: pipeline\n",
			"f:7:1: warning: kind is given twice, so this is one document to Drone, which takes the last of each key; put a line --- between two documents [repeated-key]"},
	})
}
