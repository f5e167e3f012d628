package drone

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplitByLinePrefix(t *testing.T) {
	for _, test := range []struct {
		rule, text string
		want       []document
		diags      string
	}{
		{"one document", "a: b\n", []document{{1, []byte("a: b\n")}}, ""},
		{"a separator before", "---\na: b\n", []document{{2, []byte("a: b\n")}}, ""},
		{"two documents", "a: b\n---\nc: d", []document{{1, []byte("a: b\n")}, {3, []byte("c: d\n")}}, ""},
		{"line endings of Windows", "a: b\r\n---\r\nc: d\r\n", []document{{1, []byte("a: b\n")}, {3, []byte("c: d\n")}}, ""},
		{"a comment on the separator", "--- # x\na: b\n", []document{{2, []byte("a: b\n")}}, ""},
		{"text on the separator is lost", "--- {a: b}\nc: d\n", []document{{2, []byte("c: d\n")}},
			`f:1:1: warning: Drone takes any line that begins with "---" for a separator and ignores the text on it; move the text to a line of its own, or indent it [text-ignored]`},
		{"in a block of text too", "a: |\n--- x\n", []document{{1, []byte("a: |\n")}, {3, nil}},
			`f:2:1: warning: Drone takes any line that begins with "---" for a separator and ignores the text on it; move the text to a line of its own, or indent it [text-ignored]`},
		{"the end", "a: b\n...\n\n# c\n", []document{{1, []byte("a: b\n")}}, ""},
		{"text after the end is lost", "a: b\n...\nc: d\n", []document{{1, []byte("a: b\n")}},
			`f:3:1: warning: Drone ignores the file after a line that begins with "..." [text-ignored]`},
		{"an indented separator is none", " ---\n", []document{{1, []byte(" ---\n")}}, ""},
	} {
		got, list := split("f", []byte(test.text))
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(document{})); diff != "" {
			t.Errorf("%s: split(%q) (-want +got):\n%s", test.rule, test.text, diff)
		}
		if diff := cmp.Diff(test.diags, report(list)); diff != "" {
			t.Errorf("%s: diagnostics of split(%q) (-want +got):\n%s", test.rule, test.text, diff)
		}
	}
}

func TestALineOf64KiBIsKept(t *testing.T) {
	long := strings.Repeat("x", 64<<10)
	m, list := Parse("f", []byte(dockerHead+stepHead+"  commands:\n  - echo "+long+"\n  - echo b\n"))
	if got := codes(list); got != "long-line" || len(m.Pipelines[0].Steps[0].Commands) != 2 {
		t.Errorf("codes = %q, commands = %d, want long-line and 2", got, len(m.Pipelines[0].Steps[0].Commands))
	}
}

func TestFilesThatAreNotDrone(t *testing.T) {
	empty := "f: error: the file is empty; write a document of kind: pipeline [not-drone]"
	runChecks(t, []checkCase{
		{"empty", "", empty},
		{"only comments", "# a\n---\n# b\n", empty},
		{"a text", "hello\n", "f:1:1: error: not a Drone file: a document must be a map of keys, found a text [not-drone]"},
		{"a list", "- a\n", "f:1:1: error: not a Drone file: a document must be a map of keys, found a list [not-drone]"},
		{"Drone 0.8", "workspace:\n  base: /go\npipeline:\n  build: {image: i}\n",
			"f:3:1: error: the file is in the format of Drone 0.8, which is not read here; rewrite it with drone convert, from Drone's command line tools [drone-0.8]"},
		{"GitHub Actions", "on: push\njobs: {}\n",
			"f:1:1: error: not a Drone file: no document of kind pipeline; it looks like a workflow of GitHub Actions [not-drone]"},
		{"GitLab CI", "stages: [a]\n",
			"f:1:1: error: not a Drone file: no document of kind pipeline; it looks like a configuration of GitLab CI [not-drone]"},
		{"Kubernetes", "apiVersion: v1\nkind: \n",
			"f:1:1: error: not a Drone file: no document of kind pipeline; it looks like an object of Kubernetes [not-drone]"},
		{"no kind", "name: p\nsteps: []\n", "f:1:1: error: the document has no kind; Drone refuses it; add kind: pipeline [document-kind]"},
		{"a template", "kind: template\nload: x.star\n",
			"f:1:1: error: the file calls the template x.star, which is stored in Drone's server and expanded there; convert what the template expands to; the runner gets it expanded from the server [template]"},
		{"secrets only", "kind: secret\nname: s\ndata: x\n", "f: error: not a Drone file: no document of kind pipeline [not-drone]"},
	})
}

func TestOtherDocuments(t *testing.T) {
	ok := dockerHead + stepHead
	runChecks(t, []checkCase{
		{"signature", ok + "---\nkind: signature\nhmac: x\n",
			"f:8:1: info: the signature is not verified here; Drone's server does that for protected repositories [signature]"},
		{"cron", ok + "---\nkind: cron\nname: c\nspec: {schedule: x, branch: b, deployment: {target: t}}\n",
			"f:8:1: info: documents of kind cron have no effect, as in Drone; set the schedule in the repository's settings in Drone [cron]"},
		{"registry", ok + "---\nkind: registry\ndata: {a: b}\n",
			"f:8:1: warning: documents of kind registry have no effect, as in Drone's runners; use image_pull_secrets [registry]"},
		{"unknown kind", ok + "---\nkind: pipline\nname: q\n",
			"f:8:1: warning: the kind pipline is unknown: Drone's server makes it a pipeline that no runner ever takes; did you mean pipeline? [document-kind]"},
		{"a type without containers", ok + "---\nkind: pipeline\ntype: exec\nname: q\nplatform: {os: darwin}\n",
			"f:8:1: warning: the pipeline is of type exec, which has no counterpart in Tekton, and is left out; keep a Drone runner for it [type-skipped]"},
		{"a secret without a value", ok + "---\nkind: secret\nname: s\n",
			"f:8:1: warning: the secret s has neither data nor get, so it never has a value; add data or get.path [secret]"},
		{"comments before the first separator", "# c\n---\n" + ok,
			"f:1:1: info: a document without content, on which some versions of Drone's server refuse the file; move comments below the first ---, and remove a --- at the end [empty-document]"},
	})
	m, _ := Parse("f", []byte(ok+"---\nkind: pipeline\ntype: ssh\nname: q\n---\nkind: secret\nname: s\nget: {path: p, name: n}\n"))
	if len(m.Pipelines) != 1 || m.Pipelines[0].Type != TypeDocker {
		t.Errorf("pipelines = %v, want one of type docker", m.Pipelines)
	}
	if len(m.Skipped) != 1 || m.Skipped[0].Name != "q" || m.Skipped[0].Type != "ssh" || m.Skipped[0].Position.Line != 8 {
		t.Errorf("skipped = %v, want q of type ssh on line 8", m.Skipped)
	}
	if len(m.Secrets) != 1 || m.Secrets[0].Get.Path != "p" || m.Secrets[0].At("get.path").Line != 14 {
		t.Errorf("secrets = %+v, want one with get.path p on line 14", m.Secrets)
	}
}
