package drone

import (
	"strings"
	"testing"
)

func TestFilesThatAreNotYAML(t *testing.T) {
	step := dockerHead + stepHead
	runChecks(t, []checkCase{
		{"a tab", step + "\tcommands: []\n",
			"f:7:1: error: a tab in the indentation: YAML allows spaces only; replace tabs by spaces [yaml-syntax]"},
		{"a tab after spaces", step + "  commands:\n  \t- x\n",
			"f:8:3: error: a tab in the indentation: YAML allows spaces only; replace tabs by spaces [yaml-syntax]"},
		{"a merge conflict", step + "<<<<<<< HEAD\n  pull: always\n=======\n  pull: never\n>>>>>>> x\n",
			"f:7:1: error: the file has the marks of an unresolved merge; resolve the conflict and remove the marks [merge-conflict]"},
		{"a quote that is not closed", step + "  pull: 'always\n  user: a\n",
			"f:7:3: error: not valid YAML: a quote or bracket that opens here is never closed; close it [yaml-syntax]"},
		{"a bracket that is not closed", step + "  commands: [a, b\n  user: x\n",
			"f:8:3: error: not valid YAML: a bracket [ that opens above is not closed here; close it, or put a text that begins with [ in quotes [yaml-syntax]"},
		{"wrong indentation", step + " commands: []\n",
			"f:7:2: error: not valid YAML: this line does not fit the map around it; check the indentation, and quotes and brackets above [yaml-syntax]"},
		{"a colon too much", step + "  pull: a: b\n",
			"f:7:3: error: not valid YAML: a colon makes this a key where none can stand; check the indentation, or put the text in quotes [yaml-syntax]"},
		{"a text that goes on at the margin", step + "  pull: a\nb\n",
			"f:8:1: error: not valid YAML: this line is neither a key nor part of the value above; check the indentation, or put the text in quotes [yaml-syntax]"},
		{"a backtick", step + "  pull: `a`\n",
			"f:7:3: error: not valid YAML: a value cannot begin with this character; put the text in quotes [yaml-syntax]"},
		{"an exclamation mark", step + "  pull: !a!b c\n",
			"f:7:3: error: not valid YAML: a text cannot begin with ! without quotes; put it in quotes [yaml-syntax]"},
		{"a star", step + "  when: {branch: [*]}\n",
			"f:7:3: error: not valid YAML: a text cannot begin with & or * without quotes; put it in quotes [yaml-syntax]"},
		{"an escape", step + "  pull: \"\\d\"\n",
			"f:7:3: error: not valid YAML: there is no such escape in a text in double quotes; double the backslash, or use single quotes [yaml-syntax]"},
		{"a list on the line of its key", step + "  commands: - a\n",
			"f:7:3: error: not valid YAML: a dash cannot begin a list here; start the list on a line of its own [yaml-syntax]"},
		{"an unknown anchor", step + "  <<: *x\n",
			"f:1:1: error: not valid YAML: unknown anchor 'x' referenced [yaml-syntax]"},
		{"an anchor in itself", "kind: pipeline\nx: &x\n  y: *x\n", "f:3:6: error: the anchor x contains itself [yaml-syntax]"},
		{"in the second document", step + "---\nkind: pipeline\n\tname: x\n",
			"f:9:1: error: a tab in the indentation: YAML allows spaces only; replace tabs by spaces [yaml-syntax]"},
		{"text after a closing brace", "{kind: pipeline}\nx\n",
			"f:2:1: error: not valid YAML: text follows the end of the value above; remove it, or check the braces [yaml-syntax]"},
		{"not UTF-8", "kind: \xff\n", "f:1:7: error: the file is not UTF-8 text; save it as UTF-8 [encoding]"},
		{"a control character", "kind: \x1b[0m\n",
			"f:1:7: error: the character U+001B is not allowed in YAML; remove it, or write it as an escape in double quotes [encoding]"},
	})
}

func TestLimits(t *testing.T) {
	lines := func(n int, line string) string { return strings.Repeat(line, n) }
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		name := func(i int) string { return "a" + string(rune('0'+i)) }
		bomb += name(i+1) + ": &" + name(i+1) + " [" + strings.Repeat("*"+name(i)+", ", 9) + "*" + name(i) + "]\n"
	}
	for _, test := range []struct{ rule, text, want string }{
		{"a large file", dockerHead + stepHead + lines(10<<20/20, "# a line of comment\n"), "f: error: the file has 10.0 MiB; at most 2 MiB are read [too-large]"},
		{"aliases that multiply", "kind: pipeline\n" + bomb,
			"f:1:1: error: the document has more than 500000 keys and values, aliases written out [too-large]"},
		{"deep nesting", "kind: pipeline\nx: " + lines(300, "[") + lines(300, "]") + "\n",
			"f:1:1: error: maps and lists are nested more than 200 deep [too-large]"},
		{"very deep nesting", "kind: pipeline\nx:\n" + lines(1<<10, " [[[[\n"), "f:253: error: maps and lists are nested too deep [too-large]"},
		{"very deep nesting of lists", "kind: pipeline\nx:\n" + lines(1<<14, "- ") + "\n", "f:3: error: maps and lists are nested too deep [too-large]"},
	} {
		if _, list := Parse("f", []byte(test.text)); report(list) != test.want {
			t.Errorf("%s: diagnostics = %s, want %s", test.rule, report(list), test.want)
		}
	}
}
