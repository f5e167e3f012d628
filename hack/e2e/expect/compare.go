package expect

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Compare tells where a run differs from what is expected of it.
func (e Stage) Compare(o *Observed) []string {
	var faults []string
	faultf := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if o.Result != e.Result {
		faultf("the pipeline's result is %s, want %s", o.Result, e.Result)
	}
	if fault := compareError(e.Error, o.Error); fault != "" {
		faultf("the pipeline's %s", fault)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Steps)) {
		if _, ok := e.Steps[name]; !ok {
			faultf("step %q is not expected", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Steps)) {
		want, got := e.Steps[name], o.Steps[name]
		if got == nil {
			got = &Observation{Outcome: Absent}
		}
		if got.Outcome != want.Outcome || got.Exit != want.Exit && want.Exit != AnyCode {
			faultf("step %q: %s with exit code %d, want %s with %d", name, got.Outcome, got.Exit, want.Outcome, want.Exit)
			continue
		}
		if fault := compareError(want.Error, got.Error); fault != "" {
			faultf("step %q: its %s", name, fault)
		}
		if got.Runs > 1 {
			faultf("step %q ran %d times", name, got.Runs)
		}
		for _, before := range want.After {
			if b := o.Steps[before]; b == nil || b.End.IsZero() || b.End.After(got.Start.Add(got.late(b))) {
				faultf("step %q did not start after the end of %q", name, before)
			}
		}
		for _, fault := range want.compareLog(got.Log) {
			faultf("step %q: %s", name, fault)
		}
	}
	return faults
}

// late is by how much the end of a step before may be told too late. A step in the same pod starts on the word of the other
// one's entrypoint and tells its own start, while the kubelet tells an end when it has seen it.
func (o *Observation) late(before *Observation) time.Duration {
	if o.Pod != "" && o.Pod == before.Pod {
		return 3 * time.Second
	}
	return 0
}

// notes are lines of a runner's own: that a step waits for a node, say. When there is one depends on the cluster.
var notes = regexp.MustCompile(`(?m)^\[runner\] .*\n`)

// WithoutNotes is a log without the runner's own lines.
func WithoutNotes(log string) string { return notes.ReplaceAllString(log, "") }

func (s Step) compareLog(log string) []string {
	var faults []string
	if s.Log != nil {
		if diff := cmp.Diff(*s.Log, WithoutNotes(log)); diff != "" {
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
	for _, text := range s.Has {
		if !strings.Contains(log, text) {
			faults = append(faults, fmt.Sprintf("its log does not contain %q; it is:\n%s", text, log))
		}
	}
	for _, text := range s.Lacks {
		if strings.Contains(log, text) {
			faults = append(faults, fmt.Sprintf("its log contains %q; it is:\n%s", text, log))
		}
	}
	return faults
}

// compareError compares an error's text with the part of it that is wanted.
func compareError(want, got string) string {
	if (want == "") != (got == "") || !strings.Contains(got, want) {
		return fmt.Sprintf("error is %q, want one that says %q", got, want)
	}
	return ""
}
