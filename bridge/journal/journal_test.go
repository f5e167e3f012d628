package journal

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	api "github.com/drone/drone-go/drone"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/drone-tekton/drone-runner-tekton/bridge/logs"
	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
	"github.com/drone-tekton/drone-runner-tekton/bridge/status"
)

// entry has a value in each field.
func entry() *Entry {
	at := time.Unix(1_700_000_000, 0).UTC()
	return &Entry{
		StageID: 5, Machine: "m", Phase: Running, Reserved: at,
		Stage: &rpc.Stage{Stage: api.Stage{ID: 5, Name: "default", Version: 3, OnSuccess: true}, Extra: rpc.Extra{"new": json.RawMessage(`"x"`)}},
		Repo:  "octo/cat", Build: 7, Link: "https://drone/7", Namespace: "builds", Run: "cat-7-abcdef", Timeout: time.Hour,
		Steps: []*Step{{
			Step:   status.Step{Number: 1, Name: "a", FailFast: true, Units: []status.Unit{{Task: "a", Container: "a"}}},
			Told:   &rpc.Step{Step: api.Step{ID: 9, Number: 1, Version: 2, Status: "running", Started: at.Unix()}},
			End:    &status.State{Status: "failure", ExitCode: 1, Started: at, Stopped: at.Add(time.Second)},
			Opened: true, Warnings: []string{"w"}, Uploaded: true,
			Schema: "s", Cursor: logs.Cursor{Lines: 4, Last: at, Notes: []logs.Note{{Text: "n"}}},
		}},
		Warnings: []string{"v"}, Ending: &status.Ending{Cause: status.Cancelled, At: at}, Ended: true, Failure: "f",
	}
}

// TestRoundTrip: nothing that is written down is lost.
func TestRoundTrip(t *testing.T) {
	ctx, client := context.Background(), fake.NewClientset().CoreV1().ConfigMaps("drone")
	store := NewStore(client)
	if err := store.Add(ctx, entry()); err != nil {
		t.Fatal(err)
	}
	got, err := store.Get(ctx, 5)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(entry(), got, cmpopts.IgnoreUnexported(Entry{}, status.State{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if machine, phase := Brief(got.object); machine != "m" || phase != Running {
		t.Errorf("Brief = %s, %s", machine, phase)
	}
}

func TestStore(t *testing.T) {
	ctx, client := context.Background(), fake.NewClientset().CoreV1().ConfigMaps("drone")
	store := NewStore(client)
	e := &Entry{StageID: 5, Phase: Reserved}
	if err := store.Add(ctx, e); err != nil {
		t.Fatal(err)
	}
	if err := store.Add(ctx, &Entry{StageID: 5}); !errors.Is(err, ErrExists) {
		t.Errorf("Add of an entry that exists = %v, want ErrExists", err)
	}
	e.Phase = Taken
	if err := store.Save(ctx, e); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Get(ctx, 5); err != nil || got.Phase != Taken {
		t.Errorf("Get = %+v, %v", got, err)
	}
	if err := client.Delete(ctx, Name(5), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := store.Save(ctx, e); !errors.Is(err, ErrStale) {
		t.Errorf("Save of an entry that is gone = %v, want ErrStale", err)
	}
	if err := store.Remove(ctx, e); err != nil {
		t.Errorf("Remove of an entry that is gone = %v", err)
	}
	if got, err := store.Get(ctx, 5); got != nil || err != nil {
		t.Errorf("Get = %+v, %v, want none", got, err)
	}
}

// TestKnown: what was seen counts before what was told.
func TestKnown(t *testing.T) {
	e := entry().Steps[0]
	if got := e.Known().Status; got != "failure" {
		t.Errorf("Known = %s, want the end that was seen", got)
	}
	e.End = nil
	if got := e.Known(); got.Status != "running" || got.Started.IsZero() {
		t.Errorf("Known = %+v, want what was told", got)
	}
}
