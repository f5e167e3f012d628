package drone

import (
	"fmt"
	"strings"
	"testing"
)

// longPipeline is a pipeline of n steps of the usual kind.
func longPipeline(n int) []byte {
	var b strings.Builder
	b.WriteString("kind: pipeline\ntype: kubernetes\nname: default\n\nsteps:\n")
	for i := range n {
		fmt.Fprintf(&b, `- name: step-%d
  image: golang:1.26
  environment:
    GOOS: linux
    TOKEN:
      from_secret: token
  settings:
    repo: example/app
    tags: [latest, 1.0]
  commands:
  - go build ./...
  - go test ./...
  when:
    event: [push, tag]
`, i)
	}
	return []byte(b.String())
}

// BenchmarkParse200Steps measures reading a long pipeline: splitting, decoding, places of keys, the check of keys.
func BenchmarkParse200Steps(b *testing.B) {
	text := longPipeline(200)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, list := Parse("f.yml", text); list.HasErrors() {
			b.Fatal(list)
		}
	}
}

// BenchmarkSubstitute200Steps measures substitution in a long pipeline.
func BenchmarkSubstitute200Steps(b *testing.B) {
	text := longPipeline(200)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, list := Substitute("f.yml", text, nil); list.HasErrors() {
			b.Fatal(list)
		}
	}
}
