package drone

import (
	api "github.com/drone/drone-go/drone"
)

// facts are what Drone's server tells a configuration program about the repository and the build, by the names that
// programs use: texts and truth values.
type facts struct {
	repo, build map[string]any
	params      map[string]string
}

func factsOf(repo *api.Repo, build *api.Build) facts {
	if repo == nil {
		repo = &api.Repo{}
	}
	if build == nil {
		build = &api.Build{}
	}
	return facts{
		repo: map[string]any{
			"uid":                  repo.UID,
			"name":                 repo.Name,
			"namespace":            repo.Namespace,
			"slug":                 repo.Slug,
			"git_http_url":         repo.HTTPURL,
			"git_ssh_url":          repo.SSHURL,
			"link":                 repo.Link,
			"branch":               repo.Branch,
			"config":               repo.Config,
			"private":              repo.Private,
			"visibility":           repo.Visibility,
			"active":               repo.Active,
			"trusted":              repo.Trusted,
			"protected":            repo.Protected,
			"ignore_forks":         repo.IgnoreForks,
			"ignore_pull_requests": repo.IgnorePulls,
		},
		build: map[string]any{
			"event":         build.Event,
			"action":        build.Action,
			"cron":          build.Cron,
			"environment":   build.Deploy,
			"link":          build.Link,
			"branch":        build.Target,
			"source":        build.Source,
			"before":        build.Before,
			"after":         build.After,
			"target":        build.Target,
			"ref":           build.Ref,
			"commit":        build.After,
			"title":         build.Title,
			"message":       build.Message,
			"source_repo":   build.Fork,
			"author_login":  build.Author,
			"author_name":   build.AuthorName,
			"author_email":  build.AuthorEmail,
			"author_avatar": build.AuthorAvatar,
			"sender":        build.Sender,
			"debug":         build.Debug,
		},
		params: build.Params,
	}
}
