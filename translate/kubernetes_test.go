package translate

import (
	"strings"
	"testing"
)

// What Kubernetes would refuse when a pod is created is an error of the conversion, at its place. What it takes is none.
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
		{"host_aliases: [{ip: here, hostnames: [a]}]\n" + steps, `error: Kubernetes would refuse the address "here": it is not an IP address`},
		{"host_aliases: [{ip: '::1', hostnames: [A_b]}]\n" + steps, `error: Kubernetes would refuse the host name "A_b"`},
		{"host_aliases: [{ip: '::1', hostnames: [a.b]}]\n" + steps, ""},
		{"dns_config: {nameservers: [here]}\n" + steps, `error: Kubernetes would refuse the address "here"`},
		{"tolerations: [{}]\n" + steps, "without a key the operator must be Exists"},
		{"tolerations: [{key: a, operator: Is}]\n" + steps, "the operator must be Equal or Exists"},
		{"tolerations: [{key: a, operator: Exists, value: b}]\n" + steps, "there must be no value"},
		{"tolerations: [{key: a, effect: Never}]\n" + steps, "the effect must be NoSchedule"},
		{"tolerations: [{key: a, effect: NoSchedule, tolerationseconds: 1}]\n" + steps, "only the effect NoExecute has seconds"},
		{"tolerations: [{operator: Exists}, {key: a, value: b, effect: NoExecute, tolerationseconds: 1}]\n" + steps, ""},
		{"volumes: [{name: v, claim: {}}]\n" + steps, `the name "" of the claim of the volume v`},
		{"volumes: [{name: v, config_map: {name: a b}}]\n" + steps, `the name "a b" of the config_map of the volume v`},
		{"volumes: [{name: v, secret: {name: A}}]\n" + steps, `the name "A" of the secret of the volume v`},
		{"volumes: [{name: v, host: {path: /a/../b}}]\n" + steps, `the path "/a/../b" of the volume v`},
		{"volumes: [{name: v, host: {path: /a/..b}}]\n" + steps, ""},
		{"volumes: [{name: v, temp: {}}]\nsteps: [{name: a, image: i, volumes: [{name: v, path: 'a:b'}]}]\n", `the path "a:b" of a volume`},
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

// A namespace for each run alone is what only a runner makes.
func TestNamespaceForEachRun(t *testing.T) {
	b, list := convert(t, kubernetesHead+"metadata: {namespace: drone-}\nsteps: [{name: a, image: i}]\n")
	if b == nil || b.PipelineRun.Namespace != "" || len(about(list, CodeRunnerOnly)) != 1 {
		t.Errorf("namespace drone-: %s", report(list))
	}
	b = converted(t, kubernetesHead+"metadata: {namespace: drone-}\nsteps: [{name: a, image: i}]\n", func(_ *Facts, o *Options) { o.Namespace = "drone-abc" })
	if b.PipelineRun.Namespace != "drone-abc" {
		t.Errorf("the namespace is %q, want the one that was made", b.PipelineRun.Namespace)
	}
}

// Variables whose names a container cannot have are left out, wherever they come from, and told.
func TestNamesOfVariables(t *testing.T) {
	b, list := convert(t, dockerHead+"environment: {'a b': c}\nsteps:\n- name: a\n  image: i\n  environment: {'1x': y, É: {from_secret: s}, a.b-C_1: ok}\n  settings: {é: x, my-key: ok}\n",
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
