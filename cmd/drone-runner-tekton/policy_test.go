package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/drone-tekton/drone-runner-tekton/translate"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// TestLintPolicies: a file of policies can be checked before it is rolled out, alone or beside pipelines.
func TestLintPolicies(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.FromSlash(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("good.yml", "kind: policy\nname: p\nretention: {keep: 24h}\n")
	write("bad.yml", "kind: policy\nname: p\nretention: {kep: 24h}\nstorage: {layout: pods}\n")
	write(".drone.yml", goodHead+"steps:\n"+goodStep)
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		want   []string // the beginnings of the lines
	}{
		{"good", []string{"--policy", "good.yml"}, 0, []string{"1 of 1 files of policies can be used"}},
		{"bad", []string{"--policy", "bad.yml"}, 1, []string{"bad.yml:3:13: error: kep is not a key of retention", "bad.yml:4:19: error: storage.layout:", "0 of 1 files of policies can be used"}},
		{"both", []string{"--policy", "good.yml", ".drone.yml"}, 0, []string{"1 of 1 files of policies can be used", "1 of 1 files can be converted"}},
		{"no such file", []string{"--policy", "none.yml"}, 1, []string{"none.yml: error: open none.yml", "0 of 1 files of policies can be used"}},
		{"pipeline", []string{"--policy", ".drone.yml"}, 1, []string{`.drone.yml:1:7: error: kind must be policy, found "pipeline"`, "0 of 1 files of policies can be used"}},
	} {
		stdout, stderr, status := runCommand(t, append([]string{"lint"}, tt.args...)...)
		var told []string
		for _, line := range lines(stderr) {
			if !strings.Contains(line, ": info: ") && !strings.Contains(line, ": warning: ") { // of the pipeline
				told = append(told, line)
			}
		}
		ok := status == tt.status && stdout == "" && len(told) == len(tt.want)
		for i := range told {
			ok = ok && strings.HasPrefix(told[i], tt.want[i])
		}
		if !ok {
			t.Errorf("%s: status %d, told\n%s\nwant status %d and %q", tt.name, status, stderr, tt.status, tt.want)
		}
	}
}

// TestExplain: convert and run give the planner's reasons where they are asked for.
func TestExplain(t *testing.T) {
	for _, newCommand := range []func(streams) *cobra.Command{newConvert, newRun} {
		cmd := newCommand(streams{})
		if cmd.Flags().Lookup("explain") == nil {
			t.Errorf("%s has no flag --explain", cmd.Name())
		}
	}
	var told strings.Builder
	c := &conversion{}
	results := []result{{&drone.Pipeline{Name: "p"}, &translate.Bundle{Reasons: []string{"layout: steps"}}}}
	c.tellReasons(streams{err: &told}, results)
	if told.Len() > 0 {
		t.Errorf("without --explain: %q", told.String())
	}
	c.explain = true
	c.tellReasons(streams{err: &told}, results)
	if got := told.String(); got != "p: layout: steps\n" {
		t.Errorf("with --explain: %q", got)
	}
}
