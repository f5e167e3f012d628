package translate

import (
	"strings"
	"testing"

	api "github.com/drone/drone-go/drone"
	"github.com/google/go-cmp/cmp"
)

// full is a build of which everything is known.
func full() Facts {
	return Facts{
		System: api.System{Proto: "https", Host: "drone.example.com", Version: "2.28"},
		Repo: api.Repo{
			Slug: "octocat/hello", Namespace: "octocat", Name: "hello", Branch: "main", SCM: "git", Private: true,
			Visibility: "internal",
			Link:       "https://git.example.com/octocat/hello", HTTPURL: "https://git.example.com/octocat/hello.git",
			SSHURL: "git@git.example.com:octocat/hello.git", Timeout: 60,
		},
		Build: api.Build{
			Number: 7, Parent: 3, Event: api.EventPush, Action: "opened", Trigger: "@hook", Debug: true,
			Target: "main", Source: "topic", Ref: "refs/heads/main", After: "c0ffee", Before: "0ddba11",
			Link: "https://git.example.com/octocat/hello/commit/c0ffee", Message: "a message\nof two lines",
			Title:  "a title",
			Author: "octocat", AuthorName: "The Octocat", AuthorEmail: "octocat@example.com",
			AuthorAvatar: "https://example.com/a.png",
			Deploy:       "production", DeployID: 9, Created: 1, Started: 2, Finished: 3, Status: "running",
			Stages: []*api.Stage{{Name: "ok", Status: api.StatusPassing}, {Name: "left", Status: api.StatusSkipped}},
		},
		Stage: api.Stage{
			Kind: "pipeline", Type: "docker", Name: "test", Number: 2, Machine: "m", OS: "linux", Arch: "arm",
			Variant: "v7",
			Version: 4, Started: 5, Stopped: 6, DependsOn: []string{"a", "b"},
		},
		Now: 100,
	}
}

// The variables of a build, by the names and from the sources of Drone's runners.
func TestVariablesOfSystemRepositoryBuildAndStage(t *testing.T) {
	want := map[string]string{
		"CI": "true", "DRONE": "true",
		"DRONE_SYSTEM_PROTO": "https", "DRONE_SYSTEM_HOST": "drone.example.com",
		"DRONE_SYSTEM_HOSTNAME": "drone.example.com",
		"DRONE_SYSTEM_VERSION":  "2.28",

		"DRONE_REPO": "octocat/hello", "DRONE_REPO_SCM": "git", "DRONE_REPO_OWNER": "octocat",
		"DRONE_REPO_NAMESPACE": "octocat",
		"DRONE_REPO_NAME":      "hello", "DRONE_REPO_LINK": "https://git.example.com/octocat/hello",
		"DRONE_REPO_BRANCH":     "main",
		"DRONE_REPO_VISIBILITY": "internal", "DRONE_REPO_PRIVATE": "true",
		"DRONE_REMOTE_URL":   "https://git.example.com/octocat/hello.git",
		"DRONE_GIT_HTTP_URL": "https://git.example.com/octocat/hello.git",
		"DRONE_GIT_SSH_URL":  "git@git.example.com:octocat/hello.git",
		"CI_REPO":            "octocat/hello", "CI_REPO_NAME": "octocat/hello",
		"CI_REPO_LINK":    "https://git.example.com/octocat/hello",
		"CI_REPO_REMOTE":  "https://git.example.com/octocat/hello.git",
		"CI_REMOTE_URL":   "https://git.example.com/octocat/hello.git",
		"CI_REPO_PRIVATE": "true",

		"DRONE_BRANCH": "main", "DRONE_TARGET_BRANCH": "main", "DRONE_COMMIT_BRANCH": "main",
		"DRONE_SOURCE_BRANCH": "topic",
		"DRONE_COMMIT":        "c0ffee", "DRONE_COMMIT_SHA": "c0ffee", "DRONE_COMMIT_AFTER": "c0ffee",
		"DRONE_COMMIT_BEFORE":  "0ddba11",
		"DRONE_COMMIT_REF":     "refs/heads/main",
		"DRONE_COMMIT_LINK":    "https://git.example.com/octocat/hello/commit/c0ffee",
		"DRONE_COMMIT_MESSAGE": "a message\nof two lines", "DRONE_COMMIT_AUTHOR": "octocat",
		"DRONE_COMMIT_AUTHOR_NAME":  "The Octocat",
		"DRONE_COMMIT_AUTHOR_EMAIL": "octocat@example.com", "DRONE_COMMIT_AUTHOR_AVATAR": "https://example.com/a.png",
		"DRONE_BUILD_NUMBER": "7", "DRONE_BUILD_PARENT": "3", "DRONE_BUILD_EVENT": "push",
		"DRONE_BUILD_ACTION":  "opened",
		"DRONE_BUILD_TRIGGER": "@hook", "DRONE_BUILD_DEBUG": "true", "DRONE_BUILD_CREATED": "1",
		"DRONE_BUILD_STARTED":  "2",
		"DRONE_BUILD_FINISHED": "3", "DRONE_BUILD_STATUS": "success", "DRONE_DEPLOY_TO": "production",
		"DRONE_DEPLOY_ID":  "9",
		"DRONE_BUILD_LINK": "https://drone.example.com/octocat/hello/7",
		"CI_BUILD_NUMBER":  "7", "CI_PARENT_BUILD_NUMBER": "3", "CI_BUILD_CREATED": "1", "CI_BUILD_STARTED": "2",
		"CI_BUILD_FINISHED": "3",
		"CI_BUILD_STATUS":   "success", "CI_BUILD_EVENT": "push",
		"CI_BUILD_LINK":   "https://git.example.com/octocat/hello/commit/c0ffee",
		"CI_BUILD_TARGET": "production", "CI_COMMIT_SHA": "c0ffee", "CI_COMMIT_REF": "refs/heads/main",
		"CI_COMMIT_BRANCH":  "main",
		"CI_COMMIT_MESSAGE": "a message\nof two lines", "CI_COMMIT_AUTHOR": "octocat",
		"CI_COMMIT_AUTHOR_NAME":  "The Octocat",
		"CI_COMMIT_AUTHOR_EMAIL": "octocat@example.com", "CI_COMMIT_AUTHOR_AVATAR": "https://example.com/a.png",

		"DRONE_STAGE_KIND": "pipeline", "DRONE_STAGE_TYPE": "docker", "DRONE_STAGE_NAME": "test",
		"DRONE_STAGE_NUMBER":  "2",
		"DRONE_STAGE_MACHINE": "m", "DRONE_STAGE_OS": "linux", "DRONE_STAGE_ARCH": "arm", "DRONE_STAGE_VARIANT": "v7",
		"DRONE_STAGE_VERSION": "4", "DRONE_STAGE_STATUS": "success", "DRONE_STAGE_STARTED": "5",
		"DRONE_STAGE_FINISHED":   "6",
		"DRONE_STAGE_DEPENDS_ON": "a,b", "DRONE_CARD_PATH": "/dev/stdout",
	}
	if diff := cmp.Diff(want, full().Substitutions()); diff != "" {
		t.Errorf("variables of a build (-want +got):\n%s", diff)
	}
}

// vary gives the variables that differ from those of a full push.
func vary(change func(*Facts)) map[string]string {
	f := full()
	before := f.Substitutions()
	change(&f)
	out := map[string]string{}
	after := f.Substitutions()
	for name, value := range after {
		if old, ok := before[name]; !ok || old != value {
			out[name] = value
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			out[name] = "(unset)"
		}
	}
	return out
}

func TestVariablesThatDependOnTheBuild(t *testing.T) {
	for _, test := range []struct {
		rule   string
		change func(*Facts)
		want   map[string]string
	}{
		{"start and end fall back to now", func(f *Facts) {
			f.Build.Started, f.Build.Finished, f.Stage.Started,
				f.Stage.Stopped = 0, 0, 0, 0
		},
			map[string]string{
				"DRONE_BUILD_STARTED": "100", "DRONE_BUILD_FINISHED": "100", "CI_BUILD_STARTED": "100",
				"CI_BUILD_FINISHED":   "100",
				"DRONE_STAGE_STARTED": "100", "DRONE_STAGE_FINISHED": "100",
			}},
		{"a pull request has its number, the first in the reference, and its title",
			func(f *Facts) { f.Build.Event, f.Build.Ref = "pull_request", "refs/pull/42/head" },
			map[string]string{
				"DRONE_BUILD_EVENT": "pull_request", "CI_BUILD_EVENT": "pull_request",
				"DRONE_COMMIT_REF": "refs/pull/42/head",
				"CI_COMMIT_REF":    "refs/pull/42/head", "DRONE_PULL_REQUEST": "42",
				"DRONE_PULL_REQUEST_TITLE": "a title",
			}},
		{"other events with such a reference have neither",
			func(f *Facts) { f.Build.Ref = "refs/merge-requests/42/head" },
			map[string]string{"DRONE_COMMIT_REF": "refs/merge-requests/42/head",
				"CI_COMMIT_REF": "refs/merge-requests/42/head"}},
		{"a tag is told by the reference, not by the event", func(f *Facts) { f.Build.Ref = "refs/tags/nightly" },
			map[string]string{
				"DRONE_COMMIT_REF": "refs/tags/nightly", "CI_COMMIT_REF": "refs/tags/nightly", "DRONE_TAG": "nightly",
				"DRONE_SEMVER_ERROR": "invalid semantic version",
			}},
		{"the event tag without such a reference has no tag", func(f *Facts) { f.Build.Event = "tag" },
			map[string]string{"DRONE_BUILD_EVENT": "tag", "CI_BUILD_EVENT": "tag"}},
		{"parameters win over all else here",
			func(f *Facts) { f.Build.Params = map[string]string{"DRONE_BRANCH": "mine", "OWN": "x"} },
			map[string]string{"DRONE_BRANCH": "mine", "OWN": "x"}},
		{"without a server there is no page of the build", func(f *Facts) { f.System.Host = "" },
			map[string]string{"DRONE_SYSTEM_HOST": "", "DRONE_SYSTEM_HOSTNAME": "", "DRONE_BUILD_LINK": ""}},
	} {
		if diff := cmp.Diff(test.want, vary(test.change)); diff != "" {
			t.Errorf("%s: changed variables (-want +got):\n%s", test.rule, diff)
		}
	}
}

// failedStages are stages of a build, three of which have failed.
var failedStages = []*api.Stage{
	{Name: "ok", Status: api.StatusPassing}, {Name: "bad", Status: api.StatusFailing},
	{Name: "worse", Status: api.StatusError}, {Name: "shot", Status: api.StatusKilled},
	{Name: "left", Status: api.StatusSkipped},
}

// A step is told that its build fails by its own pipeline and by others of the build, and that its stage fails by its own
// alone.
func TestVariablesOfAFailingPipeline(t *testing.T) {
	for _, test := range []struct {
		rule    string
		stages  []*api.Stage
		failing bool
		want    map[string]string
	}{
		{"well", full().Build.Stages, false,
			map[string]string{"DRONE_BUILD_STATUS": "success", "DRONE_STAGE_STATUS": "success", "CI_BUILD_STATUS": "success"}},
		{"failing", full().Build.Stages, true,
			map[string]string{"DRONE_BUILD_STATUS": "failure", "DRONE_STAGE_STATUS": "failure", "CI_BUILD_STATUS": "failure"}},
		{"after stages that failed", failedStages, false,
			map[string]string{"DRONE_BUILD_STATUS": "failure", "DRONE_STAGE_STATUS": "success", "CI_BUILD_STATUS": "failure",
				"DRONE_FAILED_STAGES": "bad,worse,shot"}},
		{"failing after stages that failed", failedStages, true,
			map[string]string{"DRONE_BUILD_STATUS": "failure", "DRONE_STAGE_STATUS": "failure", "CI_BUILD_STATUS": "failure",
				"DRONE_FAILED_STAGES": "bad,worse,shot"}},
	} {
		f := full()
		f.Build.Stages = test.stages
		got := map[string]string{}
		for name, value := range merged(f.buildVariables(test.failing), f.stageVariables(test.failing)) {
			if strings.HasSuffix(name, "_STATUS") || strings.Contains(name, "FAILED") {
				got[name] = value
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: variables of the state (-want +got):\n%s", test.rule, diff)
		}
	}
}

func TestVersionsOfTags(t *testing.T) {
	for _, test := range []struct {
		tag  string
		want map[string]string // without the prefix DRONE_
	}{
		{"v1.2.3", map[string]string{
			"SEMVER": "1.2.3", "SEMVER_MAJOR": "1", "SEMVER_MINOR": "2", "SEMVER_PATCH": "3", "SEMVER_PRERELEASE": "",
			"SEMVER_BUILD": "",
			"SEMVER_SHORT": "1.2.3",
		}},
		{"1.2.3-rc.1+b5", map[string]string{
			"SEMVER": "1.2.3-rc.1+b5", "SEMVER_MAJOR": "1", "SEMVER_MINOR": "2", "SEMVER_PATCH": "3",
			"SEMVER_PRERELEASE": "rc.1",
			"SEMVER_BUILD":      "b5", "SEMVER_SHORT": "1.2.3",
		}},
		{"1.2", map[string]string{"SEMVER_ERROR": "invalid semantic version"}},
		{"vv1.2.3", map[string]string{"SEMVER_ERROR": "invalid characters in version"}},
		{"2020.4.1-hotfix", map[string]string{
			"SEMVER": "2020.4.1-hotfix", "SEMVER_MAJOR": "2020", "SEMVER_MINOR": "4", "SEMVER_PATCH": "1",
			"SEMVER_PRERELEASE": "hotfix",
			"SEMVER_BUILD":      "", "SEMVER_SHORT": "2020.4.1",
			"CALVER": "2020.4.1-hotfix", "CALVER_MAJOR_MINOR": "2020.4", "CALVER_MAJOR": "2020", "CALVER_MINOR": "4",
			"CALVER_MICRO":    "1",
			"CALVER_MODIFIER": "hotfix", "CALVER_SHORT": "2020.4.1",
		}},
		{"19.4", map[string]string{
			"SEMVER_ERROR": "invalid semantic version",
			"CALVER":       "19.4", "CALVER_MAJOR_MINOR": "19.4", "CALVER_MAJOR": "19", "CALVER_MINOR": "4",
			"CALVER_MICRO":    "",
			"CALVER_MODIFIER": "", "CALVER_SHORT": "19.4",
		}},
		{"18.4.0", map[string]string{
			"SEMVER": "18.4.0", "SEMVER_MAJOR": "18", "SEMVER_MINOR": "4", "SEMVER_PATCH": "0", "SEMVER_PRERELEASE": "",
			"SEMVER_BUILD": "",
			"SEMVER_SHORT": "18.4.0",
		}},
	} {
		got := map[string]string{}
		f := Facts{Build: api.Build{Ref: "refs/tags/" + test.tag}}
		for name, value := range f.buildVariables(false) {
			if name := strings.TrimPrefix(name, "DRONE_"); strings.HasPrefix(name, "SEMVER") ||
				strings.HasPrefix(name, "CALVER") {
				got[name] = value
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("versions of the tag %s (-want +got):\n%s", test.tag, diff)
		}
	}
}
