package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	api "github.com/drone/drone-go/drone"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/drone-tekton/drone-runner-tekton/bridge/dronetest"
	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
)

func TestNewRefusesWhatCannotWork(t *testing.T) {
	for _, test := range []struct{ server, secret, want string }{
		{"", "s", "want http://HOST or https://HOST"},
		{"drone.example.com", "s", "want http://HOST or https://HOST"},
		{"ftp://drone.example.com", "s", "want http://HOST or https://HOST"},
		{"https://", "s", "want http://HOST or https://HOST"},
		{"http://drone example", "s", "address of the Drone server"},
		{"https://drone.example.com", "", "no secret"},
	} {
		_, err := rpc.New(rpc.Options{Server: test.server, Secret: test.secret})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("New(%q, %q) = %v, want %q", test.server, test.secret, err, test.want)
		}
	}
}

// serve returns a client of a server that answers so.
func serve(t *testing.T, f http.HandlerFunc, change ...func(*rpc.Options)) *rpc.Client {
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	o := rpc.Options{Server: s.URL, Secret: "s3cret", BackOff: quick, RetryFor: time.Millisecond}
	for _, c := range change {
		c(&o)
	}
	c, err := rpc.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRequestsAreAsTheServerWantsThem(t *testing.T) {
	type request struct{ Method, URI, Token, Agent, Body string }
	var got []request
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, request{r.Method, r.RequestURI, r.Header.Get("X-Drone-Token"), r.UserAgent(), string(body)})
		switch {
		case r.Method == http.MethodGet:
			io.WriteString(w, `{"stage":{"id":2},"build":{"id":1},"repository":{"id":5}}`)
		case strings.Contains(r.URL.Path, "rpc/v2/stage"), r.Method == http.MethodPut:
			io.WriteString(w, `{"id":2,"version":7}`)
		}
	}, func(o *rpc.Options) { o.UserAgent = "runner/1.0"; o.Server += "/drone/" })
	ctx := t.Context()
	step := &rpc.Step{Step: api.Step{ID: 3, StageID: 2, Number: 1, Name: "build", Status: "running",
		Started: 9, Version: 1}}
	stage := &rpc.Stage{RepoID: 5, Steps: []*rpc.Step{{Step: api.Step{Number: 1, Name: "build", Status: "pending"}}},
		Stage: api.Stage{ID: 2, BuildID: 1, Number: 1, Status: "running", OnSuccess: true, Version: 2}}
	_, e1 := c.Request(ctx, rpc.Filter{Kind: "pipeline", Type: "kubernetes", Labels: map[string]string{"a": "b"}})
	_, e2 := c.Accept(ctx, 2, "runner & co")
	_, e3 := c.Details(ctx, 2)
	_, e4 := c.UpdateStage(ctx, stage)
	_, e5 := c.UpdateStep(ctx, step)
	err := errors.Join(c.Ping(ctx), e1, e2, e3, e4, e5, c.Watch(ctx, 1),
		c.Batch(ctx, 3, []*api.Line{{Number: 1, Message: "<b>\n", Timestamp: 2}}),
		c.Upload(ctx, 3, rpc.LinesOf([]*api.Line{{Message: "a\n"}, {Number: 1, Message: "b\n"}})),
		c.UploadCard(ctx, 3, &api.CardInput{Schema: "s", Data: []byte(`{"x":1}`)}))
	if err != nil {
		t.Fatal(err)
	}
	var want []request
	for _, r := range [][3]string{
		{"POST", "stage", `{"kind":"pipeline","type":"kubernetes","os":"","arch":"","variant":"","kernel":"",` +
			`"labels":{"a":"b"}}` + "\n"},
		{"POST", "stage/2?machine=runner+%26+co", ""},
		{"GET", "stage/2", ""},
		{"PUT", "stage/2", `{"id":2,"build_id":1,"number":1,"name":"","status":"running","errignore":false,"exit_code":0,` +
			`"os":"","arch":"","started":0,"stopped":0,"created":0,"updated":0,"version":2,"on_success":true,` +
			`"on_failure":false,"repo_id":5,` +
			`"steps":[{"id":0,"step_id":2,"number":1,"name":"build","status":"pending","exit_code":0,"version":0}]}` + "\n"},
		{"PUT", "step/3", `{"id":3,"step_id":2,"number":1,"name":"build","status":"running","exit_code":0,` +
			`"started":9,"version":1}` + "\n"},
		{"POST", "ping", ""},
		{"POST", "build/1/watch", ""},
		{"POST", "step/3/logs/batch", `[{"pos":1,"out":"<b>\n","time":2}]` + "\n"},
		{"POST", "step/3/logs/upload", `[{"pos":0,"out":"a\n","time":0}` + "\n" + `,{"pos":1,"out":"b\n","time":0}` + "\n]"},
		{"POST", "step/3/card", `{"schema":"s","data":{"x":1}}` + "\n"},
	} {
		want = append(want, request{r[0], "/drone/rpc/v2/" + r[1], "s3cret", "runner/1.0", r[2]})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// Each text that a server gives with 500 has a meaning of its own, by database.
func TestTextsOfErrorsAreUnderstood(t *testing.T) {
	for _, test := range []struct {
		call    func(*rpc.Client) error
		status  int
		text    string
		want    error
		outcome rpc.Outcome
	}{
		{update, 500, "1 error occurred:\n\t* Optimistic Lock Error\n\n", rpc.ErrConflict, rpc.Refused},
		{update, 500, "sql: no rows in result set", rpc.ErrNotFound, rpc.Refused},
		{update, 500, "UNIQUE constraint failed: steps.step_stage_id, steps.step_number", rpc.ErrExists, rpc.Unknown},
		{update, 500, `pq: duplicate key value violates unique constraint "steps_step_stage_id_step_number_key"`,
			rpc.ErrExists, rpc.Unknown},
		{update, 500, "Error 1062: Duplicate entry '7-1' for key 'step_stage_id'", rpc.ErrExists, rpc.Unknown},
		{update, 500, "database is locked", nil, rpc.Unknown},
		{update, 413, "", nil, rpc.Refused},
		{update, 429, "", nil, rpc.NotApplied},
		{update, 502, "Optimistic Lock Error", nil, rpc.Unknown},
		{upload, 500, "UNIQUE constraint failed: logs.log_id", rpc.ErrExists, rpc.Refused},
		{upload, 500, `pq: duplicate key value violates unique constraint "logs_pkey"`, rpc.ErrExists, rpc.Refused},
		{upload, 500, "Error 1062: Duplicate entry '7' for key 'PRIMARY'", rpc.ErrExists, rpc.Refused},
		{batch, 500, "stream: not found", rpc.ErrNoStream, rpc.Refused},
	} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.WriteHeader(test.status)
			io.WriteString(w, test.text)
		})
		err := test.call(c)
		e := (*rpc.Error)(nil)
		if !errors.As(err, &e) {
			t.Errorf("%d %q: error is %v, want an *Error", test.status, test.text, err)
			continue
		}
		if e.Outcome != test.outcome || e.Status != test.status || e.Message != strings.TrimSpace(test.text) {
			t.Errorf("%d %q: error is %+v, want outcome %v", test.status, test.text, e, test.outcome)
		}
		for _, sentinel := range []error{rpc.ErrConflict, rpc.ErrNotFound, rpc.ErrExists, rpc.ErrNoStream} {
			if got := errors.Is(err, sentinel); got != (sentinel == test.want) {
				t.Errorf("%d %q: is %q = %v", test.status, test.text, sentinel, got)
			}
		}
	}
}

func update(c *rpc.Client) error {
	_, err := c.UpdateStage(context.Background(), &rpc.Stage{Stage: api.Stage{Status: "success"}})
	return err
}
func upload(c *rpc.Client) error { return c.Upload(context.Background(), 7, rpc.LinesOf(nil)) }
func batch(c *rpc.Client) error  { return c.Batch(context.Background(), 7, []*api.Line{{}}) }

func TestAnswersOfStrangersAreNotBelieved(t *testing.T) {
	page := func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<html>down for maintenance</html>")
	}
	for name, call := range map[string]func(*rpc.Client) error{
		"Ping":    func(c *rpc.Client) error { return c.Ping(context.Background()) },
		"Details": func(c *rpc.Client) error { _, err := c.Details(context.Background(), 1); return err },
		"Update":  update, "Upload": upload, "Batch": batch,
	} {
		err := call(serve(t, page))
		const want = "not the answer of a Drone server (text/html)"
		if rpc.OutcomeOf(err) != rpc.Unknown || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s() = %v, want %q, outcome unknown", name, err, want)
		}
	}
	// For Watch this is a matter of a build's life: it must go on watching.
	answers := 0
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if answers++; answers < 3 {
			page(w, r)
		}
	})
	if err := c.Watch(t.Context(), 1); err != nil || answers != 3 {
		t.Errorf("Watch() = %v after %d answers, want no error after 3", err, answers)
	}
}

func TestDetailsWithoutAStageAreRefused(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"build":{}}`) })
	if _, err := c.Details(t.Context(), 1); rpc.OutcomeOf(err) != rpc.Refused {
		t.Errorf("Details() = %v, want refused", err)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	asked := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 307, 308} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, status) })
		err := c.Ping(t.Context())
		if rpc.OutcomeOf(err) != rpc.Refused || !strings.Contains(fmt.Sprint(err), elsewhere.URL) || asked {
			t.Errorf("Ping() redirected with %d = %v, followed %v; want refused, naming the address", status, err, asked)
		}
	}
}

func TestAnswersAreBounded(t *testing.T) {
	block := []byte(strings.Repeat(" ", 1<<20))
	var sent int
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sent = 0
		for ; sent < 1<<10; sent++ {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	_, err := c.Details(t.Context(), 1)
	if err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("Details() = %v, want an error about the length", err)
	}
	message := strings.Repeat("x", 1<<20)
	c = serve(t, func(w http.ResponseWriter, r *http.Request) { http.Error(w, message, http.StatusBadRequest) })
	if err := c.Ping(t.Context()); err == nil || len(err.Error()) > 8<<10 {
		t.Errorf("Ping() has an error of %d bytes", len(fmt.Sprint(err)))
	}
}

func TestNothingIsAppliedWithoutAConnection(t *testing.T) {
	s := httptest.NewServer(nil)
	address := s.URL
	s.Close()
	var retried []rpc.Call
	c, err := rpc.New(rpc.Options{Server: address, Secret: "s3cret", BackOff: quick, RetryFor: 50 * time.Millisecond,
		OnRetry: func(call rpc.Call, _ error, _ time.Duration) { retried = append(retried, call) }})
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []func(*rpc.Client) error{update, upload, batch} {
		retried = nil
		err := call(c)
		if err == nil || rpc.OutcomeOf(err) != rpc.NotApplied || len(retried) == 0 {
			t.Errorf("error is %v (%v) after %d retries, want not applied after some", err, rpc.OutcomeOf(err), len(retried))
		}
		if strings.Contains(fmt.Sprint(err), "s3cret") {
			t.Errorf("error is %v, which has the secret", err)
		}
	}
}

func TestServerSaysHowLongToWait(t *testing.T) {
	for header, want := range map[string]time.Duration{"1": time.Second, "86400": time.Minute, "soon": time.Millisecond} {
		var waits []time.Duration
		ctx, cancel := context.WithCancel(t.Context())
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusServiceUnavailable)
		}, func(o *rpc.Options) {
			o.OnRetry = func(_ rpc.Call, _ error, wait time.Duration) { waits = append(waits, wait); cancel() }
		})
		_, err := c.Request(ctx, rpc.Filter{})
		if !errors.Is(err, context.Canceled) || !slices.Equal(waits, []time.Duration{want}) {
			t.Errorf("Request() with Retry-After %s = %v, waits %v, want %v", header, err, waits, want)
		}
	}
}

// Once it is unknown whether a call was applied, no later failure makes that known.
func TestOutcomeStaysUnknown(t *testing.T) {
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		s.Listener.Close() // So that the next try gets no connection.
		panic(http.ErrAbortHandler)
	}))
	defer s.Close()
	c, err := rpc.New(rpc.Options{Server: s.URL, Secret: "s3cret", BackOff: quick, RetryFor: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Upload(t.Context(), 1, rpc.LinesOf(nil))
	e := (*rpc.Error)(nil)
	if !errors.As(err, &e) || e.Outcome != rpc.Unknown || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("Upload() = %v (%v), want refused connection, outcome unknown", err, rpc.OutcomeOf(err))
	}
}

func TestCertificateIsCheckedUnlessToldNot(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	for _, skip := range []bool{false, true} {
		c, err := rpc.New(rpc.Options{Server: s.URL, Secret: "s3cret", SkipVerify: skip})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Ping(t.Context())
		if (err == nil) != skip {
			t.Errorf("Ping() with SkipVerify %v = %v", skip, err)
		}
		if err != nil && rpc.OutcomeOf(err) != rpc.NotApplied {
			t.Errorf("outcome = %v, want not applied", rpc.OutcomeOf(err))
		}
	}
}

func TestDumpHasNoSecrets(t *testing.T) {
	for _, body := range []bool{false, true} {
		var dump strings.Builder
		w := newFake(t, func(o *dronetest.Options) { o.Secret = "topsecret-token" })
		c := newClient(t, w, func(o *rpc.Options) { o.Dump, o.DumpBody = &dump, body })
		_, err := w.Enqueue(dronetest.Spec{Config: pipeline("docker", ""),
			Repo:    api.Repo{Secret: "topsecret-repository-key-32bytes"},
			Netrc:   &api.Netrc{Machine: "git.example.com", Login: "topsecret-login", Password: "topsecret-password"},
			Secrets: []*api.Secret{{Name: "deploy_key", Data: "topsecret-value"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		stage := start(t.Context(), t, c, "docker", "build")
		if _, err := c.Details(t.Context(), stage.ID); err != nil {
			t.Fatal(err)
		}
		step, err := c.ReportStep(t.Context(), with(stage.Steps[0], "running", 0))
		if err != nil {
			t.Fatal(err)
		}
		lines := []*api.Line{{Message: "topsecret-line\n"}}
		err = errors.Join(c.Batch(t.Context(), step.ID, lines), c.Upload(t.Context(), step.ID, rpc.LinesOf(lines)))
		if err != nil {
			t.Fatal(err)
		}
		w.Inject(dronetest.Fault{Status: 200, Text: `{"secrets":[{"data":"topsecret-half`})
		_ = c.Ping(t.Context())
		w.Inject(dronetest.Fault{Status: 400, Text: "why not"})
		_ = c.Ping(t.Context())
		got := dump.String()
		if strings.Contains(got, "topsecret") {
			t.Errorf("dump has secrets:\n%s", got)
		}
		for _, want := range []string{
			"> POST " + w.url() + "/rpc/v2/stage", "< GET", "200 OK", "400 Bad Request", "why not",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("dump lacks %q:\n%s", want, got)
			}
		}
		for _, want := range []string{`"name":"deploy_key"`, `"machine":"git.example.com"`, `"status":"running"`} {
			if strings.Contains(got, want) != body {
				t.Errorf("dump with bodies %v has %q = %v:\n%s", body, want, !body, got)
			}
		}
	}
}

func TestMetricsCountCallsByResult(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	w := newFake(t)
	c := newClient(t, w, func(o *rpc.Options) { o.Metrics = rpc.NewMetrics(registry) })
	w.Inject(dronetest.Fault{On: dronetest.Request, Status: http.StatusBadGateway})
	w.enqueue(t, pipeline("docker", ""))
	stage := start(t.Context(), t, c, "docker", "build")
	stale := with(stage.Steps[0], "running", 0)
	stale.Version = 9
	_, _ = c.UpdateStep(t.Context(), stale)
	w.Inject(dronetest.Fault{Drop: dronetest.DropCall})
	_ = c.Ping(t.Context())
	w.Inject(dronetest.Fault{Status: http.StatusUnauthorized})
	_ = c.Ping(t.Context())

	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			count := m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			name := strings.TrimPrefix(f.GetName(), "drone_runner_tekton_rpc_")
			got = append(got, fmt.Sprintf("%s %s %v", name, strings.Join(labels, ", "), count))
		}
	}
	want := []string{
		"calls_total accept, ok 1",
		"calls_total ping, unauthorized 1",
		"calls_total ping, unknown 1",
		"calls_total request, ok 1",
		"calls_total request, unknown 1",
		"calls_total update stage, ok 1",
		"calls_total update step, conflict 1",
		"call_duration_seconds accept 1",
		"call_duration_seconds ping 2",
		"call_duration_seconds update stage 1",
		"call_duration_seconds update step 1",
		"retries_total request 1",
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}
