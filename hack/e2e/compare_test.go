//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// compare tells where a run differs from what is expected of it.
func (e expectation) compare(o *observed) []string {
	var faults []string
	faultf := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if o.result != e.Result {
		faultf("the pipeline's result is %s, want %s", o.result, e.Result)
	}
	for _, name := range slices.Sorted(maps.Keys(o.steps)) {
		if _, ok := e.Steps[name]; !ok {
			faultf("step %q is not expected", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Steps)) {
		want, got := e.Steps[name], o.steps[name]
		if got == nil {
			got = &observation{outcome: absent}
		}
		if got.outcome != want.Outcome || got.exit != want.Exit && want.Exit != anyCode {
			faultf("step %q: %s with exit code %d, want %s with %d", name, got.outcome, got.exit, want.Outcome, want.Exit)
			continue
		}
		if got.runs > 1 {
			faultf("step %q ran %d times", name, got.runs)
		}
		for _, before := range want.After {
			if b := o.steps[before]; b == nil || b.end.IsZero() || b.end.After(got.start) {
				faultf("step %q did not start after the end of %q", name, before)
			}
		}
		for _, fault := range want.compareLog(got.log) {
			faultf("step %q: %s", name, fault)
		}
	}
	return faults
}

func (s stepExpectation) compareLog(log string) []string {
	var faults []string
	if s.Log != nil {
		if diff := cmp.Diff(*s.Log, log); diff != "" {
			faults = append(faults, "its log differs (-want +got):\n"+diff)
		}
	}
	rest := strings.Split(log, "\n")
	for _, line := range s.Lines {
		i := slices.Index(rest, line)
		if i < 0 {
			faults = append(faults, fmt.Sprintf("its log has no line %q at its place; it is:\n%s", line, log))
			break
		}
		rest = rest[i+1:]
	}
	for _, text := range s.Lacks {
		if strings.Contains(log, text) {
			faults = append(faults, fmt.Sprintf("its log contains %q; it is:\n%s", text, log))
		}
	}
	return faults
}
