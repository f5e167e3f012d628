package translate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// longPipeline is a pipeline of n steps of the usual kinds: commands, plugins with settings, secrets, a shared volume,
// a notification at the end.
func longPipeline(n int) []byte {
	var b strings.Builder
	b.WriteString("kind: pipeline\ntype: docker\nname: default\nvolumes: [{name: cache, temp: {}}]\n\nsteps:\n")
	for i := range n - 1 {
		fmt.Fprintf(&b, `- name: Step %d
  image: golang:1.26
  environment:
    GOOS: linux
    TOKEN: {from_secret: token}
  settings:
    repo: example/app
    tags: [latest, 1.0, "${DRONE_COMMIT_SHA:0:8}"]
  commands:
  - go build ./...
  - echo "$(date) ${DRONE_BRANCH}"
  volumes:
  - {name: cache, path: /go/pkg}
  when:
    event: [push, tag]
`, i)
	}
	b.WriteString("- name: notify\n  image: plugins/slack\n  when: {status: [failure]}\n")
	return []byte(b.String())
}

// BenchmarkConvert200Steps measures the whole work of a conversion: substitution, reading, translation with Tekton's
// validation, writing YAML.
func BenchmarkConvert200Steps(b *testing.B) {
	text := longPipeline(200)
	f := push()
	b.ReportAllocs()
	for b.Loop() {
		text, list := drone.Substitute("f", text, f.Substitutions())
		if list.HasErrors() {
			b.Fatal(list)
		}
		m, list := drone.Parse("f", text)
		if list.HasErrors() {
			b.Fatal(list)
		}
		bundle, list := Pipeline(m.Pipelines[0], f, Options{})
		if list.HasErrors() {
			b.Fatal(list)
		}
		if _, err := YAML(bundle.Objects()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPipeline200Steps measures translation and Tekton's validation alone.
func BenchmarkPipeline200Steps(b *testing.B) {
	p := parsePipeline(b, string(longPipeline(200)))
	b.ReportAllocs()
	for b.Loop() {
		if _, list := Pipeline(p, push(), Options{}); list.HasErrors() {
			b.Fatal(list)
		}
	}
}

// BenchmarkDenseGraph measures a pipeline in which every step waits for all steps before it.
func BenchmarkDenseGraph(b *testing.B) {
	var text strings.Builder
	text.WriteString(dockerHead + "steps:\n")
	for i := range 300 {
		fmt.Fprintf(&text, "- {name: s%d, image: i, depends_on: [clone", i)
		for k := range i {
			fmt.Fprintf(&text, ", s%d", k)
		}
		text.WriteString("]}\n")
	}
	p := parsePipeline(b, text.String())
	b.ReportAllocs()
	for b.Loop() {
		if _, list := Pipeline(p, push(), Options{}); list.HasErrors() {
			b.Fatal(list)
		}
	}
}
