package web

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	api "github.com/drone/drone-go/drone"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/drone-tekton/drone-runner-tekton/bridge/journal"
	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
	"github.com/drone-tekton/drone-runner-tekton/bridge/status"
)

type runner struct{ live, ready error }

func (r runner) Live() error  { return r.live }
func (r runner) Ready() error { return r.ready }
func (runner) Entries() []*journal.Entry {
	return []*journal.Entry{{
		Repo: "octo/<b>cat", Build: 7, Link: "https://drone.example.com/octo/cat/7", Phase: journal.Running,
		Stage: &rpc.Stage{Stage: api.Stage{Name: "default"}},
		Steps: []*journal.Step{{Step: status.Step{Name: "build"}, Told: &rpc.Step{Step: api.Step{Status: "running"}}}},
	}}
}

func get(h http.Handler, path, user, password string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if user != "" {
		r.SetBasicAuth(user, password)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestPages(t *testing.T) {
	guarded := Options{User: "admin", Password: "secret", Realm: "r"}
	stuck := runner{live: errors.New("stuck"), ready: errors.New("not yet")}
	tests := []struct {
		name                 string
		options              Options
		runner               runner
		path, user, password string
		status               int
		text                 string
	}{
		{"live", Options{}, runner{}, "/healthz", "", "", 200, "ok"},
		{"stuck", Options{}, stuck, "/healthz", "", "", 503, "stuck"},
		{"ready", Options{}, runner{}, "/readyz", "", "", 200, "ok"},
		{"not ready", Options{}, stuck, "/readyz", "", "", 503, "not yet"},
		{"metrics", Options{}, runner{}, "/metrics", "", "", 200, ""},
		{"no dashboard without a password", Options{User: "admin"}, runner{}, "/", "admin", "", 404, ""},
		{"nobody", guarded, runner{}, "/", "", "", 401, ""},
		{"wrong password", guarded, runner{}, "/", "admin", "guess", 401, ""},
		{"wrong user", guarded, runner{}, "/", "root", "secret", 401, ""},
		{"dashboard", guarded, runner{}, "/", "admin", "secret", 200, "octo/&lt;b&gt;cat #7"},
		{"steps", guarded, runner{}, "/", "admin", "secret", 200, "build: running"},
	}
	for _, tt := range tests {
		w := get(Handler(tt.options, tt.runner, prometheus.NewRegistry()), tt.path, tt.user, tt.password)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.text) {
			t.Errorf("%s: %d %q, want %d with %q", tt.name, w.Code, w.Body, tt.status, tt.text)
		}
	}
}
