package main

import (
	"strings"
	"testing"
)

// TestCompletion: a shell completes words that a flag takes, pipelines of the file, and files where files are meant.
func TestCompletion(t *testing.T) {
	elsewhere(t, map[string]string{defaultFile: goodHead + "steps:\n" + goodStep + "---\nkind: pipeline\nname: other\nsteps: []\n"})
	for _, tt := range []struct{ line, want string }{
		{"convert --layout ", "steps chains pod :4"},
		{"run --event ", "push pull_request tag promote rollback cron custom :4"},
		{"doctor --access-mode ", "ReadWriteOnce ReadWriteMany :4"},
		{"convert --pipeline ", "default other :4"},
		{"convert --tag ", ":4"},
		{"convert --env-file ", ":0"},
		{"convert --output-dir ", ":16"},
		{"lint ", "yml yaml star starlark script jsonnet :8"},
		{"doctor ", ":4"},
	} {
		args := strings.Split(tt.line, " ")
		out, _, status := runCommand(t, append([]string{"__complete"}, args...)...)
		if got := strings.Join(strings.Fields(out), " "); got != tt.want || status != 0 {
			t.Errorf("%q completes to %q, want %q", tt.line, got, tt.want)
		}
	}
}

// TestHelpGroupsFlags: the help lists flags by what they are about, each once.
func TestHelpGroupsFlags(t *testing.T) {
	out, _, _ := runCommand(t, "run", "--help")
	place := 0
	for _, heading := range []string{"Build Flags:", "Pipeline Flags:", "Storage Flags:", "Pod Flags:", "Output Flags:", "Cluster Flags:", "\nFlags:"} {
		at := strings.Index(out, heading)
		if at < place {
			t.Errorf("%q is at %d, after %d", heading, at, place)
		}
		place = at
	}
	for _, flag := range []string{"--tag ", "--trusted ", "--spread ", "--restricted ", "--explain ", "--kubeconfig ", "--help "} {
		if n := strings.Count(out, " "+flag); n != 1 {
			t.Errorf("the flag %s is listed %d times", flag, n)
		}
	}
}
