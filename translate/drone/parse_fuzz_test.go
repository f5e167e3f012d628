package drone

import (
	"testing"

	"github.com/drone/drone-yaml/yaml"
)

// FuzzParse checks that no input panics or hangs, and that a file which is read without an error has the pipelines, steps,
// images and commands that Drone's server reads from it.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		twoSteps, dockerHead + stepHead, kubernetesHead + stepHead + "  user: 0644\n", string(longPipeline(2)),
		"kind: pipeline\nx: &x {a: b}\nsteps:\n- <<: *x\n  name: a\n  <<: [*x, *x]\n", "kind: secret\nget: {path: a}\n---\nkind: cron\n",
		"a: |\n--- b\n...\nc", "\ufeff---\nkind: pipeline\n", "{kind: pipeline, steps: [{name: !!binary aGk=, image: !!str 1}]}",
		"kind: pipeline\nsteps:\n- name: a\n  settings: {a: [1.0, {b: ~}], c: 0x1F}\n  when: {event: {include: [p*]}}\n",
		"kind: pipeline\r\nname: a\r\n", "x: &x [*x]\n", "kind: pipeline\nsteps: {a: b}\nvolumes: [~, {temp: }]\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, list := Parse("f.yml", text)
		for _, p := range m.Pipelines {
			Lint(p, false)
		}
		if list.HasErrors() {
			return
		}
		theirs, err := yaml.ParseBytes(text)
		if err != nil {
			return // Drone's server refuses more, such as documents without content.
		}
		var pipelines []*yaml.Pipeline
		for _, r := range theirs.Resources {
			if p, ok := r.(*yaml.Pipeline); ok && p.Kind == "pipeline" && (p.Type == "" || p.Type == "docker" || p.Type == "kubernetes") {
				pipelines = append(pipelines, p)
			}
		}
		if len(pipelines) != len(m.Pipelines) {
			t.Fatalf("Parse(%q) has %d pipelines, Drone reads %d", text, len(m.Pipelines), len(pipelines))
		}
		for i, ours := range m.Pipelines {
			if ours.Name != pipelines[i].Name || len(ours.Steps) != len(pipelines[i].Steps) {
				t.Fatalf("Parse(%q): pipeline %d is %q with %d steps, Drone reads %q with %d",
					text, i, ours.Name, len(ours.Steps), pipelines[i].Name, len(pipelines[i].Steps))
			}
			for j, step := range ours.Steps {
				if other := pipelines[i].Steps[j]; step.Name != other.Name || step.Image != other.Image || len(step.Commands) != len(other.Commands) {
					t.Errorf("Parse(%q): step %d differs from what Drone reads", text, j)
				}
			}
		}
	})
}
