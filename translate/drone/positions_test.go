package drone

import "testing"

func TestPositionsThroughAliasesAndMerges(t *testing.T) {
	m, list := Parse("f", []byte(`kind: pipeline
name: p
x-step: &step
  image: i
  environment: {A: b}
  commands:
  - one
  - other
x-env: &env {C: d}
steps:
- name: a
  <<: *step
  commands:
  - two
- name: b
  <<: *step
  environment: *env
volumes:
- &v
  name: v
  temp: {}
`))
	if list.HasErrors() {
		t.Fatal(list)
	}
	p := m.Pipelines[0]
	for _, test := range []struct {
		part Positions
		path string
		want string
	}{
		{p.Positions, "steps.0", "f:11:3"},
		{p.Positions, "steps.0.name", "f:11:3"}, // Inside a step, the step knows.
		{p.Steps[0].Positions, "image", "f:4:3"},
		{p.Steps[0].Positions, "commands", "f:13:3"},
		{p.Steps[0].Positions, "commands.0", "f:14:5"},
		{p.Steps[1].Positions, "commands.0", "f:7:5"},
		{p.Steps[1].Positions, "environment", "f:17:3"},
		{p.Steps[1].Positions, "environment.C", "f:9:14"},
		{p.Volumes[0].Positions, "", "f:19:3"},
		{p.Volumes[0].Positions, "temp", "f:21:3"},
	} {
		if got := test.part.At(test.path).String(); got != test.want {
			t.Errorf("At(%q) = %s, want %s", test.path, got, test.want)
		}
	}
	if p.Steps[0].Has("commands.1") || p.Steps[0].Has("settings") || !p.Steps[0].Has("image") {
		t.Error("Has reports a key that is not there, or misses one that is")
	}
}
