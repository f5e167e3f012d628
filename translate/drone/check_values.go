package drone

import (
	"slices"
	"strings"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// smallCPU is the amount below which a number was probably meant as cores, in thousandths of a core.
const smallCPU = 10

// examineCPU tells of amounts that are something else than they seem: Drone's kubernetes runner counts thousandths of a
// core, and cuts fractions.
func examineCPU(c *checker, _ *Key, v value) {
	const hint = "write thousandths of a core: 500 is half a core"
	switch n := scalarOf(v.node).(type) {
	case float64:
		if int64(n) == 0 {
			c.tell(diag.Warning, CodeCPU, v.node, hint, "Drone cuts cpu: %s to 0, which is no amount at all", v.node.Value)
		} else {
			c.tell(diag.Warning, CodeCPU, v.node, hint, "Drone cuts cpu: %s to %d thousandths of a core", v.node.Value, int64(n))
		}
	case int:
		if 0 < n && n < smallCPU {
			c.tell(diag.Warning, CodeCPU, v.node, hint, "cpu: %s is %d thousandths of a core", v.node.Value, n)
		}
	}
}

// examineMode tells of file modes that were written without the zero that makes them octal.
func examineMode(c *checker, _ *Key, v value) {
	n, ok := scalarOf(v.node).(int)
	text := v.node.Value
	if ok && !strings.HasPrefix(text, "0") && len(text) == 3 && strings.Trim(text, "01234567") == "" {
		c.tell(diag.Warning, CodeMode, v.node, "write 0"+text, "the mode %s is decimal: it is %#o in octal", text, n)
	}
}

// examineFailure tells of values that Drone treats as no value.
func examineFailure(c *checker, _ *Key, v value) {
	known := []string{"ignore", "fast", "fast-fail", "fail-fast"}
	if !slices.Contains(known, v.node.Value) {
		c.tell(diag.Warning, CodeUnknownValue, v.node, "ignore and fast are possible",
			"failure: %s has no meaning to Drone: a failure of the step counts%s", v.node.Value, suggestion(v.node.Value, known))
	}
}

// examinePull tells of values that Drone treats as no value.
func examinePull(c *checker, _ *Key, v value) {
	known := []string{"always", "if-not-exists", "never", "default"}
	if slices.Contains(known, v.node.Value) {
		return
	}
	meant := suggestion(v.node.Value, known)
	if v.node.Value == "true" { // As Drone 0.8 had it.
		meant = " (did you mean always?)"
	}
	c.tell(diag.Warning, CodeUnknownValue, v.node, "always, if-not-exists and never are possible",
		"pull: %s has no meaning to Drone%s", v.node.Value, meant)
}

// examineTolerationSeconds tells that Drone reads another spelling.
func examineTolerationSeconds(c *checker, _ *Key, v value) {
	c.tell(diag.Info, CodeUnknownKey, v.key, "",
		"Drone reads tolerationseconds and ignores toleration_seconds; here both are read")
}
