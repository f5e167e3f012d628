package drone

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/drone/envsubst"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// Substitute replaces ${…} in the raw text of a file as Drone's runners do before they parse it: comments included, an
// unknown variable becomes the empty string, and a value with a line break becomes a quoted Go string.
func Substitute(file string, text []byte, vars map[string]string) (out []byte, list diag.List) {
	defer func() {
		if r := recover(); r != nil {
			out = nil
			list.Errorf(diag.Position{File: file}, CodeSubstitution, "a ${…} expression cannot be evaluated: %v", r)
		}
	}()
	value := func(name string) string {
		v := vars[name]
		if strings.Contains(v, "\n") {
			return strconv.Quote(v)
		}
		return v
	}
	s, err := envsubst.Eval(string(text), value)
	if err != nil {
		list.Errorf(diag.Position{File: file}, CodeSubstitution, "%s", fmt.Sprintf("a ${…} expression is not valid: %v", err))
		return nil, list
	}
	return []byte(s), list
}
