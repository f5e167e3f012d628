package translate

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// shape is what a run does and when: a line for each task with its conditions, and for each step of a task of several.
func shape(b *Bundle) string {
	var out []string
	spec := b.PipelineRun.Spec.PipelineSpec
	line := func(kind string, pt v1.PipelineTask) {
		text := kind + " " + pt.Name
		if len(pt.RunAfter) > 0 {
			text += " after " + strings.Join(pt.RunAfter, " ")
		}
		for _, w := range pt.When {
			text += " if " + w.Input + "=" + strings.Join(w.Values, "|")
		}
		out = append(out, text)
		if len(pt.TaskSpec.Steps) == 1 {
			return
		}
		for _, s := range pt.TaskSpec.Steps {
			text := "  " + s.Name
			for _, w := range s.When {
				text += " if " + w.Input + "=" + strings.Join(w.Values, "|")
			}
			if s.OnError == v1.Continue {
				text += " goes on"
			}
			out = append(out, text)
		}
	}
	for _, pt := range spec.Tasks {
		line("task", pt)
	}
	for _, pt := range spec.Finally {
		line("finally", pt)
	}
	return strings.Join(out, "\n")
}

// Steps that run when something has failed become finally tasks; an always-step runs in its place while all is well,
// and at the end where it has not run.
func TestStepsForFailures(t *testing.T) {
	const failure, always = "when: {status: [failure]}", "when: {status: [success, failure]}"
	for _, test := range []struct{ rule, steps, want string }{
		{"on success alone", "{name: a, image: i}", "task a"},
		{"on failure", "{name: a, image: i}, {name: f, image: i, commands: [x], " + failure + "}", `
task a
finally f if $(tasks.status)=Failed`},
		{"on failure, in the middle: what ran after it tells that its turn had passed",
			"{name: a, image: i}, {name: f, image: i, commands: [x], " + failure + "}, {name: b, image: i}", `
task a
task b after a
finally f if $(tasks.status)=Failed if $(tasks.b.status)=None`},
		{"always, at the end", "{name: a, image: i}, {name: w, image: i, commands: [x], " + always + "}", `
task a
task w after a
finally w-on-failure if $(tasks.status)=Failed if $(tasks.w.status)=None`},
		{"always, in the middle", "{name: a, image: i}, {name: w, image: i, commands: [x], " + always +
			"}, {name: b, image: i}", `
task a
task w after a
task b after w
finally w-on-failure if $(tasks.status)=Failed if $(tasks.w.status)=None`},
		{"several in order are one task that goes on",
			"{name: a, image: i}, {name: f, image: i, commands: [x], " + failure +
				"}, {name: w, image: i, commands: [x], " + always + "}", `
task a
task w after a
finally on-failure if $(tasks.status)=Failed
  f if $(params.status-w)=None goes on
  w if $(params.status-w)=None`},
		{"several without order are tasks of their own",
			"{name: a, image: i}, {name: f, image: i, commands: [x], depends_on: [a], " + failure +
				"}, {name: g, image: i, commands: [x], depends_on: [a], " + failure + "}", `
task a
finally f if $(tasks.status)=Failed
finally g if $(tasks.status)=Failed`},
		{"ordered through another step",
			"{name: f, image: i, commands: [x], " + failure +
				"}, {name: b, image: i, depends_on: [f]}, {name: g, image: i, commands: [x], depends_on: [b], " +
				failure + "}", `
task b
finally on-failure if $(tasks.status)=Failed
  f if $(params.status-b)=None goes on
  g`},
		{"a plugin is told which steps failed", "{name: a, image: i}, {name: f, image: i, " + failure + "}", `
task a
finally f if $(tasks.status)=Failed
  failed-steps goes on
  f`},
	} {
		b := converted(t, dockerHead+"clone: {disable: true}\nsteps: ["+test.steps+"]\n")
		if diff := cmp.Diff(strings.TrimSpace(test.want), shape(b)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.rule, diff)
		}
	}
}

// A step is told the state in which it starts.
func TestStateThatAStepIsTold(t *testing.T) {
	b := converted(t, dockerHead+`steps:
- {name: a, image: i}
- {name: w, image: i, commands: [x], when: {status: [success, failure]}, depends_on: [a]}
- {name: f, image: i, commands: [x], when: {status: [failure]}, depends_on: [a]}
`, func(f *Facts, _ *Options) { f.Build.Stages = full().Build.Stages })
	for task, want := range map[string]map[string]string{
		"clone": {"DRONE_BUILD_STATUS": "success", "DRONE_STAGE_STATUS": "success",
			"CI_BUILD_STATUS": "success"},
		"w": {"DRONE_BUILD_STATUS": "success", "DRONE_STAGE_STATUS": "success",
			"CI_BUILD_STATUS": "success"},
		"w-on-failure": {"DRONE_BUILD_STATUS": "failure", "DRONE_STAGE_STATUS": "failure", "CI_BUILD_STATUS": "failure"},
		"f":            {"DRONE_BUILD_STATUS": "failure", "DRONE_STAGE_STATUS": "failure", "CI_BUILD_STATUS": "failure"},
	} {
		env := started(t, b, task).env
		maps.DeleteFunc(env, func(name, _ string) bool {
			return name != "DRONE_FAILED_STAGES" && !slices.Contains(statusVariables, name)
		})
		if diff := cmp.Diff(want, env); diff != "" {
			t.Errorf("state that %s is told (-want +got):\n%s", task, diff)
		}
	}
}

// Plugins made for Drone's kubernetes runner read the state from /run/drone/env, which is made of the pod's
// annotations.
func TestFileOfTheState(t *testing.T) {
	text := "steps:\n- {name: a, image: i}\n- {name: f, image: i, commands: [x], when: {status: [failure]}}\n"
	b := converted(t, kubernetesHead+text)
	for task, want := range map[string]string{"a": "success", "f": "failure"} {
		pt := taskOf(t, b, task)
		if got := pt.TaskSpec.Metadata.Annotations["DRONE_BUILD_STATUS"]; got != want {
			t.Errorf("the annotation of %s says %q, want %q", task, got, want)
		}
		mounted := slices.ContainsFunc(pt.TaskSpec.Steps[0].VolumeMounts,
			func(m corev1.VolumeMount) bool { return m.MountPath == "/run/drone" })
		volume, err := json.Marshal(pt.TaskSpec.Volumes)
		if err != nil || !mounted || !strings.Contains(string(volume),
			`"items":[{"path":"env","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.annotations"}}]`) {
			t.Errorf("%s does not have /run/drone/env: mounted %v, volumes %s (%v)", task, mounted, volume, err)
		}
	}
	if volumes := taskOf(t, converted(t, dockerHead+text), "a").TaskSpec.Volumes; len(volumes) > 0 {
		t.Errorf("a docker pipeline has the volumes %v, and no such file in Drone", volumes)
	}
}

// The helper that finds the failed steps gets each task's name and state.
func TestNamesOfFailedSteps(t *testing.T) {
	b := converted(t, dockerHead+"clone: {disable: true}\nsteps:\n- {name: Build It, image: i}\n"+
		"- {name: it's $(params.x) $$, image: i}\n- {name: f, image: i, when: {status: [failure]}}\n")
	pt := taskOf(t, b, "f")
	helper := pt.TaskSpec.Steps[0]
	ran := map[string]string{}
	for _, p := range pt.Params {
		ran[p.Name] = p.Value.StringVal
	}
	want := map[string]string{"states": "$(tasks.build-it.status) $(tasks.it-s-params-x.status)"}
	if diff := cmp.Diff(want, ran); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	// What Tekton replaces in earnest, before everything that only looks like a reference.
	for i, a := range helper.Args {
		a = strings.ReplaceAll(a, "$(params.states)", "Failed Failed")
		helper.Args[i] = strings.ReplaceAll(a, "$(step.results.failed-steps.path)", "result")
	}
	p := startedStep(t, b, helper)
	p.argv[2] += "; cat result"
	got, exit := run(t, p, []string{"/bin/sh"}, "")
	if want := "Build It,it's $(params.x) $$"; got != want || exit != 0 {
		t.Errorf("the failed steps are %q, exit status %d, want %q", got, exit, want)
	}
	if env := pt.TaskSpec.Steps[1].Env; !slices.ContainsFunc(env, func(v corev1.EnvVar) bool {
		return v.Name == "DRONE_FAILED_STEPS" && v.Value == "$(steps.failed-steps.results.failed-steps)"
	}) {
		t.Errorf("the step does not get DRONE_FAILED_STEPS: %v", env)
	}
}

// In the layout pod, every step goes on after its failure where a step has to run then; helpers tell how things stand,
// and a last one gives the verdict.
func TestStepsForFailuresInOnePod(t *testing.T) {
	pod := func(_ *Facts, o *Options) { o.Workspace.Layout = workspace.Pod }
	for _, test := range []struct{ rule, steps, want string }{
		{"on success alone", "{name: a, image: i}, {name: b, image: i, failure: ignore}", `
task pipeline
  a
  b goes on`},
		{"on failure and always",
			"{name: a, image: i}, {name: f, image: i, when: {status: [failure]}}, {name: b, image: i}, " +
				"{name: w, image: i, when: {status: [success, failure]}}", `
task pipeline
  a goes on
  status-2
  f if $(steps.status-2.results.status)=failure goes on
  status-3
  b if $(steps.status-3.results.status)=success goes on
  status-4
  w goes on
  verdict`},
	} {
		b := converted(t, dockerHead+"clone: {disable: true}\nsteps: ["+test.steps+"]\n", pod)
		if diff := cmp.Diff(strings.TrimSpace(test.want), shape(b)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.rule, diff)
		}
	}
}
