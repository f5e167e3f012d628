package translate

import (
	"strings"
	"testing"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// Each hint can be followed where it is read: on the command line by a flag or a command, from a server by asking there.
func TestHintsFitWhoeverReadsThem(t *testing.T) {
	const file = "kind: pipeline\nname: a\nsteps: []\n---\nkind: pipeline\nname: b\ndepends_on: [a]\nimage_pull_secrets: [pull]\nsteps:\n- name: s\n  image: i\n" +
		"  environment: {A: {from_secret: s}}\n"
	for _, tt := range []struct {
		rule string
		text string
		o    Options
		code diag.Code
		want []string // the hints
	}{
		{"untrusted, converted", file + "  privileged: true\n", Options{}, drone.CodeUntrusted, []string{"pass --trusted"}},
		{"untrusted, from a server", file + "  privileged: true\n", Options{Server: true}, drone.CodeUntrusted, []string{"ask an administrator"}},
		{"order of pipelines", file, Options{}, CodeServerOnly, []string{"create them one after the other, or use run"}},
		{"secrets", file, Options{}, CodeSecretNeeded,
			[]string{"kubectl create secret generic drone-secrets ", "kubectl create secret docker-registry pull "}},
		{"secrets of a namespace", file, Options{Namespace: "builds"}, CodeSecretNeeded,
			[]string{"kubectl create secret -n builds generic ", "kubectl create secret -n builds docker-registry "}},
	} {
		m, diags := drone.Parse("f", []byte(tt.text))
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		_, diags = Pipeline(m.Pipelines[len(m.Pipelines)-1], Facts{}, tt.o)
		var hints []string
		for _, d := range diags {
			if d.Code == tt.code {
				hints = append(hints, d.Hint)
			}
		}
		ok := len(hints) == len(tt.want)
		for i := range min(len(hints), len(tt.want)) {
			ok = ok && strings.HasPrefix(hints[i], tt.want[i])
		}
		if !ok {
			t.Errorf("%s: hints %q, want %q", tt.rule, hints, tt.want)
		}
	}
}
