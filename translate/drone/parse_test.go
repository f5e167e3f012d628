package drone

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

const twoSteps = `# a comment
---
kind: pipeline
type: kubernetes
name: default

x-env: &env
  GOOS: linux

steps:
- name: build
  image: golang:1.26
  environment: *env
  commands:
  - go build
  - go test
- name: publish
  image: plugins/docker
  settings:
    repo: example/app
volumes:
- name: cache
  temp: {}
`

func TestParseKnowsThePlaceOfEveryKey(t *testing.T) {
	m, list := Parse("f.yml", []byte(twoSteps))
	if list.HasErrors() {
		t.Fatalf("Parse: %v", list)
	}
	p := m.Pipelines[0]
	for _, test := range []struct {
		positions Positions
		path      string
		want      string
	}{
		{p.Positions, "", "f.yml:3:1"},
		{p.Positions, "steps", "f.yml:10:1"},
		{p.Positions, "steps.1", "f.yml:17:3"},
		{p.Positions, "volumes.0", "f.yml:22:3"},
		{p.Steps[0].Positions, "", "f.yml:11:3"},
		{p.Steps[0].Positions, "commands.1", "f.yml:16:5"},
		{p.Steps[0].Positions, "environment", "f.yml:13:3"},
		{p.Steps[0].Positions, "environment.GOOS", "f.yml:8:3"},
		{p.Steps[0].Positions, "environment.GOARCH", "f.yml:13:3"}, // the nearest part around it
		{p.Steps[1].Positions, "settings.repo", "f.yml:20:5"},
		{p.Volumes[0].Positions, "temp", "f.yml:23:3"},
	} {
		if got := test.positions.At(test.path).String(); got != test.want {
			t.Errorf("At(%q) = %s, want %s", test.path, got, test.want)
		}
	}
}

func TestLintOfAValidPipelineIsSilent(t *testing.T) {
	m, list := Parse("f.yml", []byte(twoSteps))
	list = append(list, Lint(m.Pipelines[0], false)...)
	if diff := cmp.Diff(diag.List(nil), list); list.HasErrors() {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
}
