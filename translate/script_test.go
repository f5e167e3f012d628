package translate

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// stepWith is a pipeline of one step with these commands, which JSON, being YAML, carries as they are.
func stepWith(t testing.TB, commands ...string) string {
	t.Helper()
	list, err := json.Marshal(commands)
	if err != nil {
		t.Fatal(err)
	}
	return dockerHead + "clone: {disable: true}\nsteps:\n- name: a\n  image: i\n  commands: " + string(list) + "\n"
}

// shells are the shells that images have as /bin/sh, as far as this machine has them.
func shells(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{"sh": {"/bin/sh"}}
	for name, argv := range map[string][]string{"bash": {"bash", "--posix"}, "busybox": {"busybox", "sh"}} {
		if path, err := exec.LookPath(argv[0]); err == nil {
			found[name] = append([]string{path}, argv[1:]...)
		}
	}
	return found
}

// run starts a process as its container would, with another program in the place of /bin/sh, and gives its output, both
// streams in one, and its exit status.
func run(t *testing.T, p process, shell []string, stdin string) (string, int) {
	t.Helper()
	if p.argv[0] != "/bin/sh" {
		t.Fatalf("the step runs %q, not a shell", p.argv)
	}
	argv := slices.Concat(shell, p.argv[1:])
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for _, name := range slices.Sorted(maps.Keys(p.env)) {
		cmd.Env = append(cmd.Env, name+"="+p.env[name])
	}
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("starting the shell: %v", err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func TestScriptsRunAsWritten(t *testing.T) {
	for _, test := range []struct {
		rule     string
		commands []string
		want     string
		exit     int
	}{
		{rule: "each command is announced", commands: []string{"echo one", "echo two"},
			want: "+ echo one\none\n+ echo two\ntwo\n"},
		{rule: "the first that fails ends the script", commands: []string{"echo one", "(exit 3)", "echo two"},
			want: "+ echo one\none\n+ (exit 3)\n", exit: 3},
		{rule: "exit ends the script", commands: []string{"exit 7", "echo two"}, want: "+ exit 7\n", exit: 7},
		{rule: "one shell runs all", commands: []string{"cd /", "X=1; export X", "f() { echo f$X; }", "pwd; f"},
			want: "+ cd /\n+ X=1; export X\n+ f() { echo f$X; }\n+ pwd; f\n/\nf1\n"},
		{rule: "a pipe's status is that of its last command", commands: []string{"false | true", "echo on"},
			want: "+ false | true\n+ echo on\non\n"},
		{rule: "quotes", commands: []string{`echo "it's" '"q"' \'`}, want: `+ echo "it's" '"q"' \'` +
			"\nit's \"q\" '\n"},
		{rule: "substitution by the shell", commands: []string{"echo $(echo $(echo x)) $((1+1)) `echo y`"},
			want: "+ echo $(echo $(echo x)) $((1+1)) `echo y`\nx 2 y\n"},
		{rule: "variables", commands: []string{`V=a; echo "$V ${V} ${V:-b} ${W:-b} $#"`},
			want: `+ V=a; echo "$V ${V} ${V:-b} ${W:-b} $#"` + "\na a a b 0\n"},
		{rule: "the shell's own number", commands: []string{`test "$$" -gt 1; echo '$$'`},
			want: `+ test "$$" -gt 1; echo '$$'` + "\n$$\n"},
		{rule: "texts of Tekton", commands: []string{"echo '$(params.x) $$(context.taskRun.name) " +
			"$(steps.a.results.b) $(steps.x.outputs)'"},
			want: "+ echo '$(params.x) $$(context.taskRun.name) $(steps.a.results.b) $(steps.x.outputs)'\n" +
				"$(params.x) $$(context.taskRun.name) $(steps.a.results.b) $(steps.x.outputs)\n"},
		{rule: "a here-document", commands: []string{"cat <<'END'\n$(params.x) `no` \\n $$\nEND\n",
			"cat <<END\n$((2*3))\nEND"},
			want: "+ cat <<'END'\n$(params.x) `no` \\n $$\nEND\n$(params.x) `no` \\n $$\n+ cat <<END\n$((2*3))\nEND\n" +
				"6\n"},
		{rule: "several lines", commands: []string{"if true\nthen\n  echo yes\nfi"},
			want: "+ if true\nthen\n  echo yes\nfi\nyes\n"},
		{rule: "unicode", commands: []string{"echo 'naïve 日本語 🚀'"}, want: "+ echo 'naïve 日本語 🚀'\nnaïve 日本語 🚀\n"},
		{rule: "signs of printf and backslashes", commands: []string{`printf '%s%%\n' 'a\tb\c'`},
			want: `+ printf '%s%%\n' 'a\tb\c'` + "\na\\tb\\c%\n"},
		{rule: "a comment", commands: []string{"# nothing", "echo x # y"}, want: "+ # nothing\n+ echo x # y\nx\n"},
		{rule: "an empty command", commands: []string{"", "echo x"}, want: "+ \n+ echo x\nx\n"},
		{rule: "backquotes run once", commands: []string{"echo `echo x >> log; cat log`"},
			want: "+ echo `echo x >> log; cat log`\nx\n"},
		{rule: "stdin is not the script", commands: []string{"cat", "echo after"},
			want: "+ cat\ntyped\n+ echo after\nafter\n"},
		{rule: "no arguments", commands: []string{`echo "$#" "$*"`}, want: `+ echo "$#" "$*"` + "\n0 \n"},
	} {
		p := started(t, converted(t, stepWith(t, test.commands...)), "a")
		for name, shell := range shells(t) {
			got, exit := run(t, p, shell, "typed\n")
			if diff := cmp.Diff(test.want, got); diff != "" || exit != test.exit {
				t.Errorf("%s, in %s: exit status %d, want %d; output (-want +got):\n%s", test.rule, name, exit,
					test.exit, diff)
			}
		}
	}
}

// A script longer than what Linux takes in one argument arrives in pieces, and runs as if it had come whole.
func TestLongScriptsRunAsWritten(t *testing.T) {
	line := "echo 'ünïcödé $(params.x) $(steps.a.results.b) $$'\n"
	long := strings.Repeat(line, 200<<10/len(line))
	p := started(t, converted(t, stepWith(t, long, `echo "$#" "$0" "${script-unset}"`, "(exit 3)", "echo not reached")),
		"a")
	for _, arg := range p.argv {
		if len(arg) >= 128<<10 {
			t.Errorf("an argument has %d bytes, and Linux takes at most %d", len(arg), 128<<10)
		}
	}
	said := "ünïcödé $(params.x) $(steps.a.results.b) $$\n"
	want := "+ " + long + strings.Repeat(said, len(long)/len(line)) + `+ echo "$#" "$0" "${script-unset}"` +
		"\n0 /bin/sh unset\n+ (exit 3)\n"
	for name, shell := range shells(t) {
		got, exit := run(t, p, shell, "")
		if got != want || exit != 3 {
			t.Errorf("in %s: exit status %d, want 3; %d bytes of output, want %d", name, exit, len(got), len(want))
		}
	}
}

func TestCredentialsOfCloningGoIntoAFile(t *testing.T) {
	withNetrc := func(_ *Facts, o *Options) { o.Netrc = "creds" }
	commands := []string{`cat "$HOME/.netrc"`, `ls -l "$HOME/.netrc" | cut -c1-10`,
		`env | grep -c ^DRONE_NETRC || true`}
	p := started(t, converted(t, stepWith(t, commands...), withNetrc), "a")
	want := map[string]string{
		"DRONE_NETRC_MACHINE": "creds/machine", "DRONE_NETRC_USERNAME": "creds/username",
		"DRONE_NETRC_PASSWORD": "creds/password", "DRONE_NETRC_FILE": "creds/file",
	}
	if diff := cmp.Diff(want, p.secrets); diff != "" {
		t.Errorf("the step's secrets (-want +got):\n%s", diff)
	}
	for name := range p.secrets {
		p.env[name] = "secret"
	}
	p.env["DRONE_NETRC_FILE"] = "machine m login l password p$$"
	for name, shell := range shells(t) {
		p.env["HOME"] = t.TempDir()
		got, exit := run(t, p, shell, "")
		want := "+ " + commands[0] + "\nmachine m login l password p$$\n+ " + commands[1] + "\n-rw-------\n+ " +
			commands[2] + "\n0\n"
		if diff := cmp.Diff(want, got); diff != "" || exit != 0 {
			t.Errorf("in %s: exit status %d; output (-want +got):\n%s", name, exit, diff)
		}
		p.env["HOME"] = "/nonexistent" // an image's user may have no home
		if got, exit := run(t, p, shell, ""); exit != 1 || !strings.HasSuffix(strings.TrimSpace(got),
			"No such file or directory") {
			t.Errorf("in %s without a home: exit status %d, output %s", name, exit, got)
		}
	}
}

func TestScriptsInPieces(t *testing.T) {
	for _, script := range []string{
		"", "short", strings.Repeat("x", maxArgument), strings.Repeat("x", maxArgument+1),
		strings.Repeat("日", maxArgument),
		"$(steps.", "a $(steps.b.results.c) $(steps.d", strings.Repeat("$(steps.x.results.y)", 1000),
		strings.Repeat("x", maxArgument-3) + "$(steps.a.results.b)",
	} {
		pieces := cut(script)
		if got := strings.Join(pieces, ""); got != script {
			t.Errorf("cut of %d bytes joins to %d bytes", len(script), len(got))
		}
		for _, p := range pieces {
			if len(p) > maxArgument || stepReference.MatchString(p) || !utf8.ValidString(p) {
				t.Errorf("cut of %d bytes gives a piece of %d bytes that cannot be an argument", len(script), len(p))
			}
		}
	}
}
