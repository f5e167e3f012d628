package translate

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	api "github.com/drone/drone-go/drone"
	"github.com/tektoncd/pipeline/pkg/container"
	"github.com/tektoncd/pipeline/pkg/substitution"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

const (
	dockerHead     = "kind: pipeline\ntype: docker\nname: default\n"
	kubernetesHead = "kind: pipeline\ntype: kubernetes\nname: default\n"
)

// push is a push to the branch main of octocat/hello.
func push() Facts {
	return Facts{
		System: api.System{Proto: "https", Host: "drone.example.com", Version: "2.0"},
		Repo: api.Repo{
			Slug: "octocat/hello", Namespace: "octocat", Name: "hello", Branch: "main",
			HTTPURL: "https://git.example.com/octocat/hello.git", SSHURL: "git@git.example.com:octocat/hello.git",
		},
		Build: api.Build{
			Number: 7, Event: api.EventPush, Target: "main", Source: "main", Ref: "refs/heads/main",
			After: "c0ffee0123456789", Before: "0ddba11", Created: 1600000000,
		},
		Now: 1600000001,
	}
}

// parsePipeline reads a text of one pipeline, which has to be free of errors.
func parsePipeline(t testing.TB, text string) *drone.Pipeline {
	t.Helper()
	m, list := drone.Parse("f", []byte(text))
	if list.HasErrors() {
		t.Fatalf("Parse: %v\n%s", list.Err(), text)
	}
	return m.Pipelines[0]
}

// converted is what a pipeline becomes in a push to main, for a trusted repository; errors fail the test.
func converted(t testing.TB, text string, change ...func(*Facts, *Options)) *Bundle {
	t.Helper()
	b, list := convert(t, text, change...)
	if list.HasErrors() {
		t.Fatalf("Pipeline: %v\n%s", list.Err(), text)
	}
	if b == nil {
		t.Fatalf("Pipeline gave nothing: %s\n%s", report(list), text)
	}
	return b
}

func convert(t testing.TB, text string, change ...func(*Facts, *Options)) (*Bundle, diag.List) {
	t.Helper()
	f, o := push(), Options{Trusted: true}
	for _, c := range change {
		c(&f, &o)
	}
	return Pipeline(parsePipeline(t, text), f, o)
}

// report is a list as text, a line for each diagnostic.
func report(list diag.List) string {
	var lines []string
	for _, d := range list.Sorted() {
		lines = append(lines, d.String())
	}
	return strings.Join(lines, "\n")
}

// about are the diagnostics with a code, without their places.
func about(list diag.List, code diag.Code) []string {
	var out []string
	for _, d := range list.Sorted() {
		if d.Code == code {
			out = append(out, string(d.Severity)+": "+d.Message)
		}
	}
	return out
}

// taskOf finds a task of the run, also among the finally tasks.
func taskOf(t testing.TB, b *Bundle, name string) v1.PipelineTask {
	t.Helper()
	spec := b.PipelineRun.Spec.PipelineSpec
	for _, pt := range slices.Concat(spec.Tasks, spec.Finally) {
		if pt.Name == name {
			return pt
		}
	}
	t.Fatalf("there is no task %q among %v", name, taskNames(slices.Concat(spec.Tasks, spec.Finally)))
	return v1.PipelineTask{}
}

// stepOf is the only step of a task.
func stepOf(t testing.TB, b *Bundle, task string) v1.Step {
	t.Helper()
	steps := taskOf(t, b, task).TaskSpec.Steps
	if len(steps) != 1 {
		t.Fatalf("task %q has %d steps, want 1", task, len(steps))
	}
	return steps[0]
}

func taskNames(tasks []v1.PipelineTask) []string {
	var names []string
	for _, pt := range tasks {
		names = append(names, pt.Name)
	}
	return names
}

// runAfter is the graph of the main tasks: each with those that it waits for.
func runAfter(b *Bundle) map[string]string {
	out := map[string]string{}
	for _, pt := range b.PipelineRun.Spec.PipelineSpec.Tasks {
		out[pt.Name] = strings.Join(pt.RunAfter, " ")
	}
	return out
}

// process is what a step's container starts.
type process struct {
	argv    []string
	env     map[string]string
	secrets map[string]string // Secret and key, by variable
}

// started is the process that the only step of a task starts, once Tekton's controller, Kubernetes and Tekton's
// entrypoint have replaced what they take for references in it.
func started(t testing.TB, b *Bundle, task string) process {
	t.Helper()
	return startedStep(t, b, stepOf(t, b, task))
}

func startedStep(t testing.TB, b *Bundle, step v1.Step) process {
	t.Helper()
	template := b.PipelineRun.Spec.TaskRunTemplate.PodTemplate
	hostile := referencesIn(step, template.Env)
	container.ApplyStepReplacements(&step, hostile, nil)
	vars := slices.Clone(step.Env)
	for _, v := range template.Env { // Tekton appends these to a step's own.
		v.Value = substitution.ApplyReplacements(v.Value, hostile)
		vars = append(vars, v)
	}
	return kubelet(t, vars, slices.Concat(step.Command, step.Args))
}

// startedPod is the process of a Pod beside the run. Only Kubernetes has a hand in it.
func startedPod(t testing.TB, p *corev1.Pod) process {
	t.Helper()
	c := p.Spec.Containers[0]
	return kubelet(t, c.Env, slices.Concat(c.Command, c.Args))
}

// kubelet does what Kubernetes and, after it, Tekton's entrypoint do with variables and arguments.
func kubelet(t testing.TB, vars []corev1.EnvVar, argv []string) process {
	t.Helper()
	p := process{env: map[string]string{}, secrets: map[string]string{}}
	for _, v := range vars {
		delete(p.env, v.Name)
		delete(p.secrets, v.Name)
		switch {
		case v.ValueFrom == nil:
			p.env[v.Name] = expand(v.Value, p.env)
		case v.ValueFrom.SecretKeyRef != nil:
			p.secrets[v.Name] = v.ValueFrom.SecretKeyRef.Name + "/" + v.ValueFrom.SecretKeyRef.Key
		}
	}
	for _, a := range argv {
		p.argv = append(p.argv, expand(a, p.env))
	}
	for _, text := range slices.Concat(p.argv, slices.Collect(maps.Values(p.env))) {
		if stepReference.MatchString(text) {
			t.Errorf("Tekton's entrypoint would look for a result in %q, and end the step where there is none", text)
		}
	}
	return p
}

// stepReference is what Tekton's entrypoint replaces in arguments and environment.
var stepReference = regexp.MustCompile(`\$\(steps\.[^)]*\)`)

// anyReference is the form of all of Tekton's own variables.
var anyReference = regexp.MustCompile(`\$\(([a-zA-Z][a-zA-Z0-9_-]*[.\[][^()]*)\)`)

// referencesIn gives every reference that the text of a step holds a value, as a Tekton that knew them all would.
func referencesIn(step v1.Step, more []corev1.EnvVar) map[string]string {
	found := map[string]string{}
	look := func(text string) {
		for _, m := range anyReference.FindAllStringSubmatch(text, -1) {
			found[m[1]] = "REPLACED-BY-TEKTON"
		}
	}
	for _, a := range slices.Concat(step.Command, step.Args) {
		look(a)
	}
	for _, v := range slices.Concat(step.Env, more) {
		look(v.Value)
	}
	return found
}

// expand is Kubernetes' documented rule for a container's command, arguments and variables: $(NAME) is the variable of
// that name where there is one and stays where there is none, and $$ is one dollar sign that begins no reference.
func expand(text string, vars map[string]string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		end := strings.IndexByte(text[i:], ')')
		switch {
		case text[i] == '$':
			b.WriteByte('$')
		case text[i] == '(' && end > 0:
			name := text[i+1 : i+end]
			if v, ok := vars[name]; ok {
				b.WriteString(v)
			} else {
				b.WriteString("$(" + name + ")")
			}
			i += end
		default:
			b.WriteString("$" + text[i:i+1])
		}
	}
	return b.String()
}

// yamlQuote writes a text for YAML, in double quotes.
func yamlQuote(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(out)
}
