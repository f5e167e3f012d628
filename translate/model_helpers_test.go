package translate

import (
	"strings"

	"github.com/drone-tekton/drone-runner-tekton/translate/testmodel"
)

// helper plays a helper container of the translation, by what its script is meant to do. It notes the starts of detached
// steps.
func helper(k testmodel.Container, launched map[string]int64) (testmodel.Exit, bool) {
	if len(k.Step.Args) < 2 {
		return testmodel.Exit{}, false
	}
	script, name, given := k.Step.Args[0], k.Step.Args[1], k.Step.Args[2:]
	var failed []string
	for i := 0; i+1 < len(given); i += 2 {
		switch {
		case script == listFailed && given[i+1] == string(testmodel.TaskFailed):
			failed = append(failed, given[i])
		case script != listFailed && k.Exits[given[i]] != 0:
			failed = append(failed, given[i+1])
		}
	}
	names := strings.Join(failed, ",")
	switch script {
	case listFailed:
		return testmodel.Exit{Results: map[string]string{failedStepsName: names}}, true
	case tellOutcome:
		return testmodel.Exit{Results: map[string]string{statusResult: outcome(len(failed) > 0), failedStepsName: names}}, true
	case giveVerdict:
		return testmodel.Exit{Code: min(len(failed), 1)}, true
	case markStart, markUnless:
		if len(failed) == 0 {
			launched[name] = k.Start
		}
		return testmodel.Exit{}, true
	}
	return testmodel.Exit{}, false
}
