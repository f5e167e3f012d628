package drone

import (
	"strings"
	"testing"

	"github.com/drone/envsubst"
	"github.com/google/go-cmp/cmp"
)

var substitutionVars = map[string]string{
	"DRONE_BRANCH":     "feature/x",
	"DRONE_TAG":        "v1.2.3",
	"DRONE_COMMIT_SHA": "0123456789abcdef",
	"MESSAGE":          "a \"b\"\nc",
	"EMPTY":            "",
}

func TestSubstituteGivesWhatDroneGives(t *testing.T) {
	for _, test := range []struct{ rule, text, want string }{
		{"a variable", "x ${DRONE_BRANCH} y", "x feature/x y"},
		{"an unknown variable is empty", "x${NONE}y", "xy"},
		{"no braces, no substitution", "$DRONE_BRANCH $(cmd) $((1+1)) $1 $@ $?", "$DRONE_BRANCH $(cmd) $((1+1)) $1 $@ $?"},
		{"comments too", "# ${DRONE_TAG}", "# v1.2.3"},
		{"an escaped expression", "$${DRONE_TAG}", "${DRONE_TAG}"},
		{"two dollars become one", "echo $$ $$$$ $$NAME", "echo $ $$ $NAME"},
		{"an escape before an expression", "$$${DRONE_TAG}", "$v1.2.3"},
		{"a backslash does not escape", `\${DRONE_TAG}`, `\v1.2.3`},
		{"two backslashes become one", `a\\.b`, `a\.b`},
		{"a backslash before a slash goes", `s/\//-/`, `s///-/`},
		{"other backslashes stay", `a\nb\`, `a\nb\`},
		{"default of an unset variable", "${NONE:-x} ${NONE:=x} ${NONE=x}", "x x x"},
		{"default of an empty variable", "${EMPTY:-x}", "x"},
		{"default of a set variable", "${DRONE_TAG:-x}", "v1.2.3"},
		{"alternative is a default", "${DRONE_TAG:+x} ${NONE:+x} ${NONE:?x}", "v1.2.3 x x"},
		{"nested default", "${NONE:-${DRONE_BRANCH}}", "feature/x"},
		{"substring", "${DRONE_COMMIT_SHA:0:8} ${DRONE_COMMIT_SHA:12}", "01234567 cdef"},
		{"substring with a space", "${DRONE_TAG: -3}", "v1.2.3"},
		{"prefixes and suffixes", "${DRONE_TAG#v} ${DRONE_TAG##*.} ${DRONE_TAG%.*} ${DRONE_TAG%%.*}", "1.2.3 3 v1.2 v1"},
		{"replacement", `${DRONE_BRANCH/\//-} ${DRONE_TAG//./_}`, "feature-x v1_2_3"},
		{"case and length", "${DRONE_TAG^^} ${DRONE_TAG^} ${#DRONE_TAG}", "V1.2.3 V1.2.3 6"},
		{"a pattern with a brace", "${DRONE_TAG/}/x}", "v1.2.3"},
		{"inside other braces", "{{${DRONE_TAG}}}", "{{v1.2.3}}"},
		{"a value with a line break is quoted", "m: ${MESSAGE}", `m: "a \"b\"\nc"`},
	} {
		got, list := Substitute("f.yml", []byte(test.text), substitutionVars)
		if string(got) != test.want || list.HasErrors() {
			t.Errorf("%s: Substitute(%q) = %q, %v, want %q", test.rule, test.text, got, list, test.want)
		}
		reference, err := envsubst.Eval(test.text, func(name string) string {
			if name == "MESSAGE" {
				return `"a \"b\"\nc"`
			}
			return substitutionVars[name]
		})
		if reference != test.want || err != nil {
			t.Errorf("%s: envsubst gives %q, %v, want %q", test.rule, reference, err, test.want)
		}
	}
}

func TestSubstituteSaysWhereAnExpressionIsWrong(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"a\n  b ${X::7}", "f.yml:2:5: error: Drone cannot substitute ${X::7}: unable to parse substitution within function; write ${X:0:7} [substitution]"},
		{"é ${X-def}", "f.yml:1:3: error: Drone cannot substitute ${X-def}: missing closing brace; write ${X:-def} [substitution]"},
		{"${X+y}", "f.yml:1:1: error: Drone cannot substitute ${X+y}: missing closing brace; write $${X…} to leave it to the shell [substitution]"},
		{"${arr[0]}", "f.yml:1:1: error: Drone cannot substitute ${arr[0]}: missing closing brace; Drone has no arrays: write $${arr[…]} to leave it to the shell [substitution]"},
		{"${!x}", "f.yml:1:1: error: Drone cannot substitute ${!x}: unable to parse variable name; write $${…} to leave it to the shell [substitution]"},
		{"${}", "f.yml:1:1: error: Drone cannot substitute ${}: unable to parse variable name; write $${…} to leave it to the shell [substitution]"},
		{"# ${ b", "f.yml:1:3: error: Drone cannot substitute ${ b, also in a comment: missing closing brace; close it with }, or write $${ to leave it to the shell [substitution]"},
		{"${{ secrets.X }}", "f.yml:1:1: error: Drone cannot substitute ${{ secrets.X }: unable to parse variable name; expressions in double braces are of GitHub Actions; Drone has none [substitution]"},
		{"${X:(-3)}${DRONE_TAG:2:-1}", "f.yml:1:10: error: Drone cannot substitute ${DRONE_TAG:2:-1}: the substring is out of range; write $${…} to leave it to the shell [substitution]"},
		{"${DRONE_TAG}\n${A.b}\n${DRONE_TAG}\n${C.d}",
			"f.yml:2:1: error: Drone cannot substitute ${A.b}: missing closing brace; write $${…} to leave it to the shell [substitution]\n" +
				"f.yml:4:1: error: Drone cannot substitute ${C.d}: missing closing brace; write $${…} to leave it to the shell [substitution]"},
	} {
		got, list := Substitute("f.yml", []byte(test.text), substitutionVars)
		var lines []string
		for _, d := range list {
			if d.Severity == "error" {
				lines = append(lines, d.String())
			}
		}
		if diff := cmp.Diff(test.want, strings.Join(lines, "\n")); diff != "" || got != nil {
			t.Errorf("Substitute(%q) = %q, diagnostics (-want +got):\n%s", test.text, got, diff)
		}
	}
}

func TestSubstituteWarnsOfSurprises(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"echo $$", "escaped-text"},
		{"echo $${X} $$X $$1 $$(y)", ""}, // The documented way to leave a variable to the shell.
		{`grep '\\.'`, "escaped-text"},
		{`sed 's/\//-/'`, "escaped-text"},
		{"${GOPATH}/bin", "unknown-variable"},
		{"${GOPATH:-/go}/bin", ""},
		{"${DRONE_SEMVER} ${CI_X}", ""}, // Known names, which some events leave empty.
		{"${DRONE_TAG:+x}", "substitution-operator"},
		{"${DRONE_TAG:(-3)}", "substitution-operator"},
		{"${DRONE_TAG: -3}", "substitution-operator"},
		{"${DRONE_TAG:1:x}", "substitution-operator"},
		{"${DRONE_TAG:-3} ${DRONE_TAG:1:2} ${DRONE_TAG:1}", ""},
		{"  # $$ ${GOPATH}", ""},
	} {
		_, list := Substitute("f.yml", []byte(test.text), substitutionVars)
		if got := codes(list); got != test.want {
			t.Errorf("codes of Substitute(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}

func FuzzSubstitute(f *testing.F) {
	for _, seed := range []string{
		"${DRONE_TAG}", "$$${A}", `\\\/$`, "${A:-${B}}", "${A/}/x}", "${A:}}", "${A//", "${A:1:-2}", "${#A}x", "${A#*${B}", "$$$", "${A=}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, list := Substitute("f.yml", []byte(text), substitutionVars)
		want, err := referenceSubstitution(text)
		switch {
		case codes(list) == "encoding", len(text) > maxExpression:
		case err != nil && !list.HasErrors():
			t.Errorf("Substitute(%q) = %q, Drone refuses it: %v", text, got, err)
		case err == nil && list.HasErrors() && strings.Count(text, "}") < maxBraces:
			t.Errorf("Substitute(%q) fails: %v, Drone gives %q", text, list, want)
		case err == nil && string(got) != want && !list.HasErrors():
			t.Errorf("Substitute(%q) = %q, Drone gives %q", text, got, want)
		}
	})
}

// referenceSubstitution is the whole text given to the library that Drone uses.
func referenceSubstitution(text string) (out string, err error) {
	defer func() {
		if recover() != nil {
			err = parsePanic{}
		}
	}()
	return envsubst.Eval(text, func(name string) string {
		if name == "MESSAGE" {
			return `"a \"b\"\nc"`
		}
		return substitutionVars[name]
	})
}

type parsePanic struct{}

func (parsePanic) Error() string { return "panic" }
