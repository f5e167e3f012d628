package rpc_test

import (
	"encoding/json"
	"testing"

	api "github.com/drone/drone-go/drone"
	"github.com/google/go-cmp/cmp"

	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
)

const wireStage = `{"id":28,"repo_id":6,"build_id":11,"number":2,"name":"two","kind":"pipeline","type":"kubernetes",
"status":"pending","errignore":false,"exit_code":0,"machine":"m","os":"linux","arch":"arm64","variant":"v8",
"kernel":"1809","limit":3,"throttle":4,"started":0,"stopped":0,"created":1,"updated":2,"version":9007199254740993,
"on_success":true,"on_failure":true,"depends_on":["one"],"labels":{"zone":"a"},
"later":{"deep":[1,2.50]},"flag":null,
"steps":[{"id":1,"step_id":28,"number":1,"name":"build","status":"pending","exit_code":0,"version":1,"image":"golang",
"detached":true,"depends_on":["clone"],"schema":"s","colour":"red"}]}`

func TestStageComesBackAsItWasSent(t *testing.T) {
	var stage rpc.Stage
	if err := json.Unmarshal([]byte(wireStage), &stage); err != nil {
		t.Fatal(err)
	}
	if stage.LimitRepo != 4 || stage.RepoID != 6 || stage.Version != 9007199254740993 || stage.Steps[0].StageID != 28 {
		t.Errorf("stage = %+v, want throttle 4, repository 6, its version, and a step of stage 28", stage)
	}
	for name, s := range map[string]*rpc.Stage{"stage": &stage, "clone": stage.Clone()} {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(decode(t, []byte(wireStage)), decode(t, b)); diff != "" {
			t.Errorf("%s (-received +sent):\n%s", name, diff)
		}
	}
}

func TestEmptiedFieldStaysEmpty(t *testing.T) {
	stage := &rpc.Stage{}
	const text = `{"id":1,"error":"old","Variant":"v7","colour":"red","steps":[{"id":2,"error":"old"}]}`
	if err := json.Unmarshal([]byte(text), stage); err != nil {
		t.Fatal(err)
	}
	if stage.Variant != "v7" {
		t.Errorf("Variant = %q, want v7: encoding/json ignores case", stage.Variant)
	}
	stage.Error, stage.Variant, stage.Steps[0].Error = "", "", ""
	b, err := json.Marshal(stage)
	if err != nil {
		t.Fatal(err)
	}
	got := decode(t, b).(map[string]any)
	for _, name := range []string{"error", "variant", "Variant"} {
		if v, found := got[name]; found {
			t.Errorf("%s = %v, want none", name, v)
		}
	}
	if got["colour"] != "red" {
		t.Errorf("colour = %v, want red", got["colour"])
	}
}

func TestCloneIsIndependent(t *testing.T) {
	stage := &rpc.Stage{Stage: api.Stage{ID: 1}, Steps: []*rpc.Step{{Step: api.Step{ID: 2}}}}
	clone := stage.Clone()
	clone.ID, clone.Steps[0].ID = 3, 4
	if stage.ID != 1 || stage.Steps[0].ID != 2 {
		t.Errorf("stage = %+v, want it as it was", stage)
	}
}

func TestUnmarshalRefusesWhatIsNoStage(t *testing.T) {
	for _, text := range []string{`[]`, `{"id":"x"}`, `{"steps":[1]}`, `{`} {
		if err := json.Unmarshal([]byte(text), new(rpc.Stage)); err == nil {
			t.Errorf("Unmarshal(%s) succeeds, want an error", text)
		}
	}
}

func decode(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
