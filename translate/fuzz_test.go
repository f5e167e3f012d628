package translate

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// FuzzScript takes any commands on their way into a shell: they arrive whole and in order, each behind its
// announcement, in arguments that Linux, Kubernetes and Tekton leave as they are. Nothing is run.
func FuzzScript(f *testing.F) {
	f.Add("echo one\x00echo 'two'", true)
	for _, text := range textsLikeReferences {
		f.Add(text, false)
	}
	f.Add(strings.Repeat("echo $(steps.a.results.b) 日本\n", 10_000), false)
	f.Fuzz(func(t *testing.T, text string, netrc bool) {
		if !utf8.ValidString(text) { // not in YAML
			t.Skip()
		}
		commands := strings.Split(text, "\x00")
		whole := script(commands, netrc)
		rest := whole
		for _, c := range commands {
			announced := "\nprintf '%s\\n' " + shellQuote("+ "+strings.TrimRight(c, "\n")) + "\n" + c
			i := strings.Index(rest, announced)
			if i < 0 {
				t.Fatalf("the script does not hold %q:\n%s", announced, whole)
			}
			rest = rest[i+len(announced):]
			if got, ok := shellUnquote(shellQuote(c)); !ok || got != c {
				t.Errorf("shellQuote(%q) = %s, which a shell reads as %q", c, shellQuote(c), got)
			}
		}
		_, args := shell(whole)
		written, variable := literals(args)
		vars := map[string]string{}
		if variable {
			vars[dollarEnv.Name] = dollarEnv.Value
		}
		var arrived strings.Builder
		for i, a := range written {
			a = expand(a, vars)
			if a != args[i] || len(a) > maxArgument || stepReference.MatchString(a) || !utf8.ValidString(a) {
				t.Errorf("a piece of %d bytes arrives as one of %d bytes", len(args[i]), len(a))
			}
			arrived.WriteString(a)
		}
		if arrived.String() != whole {
			t.Errorf("the script arrives as\n%q, want\n%q", arrived.String(), whole)
		}
	})
}

// shellUnquote reads one word of a shell that holds nothing but quoted text and escaped quotes.
func shellUnquote(word string) (string, bool) {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(word); i++ {
		switch {
		case word[i] == '\'':
			quoted = !quoted
		case quoted:
			b.WriteByte(word[i])
		case word[i] == '\\' && i+1 < len(word):
			i++
			b.WriteByte(word[i])
		default:
			return b.String(), false
		}
	}
	return b.String(), !quoted
}

// FuzzPipeline translates any file in each layout: no panic, and what comes out is valid to Tekton and Kubernetes and
// the same each time.
func FuzzPipeline(f *testing.F) {
	for _, text := range []string{
		dockerHead + "steps: [{name: a, image: i, commands: ['$(params.x)']}]\n",
		kubernetesHead + "services: [{name: s, image: i}]\nsteps: [{name: a, image: i, when: {status: [failure]}}, " +
			"{name: B, image: i, detach: true, commands: [x]}]\n",
		kubernetesHead + "steps: [{name: a, image: i, detach: true, entrypoint: [x], commands: [y]}, " +
			"{name: b, image: i, entrypoint: [a b]}]\n",
		dockerHead + "volumes: [{name: v, temp: {}}]\nsteps: [{name: a, image: i, volumes: [{name: v, path: /x}]}, " +
			"{name: b, image: i, depends_on: [a], failure: ignore}]\n",
		dockerHead + "steps: [{name: a, image: plugins/docker, settings: {a: [1, {b: ~}], p: {from_secret: s}}}, " +
			"{name: $(params.x), image: i, when: {status: [success, failure]}}]\n",
		kubernetesHead + "metadata: {namespace: n, labels: {a: b}, annotations: {c: d}}\nnode_selector: {a: b}\n" +
			"tolerations: [{key: k}]\n" +
			"resources: {requests: {cpu: 1}}\n" +
			"steps: [{name: a, image: i, user: 1, resources: {limits: {memory: 1GiB}}, " +
			"entrypoint: [a b], working_dir: x}]\n",
		kubernetesHead + "platform: {os: linux, arch: arm}\nclone: {disable: true}\nworkspace: {path: /x}\n" +
			"volumes: [{name: a, host: {path: /}}, {name: b, claim: {name: c}}, {name: c, config_map: {name: d}}]\n" +
			"steps: [{name: 1, image: i, volumes: [{name: a, path: a}, {name: b, path: /b, sub_path: ../c}, " +
			"{name: c, path: /c}]}]\n",
		"kind: pipeline\nenvironment: {A: $$(x)}\nimage_pull_secrets: [A B]\ndns_config: {options: [{name: a}]}\n" +
			"host_aliases: [{ip: 1.1.1.1, hostnames: [a]}]\nsteps:\n- name: é\n  image: i\n---\nkind: secret\nname: x\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, list := drone.Parse("f", []byte(text))
		if list.HasErrors() {
			t.Skip()
		}
		for _, p := range m.Pipelines {
			for _, layout := range []workspace.Layout{workspace.Steps, workspace.Chains, workspace.Pod} {
				o := Options{Trusted: true, Workspace: workspace.Options{Layout: layout}}
				b, list := Pipeline(p, push(), o)
				if b == nil {
					continue
				}
				if list.HasErrors() {
					t.Errorf("a bundle beside errors: %s", report(list))
				}
				out := checkBundle(t, b)
				again, _ := Pipeline(p, push(), o)
				if same, err := YAML(again.Objects()); err != nil || !bytes.Equal(out, same) {
					t.Errorf("the same input gives two outputs (%v):\n%s\n%s", err, out, same)
				}
			}
		}
	})
}

// checkBundle finds what Tekton or Kubernetes would refuse in a bundle, and gives its YAML.
func checkBundle(t *testing.T, b *Bundle) []byte {
	t.Helper()
	out, err := YAML(b.Objects())
	if err != nil {
		t.Fatalf("YAML: %v", err)
	}
	text, err := YAML(b.Objects()[slices.IndexFunc(b.Objects(),
		func(o runtime.Object) bool { return kindOf(o) == "PipelineRun" }):][:1])
	if err != nil {
		t.Fatalf("YAML: %v", err)
	}
	var run v1.PipelineRun
	if err := yaml.UnmarshalStrict(text, &run); err != nil {
		t.Fatalf("the run does not read back: %v\n%s", err, text)
	}
	run.Name = cmp.Or(run.Name, run.GenerateName+"x")
	run.SetDefaults(tektonContext())
	if err := run.Validate(tektonContext()); err != nil {
		t.Errorf("Tekton would refuse the run: %v\n%s", err, text)
	}
	seen := map[string]bool{}
	for _, o := range b.Objects() {
		m, err := meta.Accessor(o)
		if err != nil {
			t.Fatal(err)
		}
		name := kindOf(o) + " " + m.GetName() + m.GetGenerateName()
		if seen[name] {
			t.Errorf("there are two of %s", name)
		}
		seen[name] = true
		if problems := validation.IsDNS1035Label(cmp.Or(m.GetName(), m.GetGenerateName()+"x")); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
		for k, v := range m.GetLabels() {
			if problems := slices.Concat(validation.IsQualifiedName(k),
				validation.IsValidLabelValue(v)); len(problems) > 0 {
				t.Errorf("%s: label %q=%q: %v", name, k, v, problems)
			}
		}
		for k := range m.GetAnnotations() {
			if problems := validation.IsQualifiedName(strings.ToLower(k)); len(problems) > 0 {
				t.Errorf("%s: annotation %q: %v", name, k, problems)
			}
		}
		if ns := m.GetNamespace(); ns != "" {
			if problems := validation.IsDNS1123Label(ns); len(problems) > 0 {
				t.Errorf("%s: namespace %q: %v", name, ns, problems)
			}
		}
	}
	for _, pt := range slices.Concat(run.Spec.PipelineSpec.Tasks, run.Spec.PipelineSpec.Finally) {
		for _, s := range pt.TaskSpec.Steps {
			for _, v := range s.Env {
				if problems := validation.IsEnvVarName(v.Name); len(problems) > 0 {
					t.Errorf("step %s: variable %q: %v", s.Name, v.Name, problems)
				}
			}
			for _, v := range s.VolumeMounts {
				if strings.Contains(v.MountPath, ":") {
					t.Errorf("step %s: mount path %q", s.Name, v.MountPath)
				}
			}
		}
	}
	return out
}
