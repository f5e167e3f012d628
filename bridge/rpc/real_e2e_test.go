//go:build e2e

package rpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	api "github.com/drone/drone-go/drone"
)

// With the build tag e2e, the contract is checked against a real Drone server: the program that DRONE_SERVER_BIN
// names, on the loopback interface, with a database of its own and a few answers of Gitea's API, which is all that it
// needs to read a configuration file.
//
//	DRONE_SERVER_BIN=/path/to/drone-server go test -tags e2e -run Contract -parallel 16 ./bridge/rpc
//
// Its long polls last 30 seconds, and some tests wait for three.

// real is one server for all tests.
type real struct {
	address string
	scm     *scm
}

const realSecret, realToken = "rpcsecret", "0123456789abcdef0123456789abcdef"

func TestMain(m *testing.M) {
	program := os.Getenv("DRONE_SERVER_BIN")
	if program == "" {
		fmt.Fprintln(os.Stderr, "DRONE_SERVER_BIN is not set: the contract is checked against the fake server only")
		os.Exit(m.Run())
	}
	runtime.LockOSThread() // The server ends with the thread that it was started from.
	os.Exit(func() int {
		w, stop, err := startReal(program)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer stop()
		onReal = func(*testing.T) world { return w }
		return m.Run()
	}())
}

func startReal(program string) (w *real, stop func(), err error) {
	dir, err := os.MkdirTemp("", "drone")
	if err != nil {
		return nil, nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	address := l.Addr().String()
	l.Close()
	gitea := &scm{configs: map[string]string{}}
	gitea.server = httptest.NewServer(gitea)
	logs, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, nil, err
	}
	server := exec.Command(program)
	server.Dir, server.Stdout, server.Stderr = dir, logs, logs
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // Also if the tests end in a panic.
	server.Env = []string{
		"DRONE_GITEA_SERVER=" + gitea.server.URL, "DRONE_GITEA_CLIENT_ID=id", "DRONE_GITEA_CLIENT_SECRET=secret",
		"DRONE_RPC_SECRET=" + realSecret, "DRONE_SERVER_HOST=" + address, "DRONE_SERVER_PORT=" + address,
		"DRONE_SERVER_PROTO=http", "DRONE_AGENTS_ENABLED=true", "DRONE_DATADOG_ENABLED=false",
		"DRONE_DATABASE_DATASOURCE=" + filepath.Join(dir, "database"),
		"DRONE_USER_CREATE=username:dev,admin:true,token:" + realToken, "DRONE_LOGS_DEBUG=true",
	}
	if err := server.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		gitea.server.Close()
		os.RemoveAll(dir)
	}
	w = &real{address, gitea}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for w.call(ctx, http.MethodGet, "/healthz", nil, nil) != nil {
		if ctx.Err() != nil {
			text, _ := os.ReadFile(logs.Name())
			stop()
			return nil, nil, fmt.Errorf("the server does not start:\n%s", text)
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, c := range []struct{ method, path string }{
		{http.MethodPost, "/api/user/repos?async=false"},
		{http.MethodPost, "/api/repos/dev/hello"},
	} {
		if err := w.call(ctx, c.method, c.path, nil, nil); err != nil {
			stop()
			return nil, nil, err
		}
	}
	return w, stop, nil
}

func (w *real) url() string         { return "http://" + w.address }
func (w *real) secret() string      { return realSecret }
func (w *real) poll() time.Duration { return 30 * time.Second }

// call calls the API that users have.
func (w *real) call(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, w.url()+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+realToken)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, answer)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}

func (w *real) must(t *testing.T, method, path string, out any) {
	t.Helper()
	if err := w.call(t.Context(), method, path, nil, out); err != nil {
		t.Fatal(err)
	}
}

func (w *real) enqueue(t *testing.T, config string) *api.Build {
	t.Helper()
	b := new(api.Build)
	w.must(t, http.MethodPost, "/api/repos/dev/hello/builds?commit="+w.scm.commit(config), b)
	return w.build(t, b)
}

func (w *real) cancel(t *testing.T, b *api.Build) {
	t.Helper()
	w.must(t, http.MethodDelete, fmt.Sprintf("/api/repos/dev/hello/builds/%d", b.Number), nil)
}

func (w *real) build(t *testing.T, b *api.Build) *api.Build {
	t.Helper()
	got := new(api.Build)
	w.must(t, http.MethodGet, fmt.Sprintf("/api/repos/dev/hello/builds/%d", b.Number), got)
	return got
}

func (w *real) log(t *testing.T, b *api.Build, stage, step int) []*api.Line {
	t.Helper()
	var lines []*api.Line
	w.must(t, http.MethodGet, fmt.Sprintf("/api/repos/dev/hello/builds/%d/logs/%d/%d", b.Number, stage, step), &lines)
	return lines
}

// scm answers like Gitea, for one repository in which each commit has its own configuration file.
type scm struct {
	server *httptest.Server

	mu      sync.Mutex
	configs map[string]string
}

// commit adds a commit with this file, and returns its hash.
func (s *scm) commit(config string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sha := fmt.Sprintf("%040x", len(s.configs)+1)
	s.configs[sha] = config
	return sha
}

func (s *scm) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	repo := map[string]any{
		"id": 1, "name": "hello", "full_name": "dev/hello", "default_branch": "main",
		"owner": map[string]any{"login": "dev"}, "html_url": s.server.URL + "/dev/hello",
		"clone_url":   s.server.URL + "/dev/hello.git",
		"permissions": map[string]bool{"admin": true, "push": true, "pull": true},
	}
	reply := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	path := strings.TrimPrefix(r.URL.Path, "/api/v1/")
	switch rest := strings.TrimPrefix(path, "repos/dev/hello/"); {
	case path == "user":
		reply(map[string]any{"id": 1, "login": "dev", "username": "dev"})
	case path == "user/repos":
		reply([]any{repo})
	case path == "repos/dev/hello":
		reply(repo)
	case strings.HasPrefix(rest, "hooks"), strings.HasPrefix(rest, "statuses/"):
		if r.Method == http.MethodGet {
			reply([]any{})
		} else {
			reply(map[string]any{"id": 1})
		}
	case strings.HasPrefix(rest, "git/commits/"):
		sha := strings.TrimPrefix(rest, "git/commits/")
		reply(map[string]any{"sha": sha, "commit": map[string]any{"message": "update"}})
	case strings.HasPrefix(rest, "raw/"):
		sha, _, _ := strings.Cut(strings.TrimPrefix(rest, "raw/"), "/")
		s.mu.Lock()
		defer s.mu.Unlock()
		_, _ = io.WriteString(w, s.configs[sha])
	default:
		http.NotFound(w, r)
	}
}
