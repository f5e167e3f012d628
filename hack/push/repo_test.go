//go:build e2e

package push

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drone/drone-go/drone"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/expect"
)

// branch is the default branch of every repository.
const branch = "main"

// repo is a repository at Gitea that is active in Drone.
type repo struct {
	t    testing.TB
	slug string // owner/name
}

// syncing lets Drone read Gitea's list of repositories once at a time.
var syncing sync.Mutex

// newRepo makes a repository, and deletes it after the test; KEEP=1 leaves it. The name begins with the last part of the
// test's.
func newRepo(t testing.TB, s expect.Repository) *repo {
	t.Helper()
	name := strings.ToLower(t.Name()[strings.LastIndex(t.Name(), "/")+1:])
	return newRepoNamed(t, name, s)
}

func newRepoNamed(t testing.TB, name string, s expect.Repository) *repo {
	t.Helper()
	name = "push-" + rand.String(5) + "-" + name
	r := &repo{t: t, slug: owner + "/" + name}
	r.gitea(http.MethodPost, "/user/repos", map[string]any{
		"name": name, "private": s.Private, "auto_init": true, "default_branch": branch,
	}, nil)
	t.Cleanup(func() {
		if os.Getenv("KEEP") != "" {
			return
		}
		for _, err := range []error{
			droneAPI.call(context.Background(), http.MethodDelete, r.path("")+"?remove=true", nil, nil),
			giteaAPI.call(context.Background(), http.MethodDelete, "/repos/"+r.slug, nil, nil),
		} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	syncing.Lock()
	r.drone(http.MethodPost, "/api/user/repos?async=false", nil, nil)
	syncing.Unlock()
	r.drone(http.MethodPost, r.path(""), nil, nil)
	patch := drone.RepoPatch{Trusted: &s.Trusted}
	if s.Timeout > 0 {
		patch.Timeout = &s.Timeout
	}
	r.drone(http.MethodPatch, r.path(""), patch, nil)
	for forPulls, secrets := range map[bool]map[string]string{false: s.Secrets, true: s.PullSecrets} {
		for name, value := range secrets {
			r.drone(http.MethodPost, r.path("/secrets"), drone.Secret{Name: name, Data: value, PullRequest: forPulls}, nil)
		}
	}
	return r
}

// path is one of Drone's paths below the repository's.
func (r *repo) path(below string) string { return "/api/repos/" + r.slug + below }

// drone calls the Drone server.
func (r *repo) drone(method, path string, in, out any) {
	r.t.Helper()
	if err := droneAPI.call(r.t.Context(), method, path, in, out); err != nil {
		r.t.Fatal("Drone: ", err)
	}
}

// gitea calls Gitea.
func (r *repo) gitea(method, path string, in, out any) {
	r.t.Helper()
	if err := giteaAPI.call(r.t.Context(), method, path, in, out); err != nil {
		r.t.Fatal("Gitea: ", err)
	}
}

// silent is a message of commits that Drone makes no build of.
const silent = "Change the pipeline [CI SKIP]"

// commit puts a pipeline's file onto a branch, which comes from main where it is new, and gives the commit.
func (r *repo) commit(onto string, file []byte, message string) (sha string) {
	r.t.Helper()
	const path = "/contents/.drone.yml"
	request := map[string]any{"content": base64.StdEncoding.EncodeToString(file), "message": message, "branch": branch}
	var there []struct{ Name string }
	r.gitea(http.MethodGet, "/repos/"+r.slug+"/branches", nil, &there)
	request["new_branch"] = onto
	for _, b := range there {
		if b.Name == onto {
			request["branch"] = onto
			delete(request, "new_branch")
		}
	}
	method := http.MethodPost
	var old struct{ SHA string }
	if giteaAPI.call(r.t.Context(), http.MethodGet, "/repos/"+r.slug+path+"?ref="+url.QueryEscape(request["branch"].(string)), nil, &old) == nil {
		method, request["sha"] = http.MethodPut, old.SHA
	}
	var answer struct{ Commit struct{ SHA string } }
	r.gitea(method, "/repos/"+r.slug+path, request, &answer)
	return answer.Commit.SHA
}

// push pushes a pipeline to main.
func (r *repo) push(file []byte) *build {
	r.t.Helper()
	return r.pushTo(branch, file)
}

// pushTo pushes to another branch.
func (r *repo) pushTo(onto string, file []byte) *build {
	r.t.Helper()
	return r.buildOf(drone.EventPush, r.commit(onto, file, "Change the pipeline"))
}

// pull opens a pull request to main from a branch with the pipeline.
func (r *repo) pull(from string, file []byte) *build {
	r.t.Helper()
	sha := r.commit(from, file, silent)
	r.gitea(http.MethodPost, "/repos/"+r.slug+"/pulls",
		map[string]string{"title": "Change the pipeline", "head": from, "base": branch}, nil)
	return r.buildOf(drone.EventPullRequest, sha)
}

// tag tags a commit on main that has the pipeline.
func (r *repo) tag(tag string, file []byte) *build {
	r.t.Helper()
	sha := r.commit(branch, file, silent)
	r.gitea(http.MethodPost, "/repos/"+r.slug+"/tags", map[string]string{"tag_name": tag, "target": sha}, nil)
	return r.buildOf(drone.EventTag, sha)
}

// cron has a cron job of the pipeline run now.
func (r *repo) cron(name string, file []byte) *build {
	r.t.Helper()
	r.commit(branch, file, silent)
	r.drone(http.MethodPost, r.path("/cron"), drone.Cron{Name: name, Expr: "0 0 0 1 1 *", Branch: branch}, nil)
	return r.started(r.path("/cron/" + name))
}

// custom starts a build of main without any event.
func (r *repo) custom(file []byte, params map[string]string) *build {
	r.t.Helper()
	r.commit(branch, file, silent)
	return r.started(r.path("/builds?" + query(params, "branch", branch)))
}

// started posts what answers with a build.
func (r *repo) started(path string) *build {
	r.t.Helper()
	var b drone.Build
	r.drone(http.MethodPost, path, nil, &b)
	return r.build(b.Number)
}

func query(params map[string]string, more ...string) string {
	values := url.Values{}
	for name, value := range params {
		values.Set(name, value)
	}
	for i := 0; i < len(more); i += 2 {
		values.Set(more[i], more[i+1])
	}
	return values.Encode()
}

// start makes a build by any event.
func (r *repo) start(e expect.Event, file []byte) *build {
	r.t.Helper()
	from := e.Branch
	if from == "" {
		from = branch
	}
	switch e.Name {
	case "", drone.EventPush:
		return r.pushTo(from, file)
	case drone.EventPullRequest:
		return r.pull(from, file)
	case drone.EventTag:
		return r.tag(e.Tag, file)
	case "cron":
		return r.cron("nightly", file)
	case "custom":
		return r.custom(file, e.Params)
	case drone.EventPromote:
		return r.push(file).promote(e.Target, e.Params)
	case drone.EventRollback:
		return r.push(file).rollback(e.Target, e.Params)
	}
	r.t.Fatalf("no event %q", e.Name)
	return nil
}

// buildOf waits until Gitea has told Drone of a commit and Drone has made a build of it.
func (r *repo) buildOf(event, commit string) *build {
	r.t.Helper()
	var found *drone.Build
	r.poll(fmt.Sprintf("Drone has a build of the %s of %s", event, commit), time.Minute, func() bool {
		for _, b := range r.builds() {
			if b.Event == event && b.After == commit {
				found = b
			}
		}
		return found != nil
	})
	return r.build(found.Number)
}

// builds are the repository's latest builds.
func (r *repo) builds() (list []*drone.Build) {
	r.t.Helper()
	r.drone(http.MethodGet, r.path("/builds"), nil, &list)
	return list
}

// poll waits until a condition holds.
func (r *repo) poll(what string, atMost time.Duration, holds func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(atMost); !holds(); time.Sleep(300 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("waited for %v until %s", atMost, what)
		}
	}
}
