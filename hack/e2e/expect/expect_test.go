package expect

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const text = `
rule: A rule.
result: failure
steps:
  build: success
  test: {outcome: failure, exit: 3, after: [build], log: "+ exit 3\n"}
  deploy: skipped
`

// Each way in which a run can differ from what is expected of it is told.
func TestCompare(t *testing.T) {
	e, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(100, 0)
	observed := func() *Observed {
		return &Observed{Result: Failure, Steps: map[string]*Observation{
			"build":  {Outcome: Success, Start: at, End: at.Add(time.Second), Runs: 1},
			"test":   {Outcome: Failure, Exit: 3, Start: at.Add(time.Second), End: at.Add(time.Second), Log: "+ exit 3\n", Runs: 1},
			"deploy": {Outcome: Skipped},
		}}
	}
	if diff := cmp.Diff([]string(nil), e.Compare(observed())); diff != "" {
		t.Fatalf("a run as expected differs (-want +got):\n%s", diff)
	}
	for name, c := range map[string]struct {
		change func(*Observed)
		want   string
	}{
		"result":      {func(o *Observed) { o.Result = Success }, "result is success, want failure"},
		"stage error": {func(o *Observed) { o.Error = "odd" }, `error is "odd"`},
		"outcome":     {func(o *Observed) { o.Steps["deploy"].Outcome = Success }, `"deploy": success with exit code 0, want skipped`},
		"exit code":   {func(o *Observed) { o.Steps["test"].Exit = 4 }, `"test": failure with exit code 4`},
		"step error":  {func(o *Observed) { o.Steps["build"].Error = "odd" }, `"build": its error is "odd"`},
		"log":         {func(o *Observed) { o.Steps["test"].Log = "" }, `"test": its log differs`},
		"order":       {func(o *Observed) { o.Steps["test"].Start = at }, `"test" did not start after the end of "build"`},
		"twice":       {func(o *Observed) { o.Steps["build"].Runs = 2 }, `"build" ran 2 times`},
		"missing":     {func(o *Observed) { delete(o.Steps, "deploy") }, `"deploy": absent`},
		"more":        {func(o *Observed) { o.Steps["x"] = &Observation{Outcome: Success} }, `"x" is not expected`},
	} {
		o := observed()
		c.change(o)
		faults := e.Compare(o)
		if len(faults) != 1 || !strings.Contains(faults[0], c.want) {
			t.Errorf("%s: faults are %q, want one that says %q", name, faults, c.want)
		}
	}
}

// In one pod a step's end can be told as later than the start of the step after it.
func TestCompareInOnePod(t *testing.T) {
	e, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(100, 0)
	for late, want := range map[time.Duration]int{time.Second: 0, time.Minute: 1} {
		faults := e.Compare(&Observed{Result: Failure, Steps: map[string]*Observation{
			"build":  {Outcome: Success, Start: at, End: at.Add(time.Second + late), Runs: 1, Pod: "one"},
			"test":   {Outcome: Failure, Exit: 3, Start: at.Add(time.Second), Log: "+ exit 3\n", Runs: 1, Pod: "one"},
			"deploy": {Outcome: Skipped},
		}})
		if len(faults) != want {
			t.Errorf("%s late: faults are %q, want %d", late, faults, want)
		}
	}
}

// An expectation that says too little, or what does not exist, is refused.
func TestParse(t *testing.T) {
	for change, want := range map[[2]string]string{
		{"rule: A rule.", ""}:                          "rule and result are needed",
		{"result: failure", "result: fine"}:            `result is "fine"`,
		{"build: success", "build: well"}:              `"build" has no outcome that is known`,
		{", exit: 3", ""}:                              `"test": an exit code goes with`,
		{"build: success", "build: {exit: 1}"}:         `"build" has no outcome`,
		{"result: failure", "result: failure\nx: 1"}:   `unknown field "x"`,
		{"steps:", "stages: {a: {result: x}}\nsteps:"}: `stage "a": result is "x"`,
	} {
		_, err := Parse([]byte(strings.Replace(text, change[0], change[1], 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with %q: error is %v, want one that says %q", change[1], err, want)
		}
	}
}
