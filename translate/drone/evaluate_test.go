package drone

import (
	"context"
	"os"
	"strings"
	"testing"

	api "github.com/drone/drone-go/drone"
	"github.com/google/go-cmp/cmp"
)

var (
	evaluationRepo  = &api.Repo{Name: "app", Slug: "org/app", Branch: "main", Private: true}
	evaluationBuild = &api.Build{
		Event: "promote", Target: "main", After: "0123", Deploy: "prod", Params: map[string]string{"b": "2", "a": "1"},
	}
)

func TestEvaluateStarlark(t *testing.T) {
	for _, test := range []struct{ rule, program, want string }{
		{"a dict is a document", "def main(ctx):\n  return {'kind': 'pipeline', 'steps': [{'n': 1, 'f': 1.5, 'b': True, 'x': None, 't': (1, 2)}]}\n",
			"---\n{\n  \"kind\": \"pipeline\",\n  \"steps\": [\n    {\n      \"n\": 1,\n      \"f\": 1.5,\n      \"b\": true,\n      \"x\": null,\n      \"t\": [\n        1,\n        2\n      ]\n    }\n  ]\n}\n"},
		{"a list is several", "def main(ctx):\n  return [{'a': 1}, {'b': 2}]\n", "---\n{\n  \"a\": 1\n}\n---\n{\n  \"b\": 2\n}\n"},
		{"the repository", "def main(ctx):\n  return {'v': [ctx.repo.name, ctx.repo.slug, ctx.repo.branch, ctx.repo.private]}\n",
			"---\n{\n  \"v\": [\n    \"app\",\n    \"org/app\",\n    \"main\",\n    true\n  ]\n}\n"},
		{"the build", "def main(ctx):\n  return {'v': [ctx.build.event, ctx.build.branch, ctx.build.commit, ctx.build.environment, ctx.build.debug]}\n",
			"---\n{\n  \"v\": [\n    \"promote\",\n    \"main\",\n    \"0123\",\n    \"prod\",\n    false\n  ]\n}\n"},
		{"parameters", "def main(ctx):\n  return ctx.build.params\n", "---\n{\n  \"a\": \"1\",\n  \"b\": \"2\"\n}\n"},
		{"no input outside of templates", "def main(ctx):\n  return {'v': dir(ctx.input)}\n", "---\n{\n  \"v\": []\n}\n"},
		{"keys that are numbers", "def main(ctx):\n  return {1: '<a & b>'}\n", "---\n{\n  \"1\": \"<a & b>\"\n}\n"},
		{"characters that YAML forbids", "def main(ctx):\n  return {'v': '\\x7f\\n'}\n", "---\n{\n  \"v\": \"\\u007f\\n\"\n}\n"},
		{"print does nothing", "def main(ctx):\n  print('x')\n  return {}\n", "---\n{}\n"},
	} {
		got, list := Evaluate(context.Background(), ".drone.star", []byte(test.program), evaluationRepo, evaluationBuild)
		if diff := cmp.Diff(test.want, string(got)); diff != "" || len(list) > 0 {
			t.Errorf("%s: %v, (-want +got):\n%s", test.rule, list, diff)
		}
	}
}

func TestEvaluateJsonnet(t *testing.T) {
	for _, test := range []struct{ rule, program, want string }{
		{"an object is a document", "{kind: 'pipeline', steps: [{n: 1.5}]}",
			"---\n{\n  \"kind\": \"pipeline\",\n  \"steps\": [\n    {\n      \"n\": 1.5\n    }\n  ]\n}\n"},
		{"a list is several", "[{a: 1}, {b: 2}]", "---\n{\n  \"a\": 1\n}\n---\n{\n  \"b\": 2\n}\n"},
		{"facts are texts", "{v: [std.extVar('build.event'), std.extVar('repo.private'), std.extVar('build.param.a')]}",
			"---\n{\n  \"v\": [\n    \"promote\",\n    \"true\",\n    \"1\"\n  ]\n}\n"},
		{"recursion", "local f(x) = if x == 0 then 0 else f(x - 1); {a: f(100)}", "---\n{\n  \"a\": 0\n}\n"},
	} {
		got, list := Evaluate(context.Background(), ".drone.jsonnet", []byte(test.program), evaluationRepo, evaluationBuild)
		if diff := cmp.Diff(test.want, strings.ReplaceAll(string(got), "}\n\n", "}\n")); diff != "" || len(list) > 0 {
			t.Errorf("%s: %v, (-want +got):\n%s", test.rule, list, diff)
		}
	}
}

func TestEvaluateLeavesOtherFilesAlone(t *testing.T) {
	got, list := Evaluate(context.Background(), ".drone.yml", []byte("\xff"), nil, nil)
	if string(got) != "\xff" || list != nil {
		t.Errorf("Evaluate = %q, %v", got, list)
	}
}

func TestEvaluateSaysWhereAProgramIsWrong(t *testing.T) {
	star := func(body string) string { return "def main(ctx):\n  " + body + "\n" }
	for _, test := range []struct{ rule, file, program, want string }{
		{"syntax", "f.star", "x =", "f.star:1:4: error: Starlark: got end of file, want primary expression [evaluation]"},
		{"an unknown name", "f.star", star("foo()"), "f.star:2:3: error: Starlark: undefined: foo [evaluation]"},
		{"a failure", "f.star", star("fail('no')"), "f.star:2:7: error: Starlark: fail: no [evaluation]"},
		{"an unknown fact", "f.star", star("return ctx.repo.nam"), "f.star:2:18: error: Starlark: \"repo\" struct has no .nam attribute (did you mean .name?) [evaluation]"},
		{"load", "f.star", "load('x.star', 'y')\n" + star("return {}"),
			"f.star:1:1: error: Starlark: cannot load x.star: not possible, as in Drone: evaluate with drone starlark, and convert the result [evaluation]"},
		{"no main", "f.star", "x = 1\n",
			"f.star: error: the program has no function main(ctx); define main, and return a pipeline or a list of them [evaluation]"},
		{"a wrong result", "f.star", star("return 1"), "f.star: error: main returns a value of type int, which must be a dict or a list [evaluation]"},
		{"a value without YAML", "f.star", star("return {'a': main}"), "f.star: error: the configuration has a value of type function, which YAML does not know [evaluation]"},
		{"a number without YAML", "f.star", star("return {'a': float('inf')}"), "f.star: error: the configuration has the number +inf, which YAML has no sign for [evaluation]"},
		{"recursion", "f.star", "def f():\n  f()\n" + star("f()"), "f.star:2:3: error: Starlark: function f called recursively [evaluation]"},
		{"a loop", "f.star", star("[x for x in range(100000000)]"), "f.star:2:4: error: Starlark: too many steps [evaluation]"},
		{"a value in itself", "f.star", star("l = []\n  l.append(l)\n  return l"), "f.star: error: the configuration is nested more than 200 deep [evaluation]"},
		{"a value that multiplies", "f.star", star("l = ['x' * 1000]\n  for i in range(50):\n    l = [l, l]\n  return l"),
			"f.star: error: the program gives more than 2 MiB of configuration [evaluation]"},
		{"memory", "f.star", star("l = []\n  for i in range(100000):\n    l.append('x' * (1000000 + i))"), "f.star: error: the program takes more than 256 MiB of memory [evaluation]"},
		{"a large program", "f.star", strings.Repeat("#\n", 256<<10), "f.star: error: the program has more than 256 KiB [evaluation]"},
		{"jsonnet syntax", "f.jsonnet", "{", "f.jsonnet:1:2: error: jsonnet: Unexpected: end of file while parsing field definition [evaluation]"},
		{"jsonnet unknown name", "f.jsonnet", "{a: 1,\n b: c}", "f.jsonnet:2:5: error: jsonnet: Unknown variable: c [evaluation]"},
		{"jsonnet failure", "f.jsonnet", "{\n  a: error 'no',\n}", "f.jsonnet:2:6: error: jsonnet: no [evaluation]"},
		{"jsonnet import", "f.jsonnet", "import 'x.libsonnet'",
			"f.jsonnet:1:1: error: jsonnet: import of x.libsonnet is not possible here: evaluate with drone jsonnet, and convert the result [evaluation]"},
		{"jsonnet unknown fact", "f.jsonnet", "std.extVar('input.x')", "f.jsonnet:1:1: error: jsonnet: Undefined external variable: input.x [evaluation]"},
		{"jsonnet recursion", "f.jsonnet", "local f(x) = f(x + 1); f(0)", "f.jsonnet:1:24: error: jsonnet: max stack frames exceeded [evaluation]"},
		{"jsonnet tail recursion", "f.jsonnet", "local f(x) = f(x + 1) tailstrict; f(0)", "f.jsonnet:1:35: error: jsonnet: max stack frames exceeded [evaluation]"},
	} {
		got, list := Evaluate(context.Background(), test.file, []byte(test.program), nil, nil)
		if diff := cmp.Diff(test.want, report(list)); diff != "" || got != nil {
			t.Errorf("%s: Evaluate = %q, (-want +got):\n%s", test.rule, got, diff)
		}
	}
}

func TestEvaluateEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, list := Evaluate(ctx, "f.star", []byte("def main(ctx):\n  [x for x in range(100000000)]\n"), nil, nil)
	if want := "f.star: error: context canceled [evaluation]"; report(list) != want {
		t.Errorf("Evaluate = %s, want %s", report(list), want)
	}
}

func TestAProgramOfMoreStepsThanDronesDefaultIsWarnedOf(t *testing.T) {
	_, list := Evaluate(context.Background(), "f.star", []byte("def main(ctx):\n  [x for x in range(50000)]\n  return {}\n"), nil, nil)
	if list.HasErrors() || codes(list) != "evaluation" {
		t.Errorf("Evaluate = %v, want a warning", list)
	}
}

func TestEvaluatedPipelineParses(t *testing.T) {
	program, err := os.ReadFile("testdata/matrix.star")
	if err != nil {
		t.Fatal(err)
	}
	text, list := Evaluate(context.Background(), "matrix.star", program, evaluationRepo, evaluationBuild)
	if len(list) > 0 {
		t.Fatal(list)
	}
	m, list := Parse("matrix.star", text)
	if len(list) > 0 || len(m.Pipelines) != 2 || m.Pipelines[1].Steps[0].Image != "golang:1.26" {
		t.Errorf("Parse = %+v, %v", m, list)
	}
}
