//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/cluster"
	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/expect"
)

// repository is a git repository that pods can clone from over HTTP, with a log-in.
type repository struct {
	url            string
	main, topic    string // commits: on main; on a branch that is also pull request 5
	user, password string
}

// serveRepository makes a repository and serves it where pods reach this machine: at HOST_ADDRESS.
func serveRepository(t *testing.T) *repository {
	t.Helper()
	root := t.TempDir()
	bare := filepath.Join(root, "octo", "hello.git")
	work := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", work}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=octo", "GIT_AUTHOR_EMAIL=octo@example.com",
			"GIT_COMMITTER_NAME=octo", "GIT_COMMITTER_EMAIL=octo@example.com", "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	commit := func(file string) string {
		if err := os.WriteFile(filepath.Join(work, file), []byte("content of "+file+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", ".")
		git("commit", "--quiet", "-m", "Add "+file)
		return git("rev-parse", "HEAD")
	}
	r := &repository{user: "octo", password: "p4ssw0rd"}
	git("init", "--quiet", "--initial-branch=main")
	commit("old")
	r.main = commit("main")
	git("tag", "v1.0.0")
	git("checkout", "--quiet", "-b", "topic")
	r.topic = commit("topic")
	git("checkout", "--quiet", "main")
	commit("newer")
	git("clone", "--quiet", "--bare", work, bare)
	git("--git-dir="+bare, "update-ref", "refs/pull/5/head", r.topic)

	backend := strings.TrimSpace(git("--exec-path")) + "/git-http-backend"
	handler := &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null"}}
	listener := cluster.Listen(t)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		user, password, _ := request.BasicAuth()
		if user != r.user || password != r.password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, request)
	})}
	go server.Serve(listener) // until the test closes it
	t.Cleanup(func() { server.Close() })
	r.url = "http://" + listener.Addr().String() + "/octo/hello.git"
	return r
}

// netrc is the Secret with the log-in.
func (r *repository) netrc() map[string]any {
	machine, _, _ := strings.Cut(strings.TrimPrefix(r.url, "http://"), ":")
	return map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "netrc"},
		"stringData": map[string]any{
			"machine": machine, "username": r.user, "password": r.password,
			"file": fmt.Sprintf("machine %s login %s password %s", machine, r.user, r.password),
		},
	}
}

const cloneYAML = `
kind: pipeline
type: docker
name: default
clone:
  retries: 2
steps:
- name: look
  image: drone/git:latest
  commands:
  - ls
  - git -c safe.directory='*' log -1 --format='%H %an'
  - echo "$DRONE_COMMIT_SHA $GIT_AUTHOR_NAME"
  - env | grep -c PASSWORD || true
- name: on failure
  image: busybox:1.36
  commands:
  - echo $DRONE_FAILED_STEPS; ls
  when:
    status: [failure]
`

// The source of the build is in the workspace before the first step, for every kind of build.
func TestClone(t *testing.T) {
	r := serveRepository(t)
	for name, c := range map[string]struct {
		flags []string
		lines []string
	}{
		"push": {
			[]string{"--commit=" + r.main},
			[]string{"main", "old", r.main + " octo", r.main + " drone", "0"},
		},
		"tag": {
			[]string{"--tag=v1.0.0", "--layout=pod"},
			[]string{"main", "old", r.main + " octo"},
		},
		"pull request": {
			[]string{"--event=pull_request", "--ref=refs/pull/5/head", "--commit=" + r.topic, "--layout=chains"},
			[]string{"main", "newer", "old", "topic"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPipeline(t, kube.Namespace(t))
			p.given([]map[string]any{r.netrc()})
			flags := append([]string{"--remote=" + r.url, "--netrc-secret=netrc"}, c.flags...)
			p.check(p.start(cluster.Surrounded([]byte(cloneYAML)), flags...), expect.Stage{
				Result: expect.Success,
				Steps: map[string]expect.Step{
					"clone":      {Outcome: expect.Success},
					"look":       {Outcome: expect.Success, Lines: c.lines, Lacks: []string{r.password}},
					"on failure": {Outcome: expect.Skipped},
				},
			})
		})
	}
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		p := newPipeline(t, kube.Namespace(t))
		p.check(p.start(cluster.Surrounded([]byte(cloneYAML)), "--remote="+r.url), expect.Stage{
			Result: expect.Failure,
			Steps: map[string]expect.Step{
				"clone":      {Outcome: expect.Failure, Exit: expect.AnyCode},
				"look":       {Outcome: expect.Skipped},
				"on failure": {Outcome: expect.Success, Lines: []string{"clone"}},
			},
		})
	})
}
