package translate

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// dollarVariable is an environment variable that holds a dollar sign, for texts that cannot be written otherwise.
const dollarVariable = "DRONE_TEKTON_DOLLAR"

// reference is what Tekton could take for one of its own variables: a name followed by a dot or a bracket.
var reference = regexp.MustCompile(`^\([A-Za-z][A-Za-z0-9_-]*[.\[]`)

// literal writes a text so that a container's command, argument or environment variable holds exactly that text.
// Kubernetes replaces $(NAME) there and turns $$ into $, so a dollar sign before a parenthesis or another dollar sign is
// doubled. Tekton replaces $(params.x) and its like before that, by plain search, and refuses a run that refers to
// something unknown; there is no escape from it, so such a text takes its dollar sign from an environment variable.
// The second result reports whether it does.
func literal(text string) (string, bool) {
	if !strings.Contains(text, "$") {
		return text, false
	}
	var b strings.Builder
	variable := false
	for i := 0; i < len(text); {
		if text[i] != '$' {
			b.WriteByte(text[i])
			i++
			continue
		}
		n := 1
		for i+n < len(text) && text[i+n] == '$' {
			n++
		}
		rest := text[i+n:]
		switch {
		case reference.MatchString(rest):
			b.WriteString(strings.Repeat("$$", n-1))
			b.WriteString("$(" + dollarVariable + ")")
			variable = true
		case n == 1 && !strings.HasPrefix(rest, "("):
			b.WriteByte('$')
		default:
			b.WriteString(strings.Repeat("$$", n))
		}
		i += n
	}
	return b.String(), variable
}

// literals writes each text, and reports whether any needs the variable.
func literals(texts []string) ([]string, bool) {
	var out []string
	variable := false
	for _, t := range texts {
		l, v := literal(t)
		out = append(out, l)
		variable = variable || v
	}
	return out, variable
}

var dollarEnv = corev1.EnvVar{Name: dollarVariable, Value: "$"}
