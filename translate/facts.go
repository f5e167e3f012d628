package translate

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
	api "github.com/drone/drone-go/drone"
)

// Facts are what is known of the build that a pipeline runs for, in the types of Drone's own API. The zero value of
// every field is allowed: the variables made of it are then empty, as in Drone.
type Facts struct {
	System api.System
	Repo   api.Repo
	Build  api.Build
	Stage  api.Stage
	// Now is the time that stands in for a start or end that has not happened yet, in Unix seconds. Drone uses the clock;
	// a translation has none, so that the same input gives the same output.
	Now int64
}

// Substitutions are the variables of ${…} in the text of a pipeline, which Drone's runners replace before they parse it.
// Build parameters win over everything; steps, workspace and secrets are not among them.
func (f Facts) Substitutions() map[string]string {
	return merged(f.systemVariables(), f.repoVariables(), f.buildVariables(false), f.stageVariables(false),
		f.linkVariables(), f.Build.Params)
}

func (f Facts) systemVariables() map[string]string {
	return map[string]string{
		"CI":                    "true",
		"DRONE":                 "true",
		"DRONE_SYSTEM_PROTO":    f.System.Proto,
		"DRONE_SYSTEM_HOST":     f.System.Host,
		"DRONE_SYSTEM_HOSTNAME": f.System.Host,
		"DRONE_SYSTEM_VERSION":  f.System.Version,
	}
}

func (f Facts) repoVariables() map[string]string {
	r := f.Repo
	private := strconv.FormatBool(r.Private)
	return map[string]string{
		"DRONE_REPO":            r.Slug,
		"DRONE_REPO_SCM":        r.SCM,
		"DRONE_REPO_OWNER":      r.Namespace,
		"DRONE_REPO_NAMESPACE":  r.Namespace,
		"DRONE_REPO_NAME":       r.Name,
		"DRONE_REPO_LINK":       r.Link,
		"DRONE_REPO_BRANCH":     r.Branch,
		"DRONE_REPO_VISIBILITY": r.Visibility,
		"DRONE_REPO_PRIVATE":    private,
		"DRONE_REMOTE_URL":      r.HTTPURL,
		"DRONE_GIT_HTTP_URL":    r.HTTPURL,
		"DRONE_GIT_SSH_URL":     r.SSHURL,
		// Names of Drone 0.8. CI_REPO_NAME is the slug too.
		"CI_REPO":         r.Slug,
		"CI_REPO_NAME":    r.Slug,
		"CI_REPO_LINK":    r.Link,
		"CI_REPO_REMOTE":  r.HTTPURL,
		"CI_REMOTE_URL":   r.HTTPURL,
		"CI_REPO_PRIVATE": private,
	}
}

// buildVariables are the variables of the build. Their status is what a step sees that starts while the pipeline is, or
// is not, failing: Drone knows only success and failure there. A build fails with any of its stages.
func (f Facts) buildVariables(failing bool) map[string]string {
	b := f.Build
	stages := f.failedStages()
	failing = failing || stages != ""
	number, parent := strconv.FormatInt(b.Number, 10), strconv.FormatInt(b.Parent, 10)
	created, started, finished := unix(b.Created), f.unixOrNow(b.Started), f.unixOrNow(b.Finished)
	vars := map[string]string{
		"DRONE_BRANCH":               b.Target,
		"DRONE_TARGET_BRANCH":        b.Target,
		"DRONE_COMMIT_BRANCH":        b.Target,
		"DRONE_SOURCE_BRANCH":        b.Source,
		"DRONE_COMMIT":               b.After,
		"DRONE_COMMIT_SHA":           b.After,
		"DRONE_COMMIT_AFTER":         b.After,
		"DRONE_COMMIT_BEFORE":        b.Before,
		"DRONE_COMMIT_REF":           b.Ref,
		"DRONE_COMMIT_LINK":          b.Link,
		"DRONE_COMMIT_MESSAGE":       b.Message,
		"DRONE_COMMIT_AUTHOR":        b.Author,
		"DRONE_COMMIT_AUTHOR_NAME":   b.AuthorName,
		"DRONE_COMMIT_AUTHOR_EMAIL":  b.AuthorEmail,
		"DRONE_COMMIT_AUTHOR_AVATAR": b.AuthorAvatar,
		"DRONE_BUILD_NUMBER":         number,
		"DRONE_BUILD_PARENT":         parent,
		"DRONE_BUILD_EVENT":          b.Event,
		"DRONE_BUILD_ACTION":         b.Action,
		"DRONE_BUILD_TRIGGER":        b.Trigger,
		"DRONE_BUILD_DEBUG":          strconv.FormatBool(b.Debug),
		"DRONE_BUILD_CREATED":        created,
		"DRONE_BUILD_STARTED":        started,
		"DRONE_BUILD_FINISHED":       finished,
		"DRONE_BUILD_STATUS":         outcome(failing),
		"DRONE_DEPLOY_TO":            b.Deploy,
		"DRONE_DEPLOY_ID":            strconv.FormatInt(b.DeployID, 10),
		// Names of Drone 0.8.
		"CI_BUILD_NUMBER":         number,
		"CI_PARENT_BUILD_NUMBER":  parent,
		"CI_BUILD_CREATED":        created,
		"CI_BUILD_STARTED":        started,
		"CI_BUILD_FINISHED":       finished,
		"CI_BUILD_STATUS":         outcome(failing),
		"CI_BUILD_EVENT":          b.Event,
		"CI_BUILD_LINK":           b.Link,
		"CI_BUILD_TARGET":         b.Deploy,
		"CI_COMMIT_SHA":           b.After,
		"CI_COMMIT_REF":           b.Ref,
		"CI_COMMIT_BRANCH":        b.Target,
		"CI_COMMIT_MESSAGE":       b.Message,
		"CI_COMMIT_AUTHOR":        b.Author,
		"CI_COMMIT_AUTHOR_NAME":   b.AuthorName,
		"CI_COMMIT_AUTHOR_EMAIL":  b.AuthorEmail,
		"CI_COMMIT_AUTHOR_AVATAR": b.AuthorAvatar,
	}
	if b.Event == api.EventPullRequest {
		vars["DRONE_PULL_REQUEST"] = firstNumber.FindString(b.Ref)
		vars["DRONE_PULL_REQUEST_TITLE"] = b.Title
	}
	if tag, ok := strings.CutPrefix(b.Ref, "refs/tags/"); ok {
		vars["DRONE_TAG"] = tag
		addSemver(vars, tag)
		addCalver(vars, tag)
	}
	if stages != "" {
		vars["DRONE_FAILED_STAGES"] = stages
	}
	return vars
}

func (f Facts) failedStages() string {
	var names []string
	for _, s := range f.Build.Stages {
		switch s.Status {
		case api.StatusFailing, api.StatusError, api.StatusKilled:
			names = append(names, s.Name)
		}
	}
	return strings.Join(names, ",")
}

// stageVariables are the variables of the pipeline. DRONE_STAGE_VERSION is the version of the server's row, as in Drone.
func (f Facts) stageVariables(failing bool) map[string]string {
	s := f.Stage
	return map[string]string{
		"DRONE_STAGE_KIND":       s.Kind,
		"DRONE_STAGE_TYPE":       s.Type,
		"DRONE_STAGE_NAME":       s.Name,
		"DRONE_STAGE_NUMBER":     strconv.Itoa(s.Number),
		"DRONE_STAGE_MACHINE":    s.Machine,
		"DRONE_STAGE_OS":         s.OS,
		"DRONE_STAGE_ARCH":       s.Arch,
		"DRONE_STAGE_VARIANT":    s.Variant,
		"DRONE_STAGE_VERSION":    strconv.FormatInt(s.Version, 10),
		"DRONE_STAGE_STATUS":     outcome(failing),
		"DRONE_STAGE_STARTED":    f.unixOrNow(s.Started),
		"DRONE_STAGE_FINISHED":   f.unixOrNow(s.Stopped),
		"DRONE_STAGE_DEPENDS_ON": strings.Join(s.DependsOn, ","),
		"DRONE_CARD_PATH":        "/dev/stdout",
	}
}

func (f Facts) linkVariables() map[string]string {
	link := ""
	if f.System.Host != "" {
		link = f.System.Proto + "://" + f.System.Host + "/" + f.Repo.Slug + "/" + strconv.FormatInt(f.Build.Number, 10)
	}
	return map[string]string{"DRONE_BUILD_LINK": link}
}

func (f Facts) unixOrNow(t int64) string {
	if t == 0 {
		t = f.Now
	}
	return unix(t)
}

func unix(t int64) string { return strconv.FormatInt(t, 10) }

func outcome(failing bool) string {
	if failing {
		return api.StatusFailing
	}
	return api.StatusPassing
}

var firstNumber = regexp.MustCompile(`\d+`)

// addSemver adds the parts of a tag that is a semantic version, with or without a leading v, or the reason why it is not.
func addSemver(vars map[string]string, tag string) {
	v, err := semver.StrictNewVersion(strings.TrimPrefix(tag, "v"))
	if err != nil {
		vars["DRONE_SEMVER_ERROR"] = err.Error()
		return
	}
	vars["DRONE_SEMVER"] = v.String()
	vars["DRONE_SEMVER_MAJOR"] = strconv.FormatUint(v.Major(), 10)
	vars["DRONE_SEMVER_MINOR"] = strconv.FormatUint(v.Minor(), 10)
	vars["DRONE_SEMVER_PATCH"] = strconv.FormatUint(v.Patch(), 10)
	vars["DRONE_SEMVER_PRERELEASE"] = v.Prerelease()
	vars["DRONE_SEMVER_BUILD"] = v.Metadata()
	vars["DRONE_SEMVER_SHORT"] = strings.Join([]string{vars["DRONE_SEMVER_MAJOR"], vars["DRONE_SEMVER_MINOR"], vars["DRONE_SEMVER_PATCH"]}, ".")
}

// calver is a tag of at least two numeric parts, with a modifier after a hyphen or a plus sign.
var calver = regexp.MustCompile(`^v?(\d+)\.(\d+)(?:\.(\d+))?(?:[-+.](.*))?$`)

// addCalver adds the parts of a tag that is a calendar version: Drone takes a tag for one whose first part is a year of
// two digits from 19 or of four digits from 2019.
func addCalver(vars map[string]string, tag string) {
	m := calver.FindStringSubmatch(tag)
	if m == nil {
		return
	}
	major, err := strconv.Atoi(m[1])
	if err != nil || !(major >= 19 && major <= 99 || major >= 2019 && major <= 9998) {
		return
	}
	short := m[1] + "." + m[2]
	vars["DRONE_CALVER_MAJOR_MINOR"] = short
	if m[3] != "" {
		short += "." + m[3]
	}
	vars["DRONE_CALVER"] = strings.TrimPrefix(tag, "v")
	vars["DRONE_CALVER_MAJOR"] = m[1]
	vars["DRONE_CALVER_MINOR"] = m[2]
	vars["DRONE_CALVER_MICRO"] = m[3]
	vars["DRONE_CALVER_MODIFIER"] = m[4]
	vars["DRONE_CALVER_SHORT"] = short
}

// merged joins maps; a later map wins.
func merged(maps ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range maps {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}
