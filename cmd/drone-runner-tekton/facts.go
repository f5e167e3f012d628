package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	api "github.com/drone/drone-go/drone"
	"github.com/joho/godotenv"
	"github.com/spf13/pflag"

	"github.com/drone-tekton/drone-runner-tekton/translate"
)

// eventCron is an event that drone-go does not name.
const eventCron = "cron"

// factFlags are the flags that tell what build a pipeline is converted for. What they leave open comes from the file of
// variables, then from the git checkout around the pipeline's file, then from a push to the default branch.
type factFlags struct {
	event, branch, ref, commit, tag, target, cron, action string
	repo, remote, link, message, source, author           string
	buildNumber                                           int64
	params                                                map[string]string
	envFile                                               string
}

// events are those that Drone's server sends.
var events = []string{api.EventPush, api.EventPullRequest, api.EventTag, api.EventPromote, api.EventRollback, eventCron, "custom"}

func (f *factFlags) add(flags *pflag.FlagSet) {
	flags.Var(choice[string]{&f.event, events}, "event", "event of the build: push, pull_request, tag, promote, rollback, cron or custom")
	flags.StringVar(&f.branch, "branch", "", "branch of the build; of a pull request, the branch that it goes to")
	flags.StringVar(&f.source, "source-branch", "", "branch that a pull request comes from")
	flags.StringVar(&f.ref, "ref", "", "git reference, such as refs/heads/main")
	flags.StringVar(&f.commit, "commit", "", "commit to check out")
	flags.StringVar(&f.tag, "tag", "", "tag of the build; implies --event tag")
	flags.StringVar(&f.target, "target", "", "deployment target; implies --event promote")
	flags.StringVar(&f.cron, "cron", "", "name of the cron job; implies --event cron")
	flags.StringVar(&f.action, "action", "", "action of the event, such as opened")
	flags.StringVar(&f.message, "message", "", "message of the commit")
	flags.StringVar(&f.author, "author", "", "author of the commit")
	flags.Var(slug{&f.repo}, "repo", "repository as OWNER/NAME")
	flags.StringVar(&f.remote, "remote", "", "address to clone from")
	flags.StringVar(&f.link, "link", "", "page of the commit")
	flags.Int64Var(&f.buildNumber, "build-number", 0, "number of the build")
	flags.StringToStringVar(&f.params, "param", nil, "build parameter as `KEY=VALUE` (can be repeated)")
	flags.Lookup("param").DefValue = "" // else the help shows an empty list
	flags.StringVar(&f.envFile, "env-file", "", "file of DRONE_* variables, one a line, as a Drone build has them")
}

// facts gathers what is known of the build, for a pipeline file in a folder.
func (f *factFlags) facts(ctx context.Context, folder string) (translate.Facts, error) {
	facts := gitFacts(ctx, folder)
	var vars map[string]string
	if f.envFile != "" {
		var err error
		if vars, err = godotenv.Read(f.envFile); err != nil {
			return facts, fmt.Errorf("reading the variables of %s: %w", f.envFile, err)
		}
		if event := vars["DRONE_BUILD_EVENT"]; event != "" && !slices.Contains(events, event) {
			return facts, fmt.Errorf("DRONE_BUILD_EVENT in %s is %q, and must be one of %s", f.envFile, event, strings.Join(events, ", "))
		}
	}
	if f.tag != "" || cmp.Or(f.event, vars["DRONE_BUILD_EVENT"]) == api.EventTag {
		facts.Build.Target = "" // The branch of the checkout says nothing of a tag; Drone, too, mostly knows none.
	}
	fromVariables(&facts, vars)
	f.apply(&facts)
	complete(&facts)
	return facts, nil
}

// apply lets flags win.
func (f *factFlags) apply(facts *translate.Facts) {
	b, r := &facts.Build, &facts.Repo
	switch {
	case f.event != "":
		b.Event = f.event
	case f.tag != "":
		b.Event = api.EventTag
	case f.target != "":
		b.Event = api.EventPromote
	case f.cron != "":
		b.Event = eventCron
	}
	set(&b.Target, f.branch)
	set(&b.Source, f.source)
	set(&b.After, f.commit)
	set(&b.Deploy, f.target)
	set(&b.Cron, f.cron)
	set(&b.Action, f.action)
	set(&b.Message, f.message)
	set(&b.Author, f.author)
	set(&b.Link, f.link)
	set(&r.Slug, f.repo)
	set(&r.HTTPURL, f.remote)
	switch {
	case f.ref != "":
		b.Ref = f.ref
	case f.tag != "":
		b.Ref = "refs/tags/" + f.tag
	case f.branch != "":
		b.Ref = "refs/heads/" + f.branch
	}
	if f.buildNumber != 0 {
		b.Number = f.buildNumber
	}
	if len(f.params) > 0 {
		b.Params = f.params
	}
}

// complete fills what follows from the rest, as Drone's server does.
func complete(facts *translate.Facts) {
	b, r := &facts.Build, &facts.Repo
	if i := strings.LastIndexByte(r.Slug, '/'); i >= 0 { // The owner may be a group of groups.
		r.Namespace, r.Name = r.Slug[:i], r.Slug[i+1:]
	} else if r.Name == "" {
		r.Name = r.Slug
	}
	setDefault(&b.Event, api.EventPush)
	setDefault(&r.Branch, "main")
	if b.Event != api.EventTag {
		setDefault(&b.Target, r.Branch)
		setDefault(&b.Ref, "refs/heads/"+b.Target)
	}
	setDefault(&b.Source, b.Target)
	setDefault(&facts.System.Proto, "https")
	if b.Created == 0 {
		b.Created = b.Timestamp
	}
	facts.Now = b.Created
}

func set(field *string, value string) {
	if value != "" {
		*field = value
	}
}

func setDefault(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// fromVariables reads facts back from the variables that Drone gives to a build. Variables that are not Drone's are build
// parameters.
func fromVariables(facts *translate.Facts, vars map[string]string) {
	b, r, s := &facts.Build, &facts.Repo, &facts.System
	texts := map[string]*string{
		"DRONE_SYSTEM_PROTO": &s.Proto, "DRONE_SYSTEM_HOST": &s.Host, "DRONE_SYSTEM_VERSION": &s.Version,
		"DRONE_REPO": &r.Slug, "DRONE_REPO_SCM": &r.SCM, "DRONE_REPO_NAMESPACE": &r.Namespace, "DRONE_REPO_NAME": &r.Name,
		"DRONE_REPO_LINK": &r.Link, "DRONE_REPO_BRANCH": &r.Branch, "DRONE_REPO_VISIBILITY": &r.Visibility,
		"DRONE_REMOTE_URL": &r.HTTPURL, "DRONE_GIT_HTTP_URL": &r.HTTPURL, "DRONE_GIT_SSH_URL": &r.SSHURL,
		"DRONE_BRANCH": &b.Target, "DRONE_COMMIT_BRANCH": &b.Target, "DRONE_TARGET_BRANCH": &b.Target, "DRONE_SOURCE_BRANCH": &b.Source,
		"DRONE_COMMIT": &b.After, "DRONE_COMMIT_SHA": &b.After, "DRONE_COMMIT_AFTER": &b.After, "DRONE_COMMIT_BEFORE": &b.Before,
		"DRONE_COMMIT_REF": &b.Ref, "DRONE_COMMIT_LINK": &b.Link, "DRONE_COMMIT_MESSAGE": &b.Message,
		"DRONE_COMMIT_AUTHOR": &b.Author, "DRONE_COMMIT_AUTHOR_NAME": &b.AuthorName,
		"DRONE_COMMIT_AUTHOR_EMAIL": &b.AuthorEmail, "DRONE_COMMIT_AUTHOR_AVATAR": &b.AuthorAvatar,
		"DRONE_BUILD_EVENT": &b.Event, "DRONE_BUILD_ACTION": &b.Action, "DRONE_BUILD_TRIGGER": &b.Trigger,
		"DRONE_DEPLOY_TO": &b.Deploy, "DRONE_PULL_REQUEST_TITLE": &b.Title, "DRONE_CRON": &b.Cron,
	}
	numbers := map[string]*int64{
		"DRONE_BUILD_NUMBER": &b.Number, "DRONE_BUILD_PARENT": &b.Parent, "DRONE_BUILD_CREATED": &b.Created,
		"DRONE_BUILD_STARTED": &b.Started, "DRONE_BUILD_FINISHED": &b.Finished, "DRONE_DEPLOY_ID": &b.DeployID,
	}
	for name, value := range vars {
		switch {
		case texts[name] != nil:
			*texts[name] = value
		case numbers[name] != nil:
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				*numbers[name] = n
			}
		case strings.HasPrefix(name, "DRONE_"), strings.HasPrefix(name, "CI_"), name == "CI", name == "DRONE":
			// Other variables of Drone follow from those above.
		default:
			if b.Params == nil {
				b.Params = map[string]string{}
			}
			b.Params[name] = value
		}
	}
	if tag := vars["DRONE_TAG"]; tag != "" && b.Ref == "" {
		b.Ref = "refs/tags/" + tag
	}
	if r.Slug == "" && r.Namespace != "" {
		r.Slug = r.Namespace + "/" + r.Name
	}
	r.Private, _ = strconv.ParseBool(vars["DRONE_REPO_PRIVATE"])
	b.Debug, _ = strconv.ParseBool(vars["DRONE_BUILD_DEBUG"])
}

// folderOf is where the git checkout of a pipeline's file is looked for.
func folderOf(file string) string {
	if file == "-" {
		file = "."
	} else {
		file = filepath.Dir(file)
	}
	if abs, err := filepath.Abs(file); err == nil {
		return abs
	}
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	return dir
}
