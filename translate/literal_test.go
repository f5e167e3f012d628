package translate

import (
	"testing"

	"github.com/tektoncd/pipeline/pkg/substitution"
)

// textsLikeReferences are texts that Tekton, Kubernetes or both would take for something else.
var textsLikeReferences = []string{
	"", "$", "$$", "$$$", "$$$$", "a$", "a$$", "$HOME", "${HOME}", "$1 $@ $? $!",
	"$(date)", "$$(date)", "$$$(date)", "$(", "$(date", "$()", "$((1+1))", "$(echo $(date))", "$(a$(b)c)",
	"$(HOME)", "$$(HOME)", "$(DRONE_TEKTON_DOLLAR)", "$$(DRONE_TEKTON_DOLLAR)",
	"$(params.x)", "$$(params.x)", "$$$(params.x)", "$$$$(params.x)", "$(params['x'])", `$(params["x"])`,
	"$(params[0])", "$(params.x[*])",
	"$(context.taskRun.name)", "$(context.pipelineRun.uid)", "$(workspaces.source.path)", "$(tasks.a.status)",
	"$(tasks.a.results.b)",
	"$(results.a.path)", "$(step.results.a.path)", "$(credentials.path)", "$(params.x", "$(params.", "$(cat file.txt)",
	"$(ls a.b)",
	"$(sed 's/$$(params.x)/$(params.y)/')", "$(params.x)$(params.y)$$", "naïve $(é.è) 日本語 $(params.日)",
	"\x00$(params.x)\xff",
	"line\n$(params.x)\r\n\t$$\n", "back\\slash \\$(params.x) \\$$", "'$(params.x)' \"$(params.x)\" `$(params.x)`",
}

func TestLiteralArrivesByteForByte(t *testing.T) {
	for _, text := range textsLikeReferences {
		checkLiteral(t, text)
	}
}

func TestLiteralIsPlainWhereItCanBe(t *testing.T) {
	for _, test := range []struct {
		text, want string
		variable   bool
	}{
		{"no dollar", "no dollar", false},
		{"$HOME and ${HOME}", "$HOME and ${HOME}", false},
		{"$(date)", "$$(date)", false},
		{"$$", "$$$$", false},
		{"$(params.x)", "$(DRONE_TEKTON_DOLLAR)(params.x)", true},
		{"$$(params.x)", "$$$(DRONE_TEKTON_DOLLAR)(params.x)", true},
	} {
		if got, variable := literal(test.text); got != test.want || variable != test.variable {
			t.Errorf("literal(%q) = %q, %v, want %q, %v", test.text, got, variable, test.want, test.variable)
		}
	}
}

// checkLiteral plays Tekton's controller, which knows every variable that the text could refer to, and then Kubernetes.
func checkLiteral(t *testing.T, text string) {
	t.Helper()
	written, variable := literal(text)
	known := map[string]string{}
	for _, name := range []string{
		"params.x", "params.y", "params['x']", `params["x"]`, "params[0]", "params.x[*]", "context.taskRun.name",
		"context.pipelineRun.uid", "workspaces.source.path", "tasks.a.status", "tasks.a.results.b", "results.a.path",
		"step.results.a.path", "credentials.path",
	} {
		known[name] = "REPLACED-BY-TEKTON"
	}
	for _, m := range anyReference.FindAllStringSubmatch(text+written, -1) {
		known[m[1]] = "REPLACED-BY-TEKTON"
	}
	after := substitution.ApplyReplacements(written, known)
	if after != written {
		t.Errorf("Tekton makes %q of literal(%q)", after, text)
	}
	vars := map[string]string{"HOME": "/root", "date": "x"}
	if variable {
		vars[dollarEnv.Name] = dollarEnv.Value
	}
	if got := expand(after, vars); got != text {
		t.Errorf("literal(%q) = %q, which arrives as %q", text, written, got)
	}
}

func FuzzLiteral(f *testing.F) {
	for _, text := range textsLikeReferences {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkLiteral(t, text) })
}

// The rule that the tests play Kubernetes by, with the examples of its documentation.
func TestExpansionAsKubernetesDocumentsIt(t *testing.T) {
	vars := map[string]string{"VAR_A": "A", "VAR_B": "B", "VAR_REF": "$(VAR_A)", "VAR_EMPTY": ""}
	for text, want := range map[string]string{
		"$(VAR_A)": "A", "___$(VAR_B)___": "___B___", "$(VAR_A)-$(VAR_B)": "A-B", "$(VAR_REF)": "$(VAR_A)",
		"$(VAR_EMPTY)": "",
		"$(VAR_C)":     "$(VAR_C)", "$$(VAR_A)": "$(VAR_A)", "$$$(VAR_A)": "$A", "$$$$$$": "$$$", "$VAR_A": "$VAR_A",
		"${VAR_A}": "${VAR_A}",
		"$(VAR_A":  "$(VAR_A", "f$": "f$", "$": "$", "$()": "$()", "foo$$(VAR_A)": "foo$(VAR_A)", "$?": "$?",
	} {
		if got := expand(text, vars); got != want {
			t.Errorf("expand(%q) = %q, want %q", text, got, want)
		}
	}
}
