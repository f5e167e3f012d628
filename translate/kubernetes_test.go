package translate

import (
	"strings"
	"testing"
)

// What Kubernetes would refuse when a pod is created is an error of the conversion, at its place. What it takes is
// none.
func TestValuesThatKubernetesRefuses(t *testing.T) {
	const steps = "steps: [{name: a, image: i}]\n"
	for _, test := range []struct{ text, want string }{
		{"metadata: {labels: {team: a b}}\n" + steps, "f:4:21: error: Kubernetes would refuse the label team: a b"},
		{"metadata: {labels: {a b: c}}\n" + steps, "error: Kubernetes would refuse the label a b: c"},
		{"metadata: {labels: {team: a.b_c-D, example.com/x: ''}}\n" + steps, ""},
		{"metadata: {annotations: {a b: c}}\n" + steps, "error: Kubernetes would refuse the annotation a b"},
		{"metadata: {annotations: {Example.com/x: any text}}\n" + steps, ""},
		{"metadata: {namespace: My Builds}\n" + steps, "error: Kubernetes would refuse the namespace My Builds"},
		{"node_selector: {disk: a b}\n" + steps, "error: Kubernetes would refuse the label of nodes disk: a b"},
		{"node_name: a b\n" + steps, "error: Kubernetes would refuse the node a b"},
		{"service_account_name: A_b\n" + steps, "error: Kubernetes would refuse the service account A_b"},
		{"host_aliases: [{ip: here, hostnames: [a]}]\n" + steps,
			`error: Kubernetes would refuse the address "here": it is not an IP address`},
		{"host_aliases: [{ip: '::1', hostnames: [A_b]}]\n" + steps,
			`error: Kubernetes would refuse the host name "A_b"`},
		{"host_aliases: [{ip: '::1', hostnames: [a.b]}]\n" + steps, ""},
		{"dns_config: {nameservers: [here]}\n" + steps, `error: Kubernetes would refuse the address "here"`},
		{"tolerations: [{}]\n" + steps, "without a key the operator must be Exists"},
		{"tolerations: [{key: a, operator: Is}]\n" + steps, "the operator must be Equal or Exists"},
		{"tolerations: [{key: a, operator: Exists, value: b}]\n" + steps, "there must be no value"},
		{"tolerations: [{key: a, effect: Never}]\n" + steps, "the effect must be NoSchedule"},
		{"tolerations: [{key: a, effect: NoSchedule, tolerationseconds: 1}]\n" + steps,
			"only the effect NoExecute has seconds"},
		{"tolerations: [{operator: Exists}, {key: a, value: b, effect: NoExecute, tolerationseconds: 1}]\n" + steps,
			""},
		{"volumes: [{name: v, claim: {}}]\n" + steps, `the name "" of the claim of the volume v`},
		{"volumes: [{name: v, config_map: {name: a b}}]\n" + steps, `the name "a b" of the config_map of the volume v`},
		{"volumes: [{name: v, secret: {name: A}}]\n" + steps, `the name "A" of the secret of the volume v`},
		{"volumes: [{name: v, host: {path: /a/../b}}]\n" + steps, `the path "/a/../b" of the volume v`},
		{"volumes: [{name: v, host: {path: /a/..b}}]\n" + steps, ""},
		{"volumes: [{name: v, host: {path: a/b}}]\n" + steps, `the path "a/b" of the volume v`},
		{"volumes: [{name: v, config_map: {name: c, default_mode: 01000}}]\n" + steps,
			"the mode 01000 of the files of the volume v"},
		{"volumes: [{name: v, config_map: {name: c, default_mode: 0777}}]\n" + steps, ""},
		{"dns_config: {searches: [a b]}\n" + steps, `the domain "a b"`},
		{"dns_config: {searches: [example.com.], options: [{name: debug}]}\n" + steps, ""},
		{"dns_config: {options: [{value: '1'}]}\n" + steps, "refuse an option: it must have a name"},
		{"steps: [{name: a, image: 'i '}]\n", `f:4:19: error: Kubernetes would refuse the image "i "`},
		{"steps: [{name: a, image: i, user: 2147483648}]\n", "the number 2147483648 of a user or group"},
		{"steps: [{name: a, image: i, group: -1}]\n", "the number -1 of a user or group"},
		{"steps: [{name: a, image: i, user: 2147483647, group: 0}]\n", ""},
		{`steps: [{name: a, image: i, commands: ["echo \0"]}]` + "\n",
			"f:4:40: error: no process can be started with a text that holds the character U+0000"},
		{`steps: [{name: a, image: i, settings: {x: ["\0"]}}]` + "\n", "the character U+0000"},
		{"steps: [{name: a, image: i, command: [" + strings.Repeat("x", 128<<10) + "]}]\n",
			"Linux starts no process with a text of 128 KiB"},
		{"steps: [{name: a, image: i, environment: {X: " + strings.Repeat("x", 128<<10) + "}}]\n",
			"Linux starts no process with a text of 128 KiB"},
		{"steps: [{name: a, image: i, commands: [" + strings.Repeat("x", 128<<10) + "]}]\n", ""},
		{"volumes: [{name: v, temp: {}}]\nsteps: [{name: a, image: i, volumes: [{name: v, path: 'a:b'}]}]\n",
			`the path "a:b" of a volume`},
	} {
		b, list := convert(t, kubernetesHead+test.text)
		got := strings.Join(about(list, CodeKubernetes), "\n")
		if test.want == "" && (got != "" || b == nil) {
			t.Errorf("%s is refused: %s", test.text, report(list))
		}
		if test.want != "" && (!strings.Contains(report(list), test.want) || b != nil) {
			t.Errorf("of %swas said: %s, want %s", test.text, report(list), test.want)
		}
	}
}

// A text that Tekton takes for a result of a step can be written in a script alone.
func TestResultsOfStepsInArgumentsAreTold(t *testing.T) {
	for keys, told := range map[string]int{
		"command: ['$(steps.a.results.b)']": 1, "entrypoint: [x, '$(steps.a.results.b)']": 1,
		"commands: ['$(steps.a.results.b)']": 0,
		"command: ['$(params.x)']":           0,
	} {
		_, list := convert(t, dockerHead+"steps: [{name: a, image: i, "+keys+"}]\n")
		if got := about(list, CodeEntrypoint); len(got) != told {
			t.Errorf("of a step with %s was said %q, want %d warnings", keys, got, told)
		}
	}
}

// A namespace for each run alone is what only a runner makes.
func TestNamespaceForEachRun(t *testing.T) {
	b, list := convert(t, kubernetesHead+"metadata: {namespace: drone-}\nsteps: [{name: a, image: i}]\n")
	if b == nil || b.PipelineRun.Namespace != "" || len(about(list, CodeRunnerOnly)) != 1 {
		t.Errorf("namespace drone-: %s", report(list))
	}
	b = converted(t, kubernetesHead+"metadata: {namespace: drone-}\nsteps: [{name: a, image: i}]\n",
		func(_ *Facts, o *Options) { o.Namespace = "drone-abc" })
	if b.PipelineRun.Namespace != "drone-abc" {
		t.Errorf("the namespace is %q, want the one that was made", b.PipelineRun.Namespace)
	}
}

// Variables whose names a container cannot have are left out, wherever they come from, and told.
func TestNamesOfVariables(t *testing.T) {
	b, list := convert(t, dockerHead+"environment: {'a b': c}\nsteps:\n- name: a\n  image: i\n"+
		"  environment: {'1x': y, É: {from_secret: s}, a.b-C_1: ok}\n  settings: {é: x, my-key: ok}\n",
		func(f *Facts, _ *Options) { f.Build.Params = map[string]string{"a param": "x", "PARAM": "ok"} })
	p := started(t, b, "a")
	for name, want := range map[string]string{"a.b-C_1": "ok", "PLUGIN_MY-KEY": "ok", "PARAM": "ok"} {
		if p.env[name] != want {
			t.Errorf("%s = %q, want %q", name, p.env[name], want)
		}
	}
	for _, name := range []string{"a b", "1x", "É", "PLUGIN_É", "a param"} {
		if _, ok := p.env[name]; ok || p.secrets[name] != "" {
			t.Errorf("%q is set", name)
		}
	}
	want := `f:4:15: warning: the variable "a b" is left out, because Kubernetes does not allow the name; rename it [kubernetes]
f:8:17: warning: the variable "1x" is left out, because Kubernetes does not allow the name; rename it [kubernetes]
f:8:26: warning: the variable "É" is left out, because Kubernetes does not allow the name; rename it [kubernetes]
f:9:14: warning: the variable "PLUGIN_É" is left out, because Kubernetes does not allow the name; rename it [kubernetes]`
	if got := report(list); !strings.Contains(got, want) || !strings.Contains(got, `"a param" is left out`) {
		t.Errorf("what is said:\n%s\nwant\n%s", got, want)
	}
}
