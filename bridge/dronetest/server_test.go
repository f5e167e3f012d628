package dronetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	api "github.com/drone/drone-go/drone"
	"github.com/google/go-cmp/cmp"

	"github.com/drone-tekton/drone-runner-tekton/bridge/dronetest"
)

// These tests are of what the real server does not have, or cannot easily be brought to. That the rest is as in the
// real server is checked beside the client, in package rpc, by tests that run against both.

const config = "kind: pipeline\nname: one\nsteps:\n- name: build\n  image: golang\n"

// call makes a call, and returns status 0 for a connection that broke.
func call(
	ctx context.Context, t *testing.T, s *dronetest.Server, method, path string, in, out any,
) (status int, text string) {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL()+"/rpc/v2/"+path, strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Drone-Token", s.Secret())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	if out != nil && res.StatusCode == http.StatusOK {
		if err := json.Unmarshal(answer, out); err != nil {
			t.Fatal(err)
		}
	}
	return res.StatusCode, string(answer)
}

func enqueue(t *testing.T, s *dronetest.Server, spec dronetest.Spec) *api.Build {
	t.Helper()
	if spec.Config == "" {
		spec.Config = config
	}
	b, err := s.Enqueue(spec)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEnqueueReadsPipelines(t *testing.T) {
	s := dronetest.New(t, dronetest.Options{})
	b := enqueue(t, s, dronetest.Spec{
		Repo: api.Repo{Slug: "a/b", Throttle: 7},
		Config: "kind: pipeline\n---\nkind: secret\nname: x\ndata: y\n---\nkind: pipeline\ntype: kubernetes\nname: two\n" +
			"platform: {os: linux, arch: arm64, variant: v8, version: '1'}\nnode: {zone: a}\nconcurrency: {limit: 2}\n" +
			"depends_on: [default]\ntrigger: {status: [failure]}\n",
	})
	for _, st := range b.Stages {
		st.Created, st.Updated = 0, 0
	}
	want := []*api.Stage{
		{ID: 1, BuildID: 1, Number: 1, Name: "default", Kind: "pipeline", Type: "docker", OS: "linux", Arch: "amd64",
			LimitRepo: 7, Status: "pending", OnSuccess: true, Version: 1},
		{ID: 2, BuildID: 1, Number: 2, Name: "two", Kind: "pipeline", Type: "kubernetes", OS: "linux", Arch: "arm64",
			Variant: "v8", Kernel: "1", Limit: 2, LimitRepo: 7, Status: "waiting_on_dependencies", OnFailure: true,
			DependsOn: []string{"default"}, Labels: map[string]string{"zone": "a"}, Version: 1},
	}
	if diff := cmp.Diff(want, b.Stages); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "kind: secret\nname: x\n", "kind: ["} {
		if _, err := s.Enqueue(dronetest.Spec{Config: bad}); err == nil {
			t.Errorf("Enqueue(%q) succeeds, want an error", bad)
		}
	}
}

func TestBuildsOfARepositoryAreNumbered(t *testing.T) {
	s := dronetest.New(t, dronetest.Options{})
	var got []string
	for _, slug := range []string{"a/b", "a/c", "a/b"} {
		b := enqueue(t, s, dronetest.Spec{Repo: api.Repo{Slug: slug}})
		got = append(got, fmt.Sprintf("repository %d number %d id %d", b.RepoID, b.Number, b.ID))
	}
	want := []string{"repository 1 number 1 id 1", "repository 2 number 1 id 2", "repository 1 number 2 id 3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("builds (-want +got):\n%s", diff)
	}
}

func TestPullRequestSeesOnlySecretsMeantForIt(t *testing.T) {
	secrets := []*api.Secret{{Name: "public", Data: "a", PullRequest: true}, {Name: "private", Data: "b"}}
	for event, want := range map[string][]*api.Secret{
		api.EventPush:        secrets,
		api.EventPullRequest: secrets[:1],
	} {
		s := dronetest.New(t, dronetest.Options{})
		b := enqueue(t, s, dronetest.Spec{Build: api.Build{Event: event}, Secrets: secrets, Netrc: &api.Netrc{Machine: "m"}})
		var got struct {
			Secrets []*api.Secret
			Netrc   *api.Netrc
		}
		call(t.Context(), t, s, "GET", fmt.Sprintf("stage/%d", b.Stages[0].ID), nil, &got)
		if diff := cmp.Diff(want, got.Secrets); diff != "" || got.Netrc == nil {
			t.Errorf("%s: netrc %v, secrets (-want +got):\n%s", event, got.Netrc, diff)
		}
	}
}

func TestThrottleHoldsBackTheRepository(t *testing.T) {
	s := dronetest.New(t, dronetest.Options{Poll: time.Millisecond})
	spec := dronetest.Spec{Repo: api.Repo{Slug: "a/b", Throttle: 1}}
	enqueue(t, s, spec)
	spec.Config = strings.Replace(config, "one", "two", 1)
	enqueue(t, s, spec)
	enqueue(t, s, dronetest.Spec{Repo: api.Repo{Slug: "a/c"}})
	var got []int64
	for range 3 {
		var st api.Stage
		if status, _ := call(t.Context(), t, s, "POST", "stage", struct{}{}, &st); status == http.StatusOK {
			call(t.Context(), t, s, "POST", fmt.Sprintf("stage/%d?machine=m", st.ID), nil, nil)
			got = append(got, st.ID)
		}
	}
	if diff := cmp.Diff([]int64{1, 3}, got); diff != "" {
		t.Errorf("offered stages (-want +got):\n%s", diff)
	}
}

func TestDetailsThatFailEndTheStageUnlessTheServerIsOld(t *testing.T) {
	for _, old := range []bool{false, true} {
		s := dronetest.New(t, dronetest.Options{Old: old})
		b := enqueue(t, s, dronetest.Spec{})
		path := fmt.Sprintf("stage/%d", b.Stages[0].ID)
		call(t.Context(), t, s, "POST", path+"?machine=m", nil, nil)
		s.FailConfig(errors.New("not found"))
		if status, text := call(t.Context(), t, s, "GET", path, nil, nil); status != 500 || text != "not found" {
			t.Errorf("old %v: details = %d %q, want 500 not found", old, status, text)
		}
		got := s.Build(b.ID)
		want := api.Stage{Status: api.StatusError, Error: "not found", Version: 4}
		build := api.StatusError
		if old {
			want, build = api.Stage{Status: api.StatusPending, Version: 2}, api.StatusPending
		}
		st := got.Stages[0]
		if st.Status != want.Status || st.Error != want.Error || st.Version != want.Version || got.Status != build {
			t.Errorf("old %v: build is %s, stage %+v, want %s, %+v", old, got.Status, st, build, want)
		}
	}
}

func TestCancelIsForBuildsThatGoOn(t *testing.T) {
	s := dronetest.New(t, dronetest.Options{})
	b := enqueue(t, s, dronetest.Spec{})
	for i, want := range []bool{true, false} {
		if got := s.Cancel(b.ID); got != want {
			t.Errorf("Cancel() number %d = %v, want %v", i+1, got, want)
		}
	}
	if s.Cancel(99) {
		t.Error("Cancel() of no build = true, want false")
	}
}

func TestFaultsHappenToTheCallsTheyAreFor(t *testing.T) {
	const accept = "stage/1?machine=m"
	notOurs := func(c dronetest.Call) bool { return c.Machine != "m" }
	for _, test := range []struct {
		name    string
		fault   dronetest.Fault
		path    string
		status  int
		applied int
		machine string
	}{
		{"none", dronetest.Fault{On: dronetest.Details, Status: 502}, accept, 200, 1, "m"},
		{"other id", dronetest.Fault{ID: 2, Status: 502}, accept, 200, 1, "m"},
		{"condition", dronetest.Fault{When: notOurs, Status: 502}, accept, 200, 1, "m"},
		{"skipped", dronetest.Fault{Skip: 1, Status: 502}, accept, 200, 1, "m"},
		{"status", dronetest.Fault{On: dronetest.Accept, ID: 1, Status: 502}, accept, 502, 0, ""},
		{"drop call", dronetest.Fault{Drop: dronetest.DropCall}, accept, 0, 0, ""},
		{"drop answer", dronetest.Fault{Drop: dronetest.DropAnswer}, accept, 0, 1, "m"},
		{"twice", dronetest.Fault{Twice: true}, accept, 409, 2, "m"},
		{"delay", dronetest.Fault{Delay: time.Millisecond, DelayAnswer: time.Millisecond}, accept, 200, 1, "m"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := dronetest.New(t, dronetest.Options{})
			b := enqueue(t, s, dronetest.Spec{})
			s.Inject(test.fault)
			status, _ := call(t.Context(), t, s, "POST", test.path, nil, nil)
			over := func() bool { return s.Calls()[0].Over }
			if err := s.Wait(t.Context(), over); err != nil {
				t.Fatal(err)
			}
			got, machine := s.Calls()[0], s.Build(b.ID).Stages[0].Machine
			if status != test.status || got.Status != status || got.Applied != test.applied || machine != test.machine {
				t.Errorf("status %d, call %+v, machine %q, want status %d, applied %d times, %q",
					status, got, machine, test.status, test.applied, test.machine)
			}
		})
	}
}

func TestFaultsEnd(t *testing.T) {
	s := dronetest.New(t, dronetest.Options{})
	ping := func() int { status, _ := call(t.Context(), t, s, "POST", "ping", nil, nil); return status }
	s.Inject(dronetest.Fault{Skip: 1, Times: 2, Status: 501})
	remove := s.Inject(dronetest.Fault{Times: -1, Status: 502})
	var got []int
	for range 5 {
		got = append(got, ping())
	}
	remove()
	got = append(got, ping())
	if diff := cmp.Diff([]int{502, 501, 501, 502, 502, 200}, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
}

// A suite ends the runner before or after any call. The call goes on by itself, as on a real server.
func TestHooksSeeEachCallBeforeAndAfter(t *testing.T) {
	s := dronetest.New(t, dronetest.Options{})
	b := enqueue(t, s, dronetest.Spec{})
	ctx, kill := context.WithCancel(t.Context())
	gone := make(chan struct{})
	var mu sync.Mutex
	var got []string
	s.Hook(func(c dronetest.Call) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprintf("before %s: machine %q", c.Method, s.Stage(1).Machine))
		kill()
		<-gone
	}, func(c dronetest.Call) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprintf("after %s: machine %q, applied %d", c.Method, s.Stage(1).Machine, c.Applied))
	})
	if status, _ := call(ctx, t, s, "POST", "stage/1?machine=m", nil, nil); status != 0 {
		t.Errorf("status = %d for a runner that is gone, want none", status)
	}
	close(gone)
	if err := s.Wait(t.Context(), func() bool { return s.Calls()[0].Over }); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]string{`before accept: machine ""`, `after accept: machine "m", applied 1`}, got); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
	if s.Build(b.ID).Stages[0].Machine != "m" {
		t.Error("the call was not carried out")
	}
}

func TestAbortedPollIsRecorded(t *testing.T) {
	s := dronetest.New(t, dronetest.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		call(ctx, t, s, "POST", "stage", struct{}{}, nil)
	}()
	if err := s.Wait(t.Context(), func() bool { return len(s.Calls()) == 1 }); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-gone
	if err := s.Wait(t.Context(), func() bool { c := s.Calls()[0]; return c.Over && c.Aborted }); err != nil {
		t.Fatal(err)
	}
	// Nobody waits any more, so the stage stays for the next one.
	enqueue(t, s, dronetest.Spec{})
	if status, _ := call(t.Context(), t, s, "POST", "stage", struct{}{}, nil); status != http.StatusOK {
		t.Errorf("next request = %d, want a stage", status)
	}
}

func TestRestartBreaksConnectionsAndForgetsLiveLogs(t *testing.T) {
	s := dronetest.New(t, dronetest.Options{})
	b := enqueue(t, s, dronetest.Spec{})
	path := fmt.Sprintf("stage/%d", b.Stages[0].ID)
	var st api.Stage
	call(t.Context(), t, s, "POST", path+"?machine=m", nil, &st)
	st.Status, st.Started = api.StatusRunning, 1
	st.Steps = []*api.Step{{StageID: st.ID, Number: 1, Name: "build", Status: api.StatusPending}}
	call(t.Context(), t, s, "PUT", path, st, &st)
	step := st.Steps[0]
	step.Status = api.StatusRunning
	call(t.Context(), t, s, "PUT", fmt.Sprintf("step/%d", step.ID), step, step)
	lines := []*api.Line{{Message: "hello\n"}}
	batch := fmt.Sprintf("step/%d/logs/batch", step.ID)
	if status, text := call(t.Context(), t, s, "POST", batch, lines, nil); status != 200 {
		t.Fatalf("batch = %d %q, want 200", status, text)
	}
	watch := make(chan int, 1)
	go func() {
		status, _ := call(t.Context(), t, s, "POST", fmt.Sprintf("build/%d/watch", b.ID), nil, nil)
		watch <- status
	}()
	if err := s.Wait(t.Context(), func() bool { return s.Watchers(b.ID) == 1 }); err != nil {
		t.Fatal(err)
	}
	s.Restart()
	if status := <-watch; status != 0 {
		t.Errorf("watch = %d, want a broken connection", status)
	}
	http.DefaultClient.CloseIdleConnections()
	if status, text := call(t.Context(), t, s, "POST", batch, lines, nil); status != 500 || text != "stream: not found" {
		t.Errorf("batch = %d %q, want 500 stream: not found", status, text)
	}
	if diff := cmp.Diff(lines, s.LiveLog(step.ID)); diff != "" {
		t.Errorf("live log (-want +got):\n%s", diff)
	}
	if _, err := s.Log(step.ID); err == nil {
		t.Error("Log() succeeds, want an error: none was uploaded")
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	s := dronetest.New(t, dronetest.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Wait(ctx, func() bool { return false }); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait() = %v, want context.Canceled", err)
	}
}

func TestLookingForWhatIsNotThereFindsNothing(t *testing.T) {
	s := dronetest.New(t, dronetest.Options{})
	if s.Build(9) != nil || s.Stage(9) != nil || s.Step(9) != nil || s.Card(9) != nil || len(s.LiveLog(9)) != 0 {
		t.Error("found something on an empty server")
	}
}
