package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	api "github.com/drone/drone-go/drone"
	"github.com/google/go-cmp/cmp"
	"github.com/joho/godotenv"
	"github.com/spf13/pflag"

	"github.com/drone-tekton/drone-runner-tekton/translate"
)

// factsOf are the facts that flags give in the current folder.
func factsOf(t *testing.T, args ...string) translate.Facts {
	t.Helper()
	var f factFlags
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.add(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	facts, err := f.facts(t.Context(), folderOf(defaultFile))
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

// TestEventOfAFileOfVariables: an event that Drone does not know is told, as that of the flag is.
func TestEventOfAFileOfVariables(t *testing.T) {
	elsewhere(t, map[string]string{"good.yml": goodHead + "steps:\n" + goodStep, "vars": "DRONE_BUILD_EVENT=promotion\n"})
	checkFailure(t, exitFailed, `Error: DRONE_BUILD_EVENT in vars is "promotion", and must be one of push, pull_request, tag, promote`,
		"convert", "good.yml", "--env-file", "vars")
}

// some are the variables of a build by which events differ.
func some(f translate.Facts) map[string]string {
	out := map[string]string{}
	vars := f.Substitutions()
	for _, name := range []string{
		"DRONE_BUILD_EVENT", "DRONE_BRANCH", "DRONE_SOURCE_BRANCH", "DRONE_COMMIT_REF", "DRONE_TAG", "DRONE_DEPLOY_TO",
		"DRONE_REPO_NAMESPACE", "DRONE_REPO_NAME", "DRONE_REPO_BRANCH",
	} {
		if v, ok := vars[name]; ok && v != "" {
			out[strings.TrimPrefix(name, "DRONE_")] = v
		}
	}
	if f.Build.Cron != "" {
		out["cron"] = f.Build.Cron
	}
	return out
}

func TestFactsFromFlags(t *testing.T) {
	elsewhere(t, nil)
	for _, test := range []struct {
		args string
		want map[string]string
	}{
		{"--repo=a/b", map[string]string{
			"BUILD_EVENT": "push", "BRANCH": "main", "SOURCE_BRANCH": "main", "COMMIT_REF": "refs/heads/main",
			"REPO_NAMESPACE": "a", "REPO_NAME": "b", "REPO_BRANCH": "main",
		}},
		{"--repo=a/b/c --branch=topic", map[string]string{
			"BUILD_EVENT": "push", "BRANCH": "topic", "SOURCE_BRANCH": "topic", "COMMIT_REF": "refs/heads/topic",
			"REPO_NAMESPACE": "a/b", "REPO_NAME": "c", "REPO_BRANCH": "main",
		}},
		{"--repo=a/b --tag=v1", map[string]string{
			"BUILD_EVENT": "tag", "COMMIT_REF": "refs/tags/v1", "TAG": "v1", "REPO_NAMESPACE": "a", "REPO_NAME": "b",
			"REPO_BRANCH": "main",
		}},
		{"--repo=a/b --tag=v1 --branch=main", map[string]string{
			"BUILD_EVENT": "tag", "BRANCH": "main", "SOURCE_BRANCH": "main", "COMMIT_REF": "refs/tags/v1", "TAG": "v1",
			"REPO_NAMESPACE": "a", "REPO_NAME": "b", "REPO_BRANCH": "main",
		}},
		{"--repo=a/b --target=production", map[string]string{
			"BUILD_EVENT": "promote", "BRANCH": "main", "SOURCE_BRANCH": "main", "COMMIT_REF": "refs/heads/main",
			"DEPLOY_TO":      "production",
			"REPO_NAMESPACE": "a", "REPO_NAME": "b", "REPO_BRANCH": "main",
		}},
		{"--repo=a/b --target=production --event=rollback", map[string]string{
			"BUILD_EVENT": "rollback", "BRANCH": "main", "SOURCE_BRANCH": "main", "COMMIT_REF": "refs/heads/main",
			"DEPLOY_TO":      "production",
			"REPO_NAMESPACE": "a", "REPO_NAME": "b", "REPO_BRANCH": "main",
		}},
		{"--repo=a/b --cron=nightly", map[string]string{
			"BUILD_EVENT": "cron", "BRANCH": "main", "SOURCE_BRANCH": "main", "COMMIT_REF": "refs/heads/main",
			"cron":           "nightly",
			"REPO_NAMESPACE": "a", "REPO_NAME": "b", "REPO_BRANCH": "main",
		}},
		{"--repo=a/b --event=pull_request --ref=refs/pull/1/head --branch=main --source-branch=topic",
			map[string]string{
				"BUILD_EVENT": "pull_request", "BRANCH": "main", "SOURCE_BRANCH": "topic",
				"COMMIT_REF":     "refs/pull/1/head",
				"REPO_NAMESPACE": "a", "REPO_NAME": "b", "REPO_BRANCH": "main",
			}},
	} {
		if diff := cmp.Diff(test.want, some(factsOf(t, strings.Fields(test.args)...))); diff != "" {
			t.Errorf("facts of %s (-want +got):\n%s", test.args, diff)
		}
	}
}

// A file of a build's variables gives the same build again; what is not Drone's is a parameter.
func TestFactsFromTheVariablesOfABuild(t *testing.T) {
	build := translate.Facts{
		System: api.System{Proto: "http", Host: "drone.example.com", Version: "2.28"},
		Repo: api.Repo{
			Slug: "octocat/hello", Namespace: "octocat", Name: "hello", Branch: "trunk", SCM: "git", Private: true,
			Visibility: "internal",
			Link:       "https://git.example.com/octocat/hello", HTTPURL: "https://git.example.com/octocat/hello.git",
			SSHURL: "git@git.example.com:octocat/hello.git",
		},
		Build: api.Build{
			Number: 7, Parent: 3, Event: api.EventPullRequest, Action: "opened", Trigger: "@hook", Debug: true,
			Target: "trunk", Source: "topic",
			Ref: "refs/pull/5/head", After: "c0ffee", Before: "0ddba11", Link: "https://git.example.com/c",
			Message: "two\nlines with $, \"quotes\" and #",
			Title:   "title", Author: "octocat", AuthorName: "The Octocat", AuthorEmail: "o@example.com",
			AuthorAvatar: "https://example.com/a",
			Deploy:       "production", DeployID: 9, Created: 1, Started: 2, Finished: 3,
			Params: map[string]string{"FLAVOUR": "vanilla"},
		},
	}
	want := build.Substitutions()
	elsewhere(t, nil)
	if err := godotenv.Write(want, "build.env"); err != nil {
		t.Fatal(err)
	}
	got := factsOf(t, "--env-file=build.env").Substitutions()
	for name := range want {
		if strings.HasPrefix(name, "DRONE_STAGE_") { // of the pipeline that is converted
			delete(want, name)
			delete(got, name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}

// Flags win over the file, the file over the checkout.
func TestFactsInTheirOrder(t *testing.T) {
	elsewhere(t, map[string]string{"build.env": "DRONE_BRANCH=file\nDRONE_COMMIT_SHA=file\n",
		"tag.env": "DRONE_BUILD_EVENT=tag\nDRONE_TAG=v2\n"})
	git(t, "init", "-q", "-b", "checkout")
	git(t, "-c", "user.name=The Author", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m",
		"a subject\n\na body")
	git(t, "remote", "add", "origin", "git@git.example.com:octocat/hello.git")
	head := strings.TrimSpace(git(t, "rev-parse", "HEAD"))

	f := factsOf(t)
	want := translate.Facts{}
	want.Build = api.Build{
		Event: "push", Target: "checkout", Source: "checkout", Ref: "refs/heads/checkout", After: head,
		Message: "a subject\n\na body",
		Author:  "The Author", AuthorName: "The Author", AuthorEmail: "a@example.com", Timestamp: f.Build.Timestamp,
		Created: f.Build.Timestamp,
	}
	want.Repo = api.Repo{
		Namespace: "octocat", Name: "hello", Slug: "octocat/hello", Branch: "checkout",
		HTTPURL: "https://git.example.com/octocat/hello.git", SSHURL: "git@git.example.com:octocat/hello.git",
	}
	want.System.Proto, want.Now = "https", f.Build.Timestamp
	if diff := cmp.Diff(want, f); diff != "" || f.Build.Timestamp == 0 {
		t.Errorf("facts of a checkout (-want +got):\n%s", diff)
	}
	if f := factsOf(t, "--env-file=build.env"); f.Build.Target != "file" || f.Build.After != "file" ||
		f.Build.Message != "a subject\n\na body" {
		t.Errorf("with a file: branch %q, commit %q, message %q", f.Build.Target, f.Build.After, f.Build.Message)
	}
	if f := factsOf(t, "--env-file=build.env", "--branch=flag"); f.Build.Target != "flag" || f.Build.After != "file" ||
		f.Build.Ref != "refs/heads/flag" {
		t.Errorf("with a flag: branch %q, commit %q, reference %q", f.Build.Target, f.Build.After, f.Build.Ref)
	}
	// The branch of the checkout says nothing of a tag.
	for _, flag := range []string{"--tag=v2", "--env-file=tag.env"} {
		if f := factsOf(t, flag); f.Build.Event != "tag" || f.Build.Target != "" || f.Build.Ref != "refs/tags/v2" {
			t.Errorf("with %s: event %q, branch %q, reference %q", flag, f.Build.Event, f.Build.Target, f.Build.Ref)
		}
	}
}

func git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return string(out)
}

// Without a checkout and without git the folder's name is the repository's.
func TestFactsOfAFolder(t *testing.T) {
	elsewhere(t, nil)
	if err := os.Mkdir("project", 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir("project")
	for _, path := range []string{os.Getenv("PATH"), "/nonexistent"} {
		t.Setenv("PATH", path)
		f := factsOf(t)
		if f.Repo.Name != "project" || f.Build.Target != "main" || f.Build.Event != "push" {
			t.Errorf("PATH %s: repository %q, a %s on %q", path, f.Repo.Name, f.Build.Event, f.Build.Target)
		}
	}
	if got := filepath.Base(folderOf("-")); got != "project" {
		t.Errorf("standard input belongs to the folder %q", got)
	}
}

func TestAddressesOfRemotes(t *testing.T) {
	for _, test := range []struct{ remote, http, ssh, slug string }{
		{"https://git.example.com/octocat/hello.git", "https://git.example.com/octocat/hello.git",
			"git@git.example.com:octocat/hello.git", "octocat/hello"},
		{"https://git.example.com/octocat/hello", "https://git.example.com/octocat/hello",
			"git@git.example.com:octocat/hello", "octocat/hello"},
		{"https://user:secret@git.example.com/octocat/hello.git", "https://git.example.com/octocat/hello.git",
			"git@git.example.com:octocat/hello.git", "octocat/hello"},
		{"http://git.example.com:3000/octocat/hello.git", "http://git.example.com:3000/octocat/hello.git",
			"git@git.example.com:octocat/hello.git", "octocat/hello"},
		{"git@git.example.com:octocat/hello.git", "https://git.example.com/octocat/hello.git",
			"git@git.example.com:octocat/hello.git", "octocat/hello"},
		{"git.example.com:octocat/hello.git", "https://git.example.com/octocat/hello.git",
			"git@git.example.com:octocat/hello.git", "octocat/hello"},
		{"ssh://git@git.example.com:2222/octocat/hello.git", "https://git.example.com/octocat/hello.git",
			"git@git.example.com:octocat/hello.git", "octocat/hello"},
		{"git@git.example.com:group/sub/hello.git", "https://git.example.com/group/sub/hello.git",
			"git@git.example.com:group/sub/hello.git", "group/sub/hello"},
		{"/srv/git/hello.git", "", "", ""}, {"../hello", "", "", ""}, {"file:///srv/git/hello.git", "", "", ""},
		{"", "", "", ""},
	} {
		http, ssh, slug := remoteURLs(test.remote)
		if http != test.http || ssh != test.ssh || slug != test.slug {
			t.Errorf("remoteURLs(%q) = %q, %q, %q, want %q, %q, %q", test.remote, http, ssh, slug, test.http, test.ssh,
				test.slug)
		}
	}
}

// The pipeline that is asked for by name is converted whatever its trigger.
func TestPipelineByName(t *testing.T) {
	pipeline := func(name, trigger string) string {
		return "kind: pipeline\ntype: docker\nname: " + name + "\ntrigger: " + trigger + "\nsteps:\n" + goodStep +
			"---\n"
	}
	elsewhere(t, map[string]string{defaultFile: pipeline("one", "{}") + pipeline("two", "{event: tag}") +
		pipeline("three", "{branch: main}")})
	for args, want := range map[string]string{"": "one three", "--pipeline=two": "two", "--tag=v1 --branch=": "one two",
		"--branch=other": "one"} {
		out, saying, status := runCommand(t, append(append([]string{"convert"}, buildFlags...),
			strings.Fields(args)...)...)
		var names []string
		for line := range strings.SplitSeq(out, "\n") {
			if name, ok := strings.CutPrefix(line, "    displayName: "); ok {
				names = append(names, name)
			}
		}
		if got := strings.Join(names, " "); got != want || status != 0 {
			t.Errorf("convert %s: exit status %d, pipelines %q, want %q: %s", args, status, got, want, saying)
		}
	}
}
