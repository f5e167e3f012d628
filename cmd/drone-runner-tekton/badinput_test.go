package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

const (
	goodStep = "- name: a\n  image: i\n"
	goodHead = "kind: pipeline\ntype: docker\nname: default\n"
)

// lines are the messages of a text of diagnostics: an indented line belongs to the message above it.
func lines(text string) []string {
	var out []string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if len(out) > 0 && strings.HasPrefix(line, "    ") {
			out[len(out)-1] += line
			continue
		}
		out = append(out, line)
	}
	return out
}

// Input that cannot be converted gets one message, which names the fault and its place, and nothing is printed.
func TestBadInput(t *testing.T) {
	for _, test := range []struct {
		fault, text string
		want        string // the start of the message
	}{
		{"not YAML", "kind: [pipeline\n", ".drone.yml:1:1: error: not valid YAML: "},
		{"not YAML, a program", "package main\n\nfunc main() {}\n", ".drone.yml:"},
		{"a tab", "kind: pipeline\nname: default\nsteps:\n\t- name: a\n", ".drone.yml:4:1: error: "},
		{"a tab behind blanks", goodHead + "steps:\n- name: a\n  \timage: i\n", ".drone.yml:6:3: error: "},
		{"marks of a merge conflict", goodHead + "<<<<<<< HEAD\nsteps: []\n=======\nsteps: [{}]\n>>>>>>> topic\n",
			".drone.yml:4:1: error: "},
		{"Drone 0.8", "pipeline:\n  build:\n    image: golang\n    commands: [make]\n", ".drone.yml:1:1: error: "},
		{"a template", "kind: template\nload: plugin.yaml\ndata: {name: x}\n", ".drone.yml:1:1: error: "},
		{"another file", "apiVersion: v1\nkind: ConfigMap\n", ".drone.yml:"},
		{"a list", "- a\n- b\n", ".drone.yml:"},
		{"a text", "hello\n", ".drone.yml:"},
		{"an empty file", "", ".drone.yml: error: the file is empty"},
		{"blanks and comments", "\n  \n# nothing\n", ".drone.yml: error: the file is empty"},
		{"a missing image", goodHead + "steps:\n- name: a\n", `.drone.yml:5:3: error: the step "a" has no image`},
		{"a missing name", goodHead + "steps:\n- image: i\n", ".drone.yml:5:3: error: the step has no name"},
		{"a dependency on itself", goodHead + "steps:\n" + goodStep + "  depends_on: [a]\n",
			`.drone.yml:7:16: error: the step "a" depends on itself`},
		{"a dependency on what comes after", goodHead + "steps:\n" + goodStep +
			"  depends_on: [b]\n- name: b\n  image: i\n",
			`.drone.yml:7:16: error: the step "a" depends on "b", which stands after it`},
		{"a dependency on nothing", goodHead + "steps:\n" + goodStep + "  depends_on: [x]\n",
			`.drone.yml:7:16: error: the step "a" depends on "x"`},
		{"two steps of one name", goodHead + "steps:\n" + goodStep + goodStep,
			`.drone.yml:7:3: error: the name "a" is used twice`},
		{"two pipelines of one name", goodHead + "steps:\n" + goodStep + "---\n" + goodHead + "steps:\n" + goodStep,
			".drone.yml:10:1: error: two pipelines have the name"},
		{"commands as a text", goodHead + "steps:\n" + goodStep + "  commands: make\n", ".drone.yml:7:13: error: "},
		{"when as a list", goodHead + "steps:\n" + goodStep + "  when:\n  - event: push\n", ".drone.yml:8:3: error: "},
		{"a substitution that Drone cannot parse", goodHead + "steps:\n" + goodStep + "  commands: ['${A-b}']\n",
			".drone.yml:7:15: error: "},
		{"a privileged step of an untrusted repository", goodHead + "steps:\n" + goodStep + "  privileged: true\n",
			".drone.yml:7:3: error: "},
		{"no pipeline for the build", goodHead + "steps:\n" + goodStep + "trigger: {event: tag}\n",
			".drone.yml: error: no pipeline is triggered by a push on branch main"},
		{"no text", "\xff\xfe\x00", ".drone.yml:1:1: error: the file is not UTF-8 text"},
		{"10 MB", goodHead + "steps:\n" + goodStep + "  commands:\n" + strings.Repeat("  - "+strings.Repeat("x", 1019)+
			"\n", 10<<10), ".drone.yml: error: the file has 10.0 MiB"},
		{"aliases without end", "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + manyAliases() + "kind: pipeline\n",
			".drone.yml"},
		{"lists in lists", goodHead + "steps: " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "\n",
			".drone.yml:4"},
	} {
		t.Run(test.fault, func(t *testing.T) {
			elsewhere(t, map[string]string{defaultFile: test.text})
			checkFailure(t, exitFailed, test.want, append([]string{"convert"}, buildFlags...)...)
		})
	}
}

// manyAliases makes a few lines that would be ten thousand million values.
func manyAliases() string {
	var b strings.Builder
	for c := 'b'; c <= 'j'; c++ {
		fmt.Fprintf(&b, "%c: &%c [", c, c)
		for range 10 {
			fmt.Fprintf(&b, "*%c, ", c-1)
		}
		b.WriteString("x]\n")
	}
	return b.String()
}

// checkFailure runs the program, which has to fail with one error that begins as wanted.
func checkFailure(t *testing.T, want int, message string, args ...string) {
	t.Helper()
	out, saying, status := runCommand(t, args...)
	if status != want || out != "" {
		t.Errorf("exit status %d, %d bytes on standard output, want status %d and none", status, len(out), want)
	}
	var errors []string
	for _, line := range lines(saying) {
		if strings.Contains(line, "error: ") || strings.HasPrefix(line, "Error: ") {
			errors = append(errors, line)
		}
	}
	if len(errors) != 1 || !strings.HasPrefix(errors[0], message) {
		t.Errorf("said: %q\nwant one error that begins with %q", lines(saying), message)
	}
}

// A file that is not there, a folder, and wrong flags: one message, and the exit status that scripts can tell apart.
func TestWrongUse(t *testing.T) {
	good := goodHead + "steps:\n" + goodStep
	for _, test := range []struct {
		fault   string
		args    []string
		status  int
		message string
	}{
		{"no file", []string{"convert", "nowhere.yml"}, exitFailed,
			"Error: open nowhere.yml: no such file or directory"},
		{"no default file", []string{"convert"}, exitFailed, "Error: there is no .drone.yml here"},
		{"a folder", []string{"convert", "."}, exitFailed, "Error: . is a directory"},
		{"a flag that is none", []string{"convert", "good.yml", "--colour"}, exitUsage,
			"Error: unknown flag: --colour"},
		{"a flag without a value", []string{"convert", "good.yml", "--branch"}, exitUsage,
			"Error: flag needs an argument: --branch"},
		{"a form that is none", []string{"convert", "good.yml", "-o", "xml"}, exitUsage,
			`Error: invalid argument "xml" for "-o, --output" flag: must be one of yaml, json`},
		{"a layout that is none", []string{"convert", "good.yml", "--layout", "pods"}, exitUsage,
			`Error: invalid argument "pods" for "--layout" flag: must be one of steps, chains, pod`},
		{"an access mode that is none", []string{"convert", "good.yml", "--access-mode", "RWX"}, exitUsage,
			`Error: invalid argument "RWX" for "--access-mode" flag`},
		{"an amount that is none", []string{"convert", "good.yml", "--volume-size", "big"}, exitUsage,
			`Error: invalid argument "big" for "--volume-size" flag: must be an amount`},
		{"an amount below nothing", []string{"convert", "good.yml", "--limit-memory=-1Gi"}, exitUsage,
			`Error: invalid argument "-1Gi" for "--limit-memory" flag`},
		{"a number that is none", []string{"convert", "good.yml", "--build-number", "x"}, exitUsage,
			`Error: invalid argument "x" for "--build-number" flag`},
		{"a parameter without a value", []string{"convert", "good.yml", "--param", "x"}, exitUsage,
			`Error: invalid argument "x" for "--param" flag`},
		{"a time that is none", []string{"convert", "good.yml", "--timeout", "soon"}, exitUsage,
			`Error: invalid argument "soon" for "--timeout" flag`},
		{"no time", []string{"convert", "good.yml", "--timeout", "-5m"}, exitUsage,
			`Error: invalid argument "-5m" for "--timeout" flag: must be a time such as 90m`},
		{"an event that is none", []string{"convert", "good.yml", "--event", "promotion"}, exitUsage,
			`Error: invalid argument "promotion" for "--event" flag: must be one of push, pull_request, tag, promote`},
		{"a repository without its owner", []string{"convert", "good.yml", "--repo", "hello"}, exitUsage,
			`Error: invalid argument "hello" for "--repo" flag: must be OWNER/NAME`},
		{"no file, before any cluster is asked", []string{"run", "nowhere.yml", "--kubeconfig", "good.yml"}, exitFailed,
			"Error: open nowhere.yml: no such file or directory"},
		{"two files", []string{"convert", "good.yml", "good.yml"}, exitUsage,
			"Error: accepts at most 1 arg(s), received 2"},
		{"a command that is none", []string{"converted"}, exitUsage,
			`Error: unknown command "converted", did you mean convert?`},
		{"a pipeline that is none", []string{"convert", "good.yml", "--pipeline", "other"}, exitFailed,
			`good.yml: error: there is no pipeline "other"`},
		{"a file of variables that is none", []string{"convert", "good.yml", "--env-file", "nowhere.env"}, exitFailed,
			"Error: reading the variables of nowhere.env"},
		{"a namespace that is none", []string{"convert", "good.yml", "-n", "My Builds"}, exitFailed,
			"good.yml:1:1: error: Kubernetes would refuse the namespace My Builds"},
		{"a name that is none", []string{"convert", "good.yml", "--name", "My Run"}, exitFailed,
			"good.yml:1:1: error: "},
	} {
		t.Run(test.fault, func(t *testing.T) {
			elsewhere(t, map[string]string{"good.yml": good})
			checkFailure(t, test.status, test.message, test.args...)
		})
	}
}

// Keys that Drone does not know are warnings, with a suggestion where one is close, and errors only where they are
// asked to be.
func TestUnknownKeysAreWarnings(t *testing.T) {
	elsewhere(t, map[string]string{defaultFile: goodHead + "steps:\n" + goodStep +
		"  comands: [make]\n  colour: red\n"})
	out, saying, status := runCommand(t, append([]string{"convert"}, buildFlags...)...)
	said := lines(saying)
	if status != 0 || out == "" || len(said) != 2 || !strings.HasPrefix(said[0], ".drone.yml:7:3: warning: ") ||
		!strings.Contains(said[0], "commands") ||
		!strings.HasPrefix(said[1], ".drone.yml:8:3: warning: ") {
		t.Errorf("exit status %d, %d bytes on standard output, said %q", status, len(out), said)
	}
	out, strict, status := runCommand(t, append([]string{"convert", "--strict"}, buildFlags...)...)
	if status != exitFailed || out != "" || strict != saying {
		t.Errorf("with --strict: exit status %d, %d bytes on standard output, said %q", status, len(out), strict)
	}
}

// A mount of an undeclared volume is left out as in Drone, with a warning.
func TestUndeclaredVolumeIsAWarning(t *testing.T) {
	elsewhere(t, map[string]string{defaultFile: goodHead + "steps:\n" + goodStep + "  volumes:\n  - name: v\n" +
		"    path: /v\n"})
	out, saying, status := runCommand(t, append([]string{"convert"}, buildFlags...)...)
	if status != 0 || strings.Contains(out, "/v\n") || !strings.HasPrefix(saying,
		`.drone.yml:8:5: warning: the volume "v" is mounted and not declared`) {
		t.Errorf("exit status %d, said %q", status, saying)
	}
	if out, _, status := runCommand(t, append([]string{"convert", "--strict"},
		buildFlags...)...); status != exitFailed || out != "" {
		t.Errorf("with --strict: exit status %d, %d bytes on standard output", status, len(out))
	}
}

// Diagnostics as JSON are one array, whatever happens.
func TestDiagnosticsAsJSON(t *testing.T) {
	for text, want := range map[string]string{
		goodHead + "steps:\n" + goodStep:              "",
		goodHead + "steps:\n- name: a\n":              `error image-missing .drone.yml 5 3`,
		goodHead + "steps:\n" + goodStep + "  x: 1\n": `warning unknown-key .drone.yml 7 3`,
	} {
		elsewhere(t, map[string]string{defaultFile: text})
		_, saying, _ := runCommand(t, append([]string{"convert", "--diagnostics", "json"}, buildFlags...)...)
		var list []struct {
			Severity, Code, File, Message string
			Line, Column                  int
		}
		if err := json.Unmarshal([]byte(saying), &list); err != nil {
			t.Errorf("the diagnostics of\n%sare no JSON: %v\n%s", text, err, saying)
			continue
		}
		var got []string
		for _, d := range list {
			got = append(got, fmt.Sprint(d.Severity, " ", d.Code, " ", d.File, " ", d.Line, " ", d.Column))
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("diagnostics of\n%sare %q, want %q", text, got, want)
		}
	}
}

func TestConvertStandardInput(t *testing.T) {
	elsewhere(t, nil)
	out, saying, status := runWithInput(t, goodHead+"steps:\n"+goodStep+"  x: 1\n", append([]string{"convert", "-"},
		buildFlags...)...)
	if status != 0 || !strings.Contains(out, "kind: PipelineRun") || !strings.HasPrefix(saying,
		"stdin:7:3: warning: ") {
		t.Errorf("exit status %d, said %q, printed\n%s", status, saying, out)
	}
}

func TestOutputAsJSON(t *testing.T) {
	elsewhere(t, map[string]string{
		"one.yml": goodHead + "steps:\n" + goodStep, "two.yml": goodHead + "services: [{name: s, image: i}]\nsteps:\n" +
			goodStep,
	})
	for file, want := range map[string]string{"one.yml": "PipelineRun", "two.yml": "List"} {
		out, _, status := runCommand(t, append([]string{"convert", file, "-o", "json"}, buildFlags...)...)
		var object struct{ Kind string }
		if err := json.Unmarshal([]byte(out), &object); err != nil || object.Kind != want || status != 0 {
			t.Errorf("%s: kind %q, error %v, exit status %d, want the kind %s", file, object.Kind, err, status, want)
		}
	}
}

// With --output-dir each pipeline has a file of its own, with a name that no other has; nothing goes to standard
// output.
func TestOutputIntoAFolder(t *testing.T) {
	pipeline := func(name string) string {
		return "kind: pipeline\ntype: docker\nname: " + name + "\nsteps:\n" + goodStep + "---\n"
	}
	elsewhere(t, map[string]string{defaultFile: pipeline("Test It") + pipeline("test-it") + pipeline("other")})
	out, saying, status := runCommand(t, append([]string{"convert", "--output-dir", "out/new"}, buildFlags...)...)
	if status != 0 || out != "" {
		t.Fatalf("exit status %d, %d bytes on standard output: %s", status, len(out), saying)
	}
	entries, err := os.ReadDir("out/new")
	if err != nil || len(entries) != 3 {
		t.Fatalf("there are the files %v (%v), want three", entries, err)
	}
	for _, e := range entries {
		text, err := os.ReadFile("out/new/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		checkObjects(t, string(text))
	}
}

// lint tells of all files and all pipelines, and prints nothing else.
func TestLint(t *testing.T) {
	elsewhere(t, map[string]string{
		"good.yml": goodHead + "steps:\n" + goodStep, "bad.yml": goodHead + "steps:\n- name: a\n",
		"tag.yml": goodHead + "trigger: {event: tag}\nsteps:\n" + goodStep + "  x: 1\n",
	})
	for _, test := range []struct {
		args   []string
		status int
		want   []string
	}{
		{[]string{"good.yml"}, 0, []string{"1 of 1 files can be converted"}},
		{[]string{"good.yml", "bad.yml", "nowhere.yml"}, exitFailed, []string{"bad.yml:5:3: error: ",
			"nowhere.yml: error: ", "1 of 3 files can be converted"}},
		{[]string{"tag.yml"}, 0, []string{"tag.yml:8:3: warning: ", "1 of 1 files can be converted"}},
		{[]string{"tag.yml", "--strict"}, exitFailed, []string{"tag.yml:8:3: warning: ", "0 of 1 files can be converted"}},
	} {
		out, saying, status := runCommand(t, append(append([]string{"lint"}, buildFlags...), test.args...)...)
		said := lines(saying)
		ok := len(said) == len(test.want)
		for i := range min(len(said), len(test.want)) {
			ok = ok && strings.HasPrefix(said[i], test.want[i])
		}
		if !ok || status != test.status || out != "" {
			t.Errorf("lint %v: exit status %d, want %d; said %q, want %q", test.args, status, test.status, said,
				test.want)
		}
	}
}
