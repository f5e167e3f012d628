package main

import (
	"context"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/drone-tekton/drone-runner-tekton/translate"
)

// gitFacts reads the checkout around a folder: commit, branch and remote. Outside a checkout, or without git, it knows
// the folder's name alone.
func gitFacts(ctx context.Context, folder string) translate.Facts {
	var commit, branch, remote, head string
	var wait sync.WaitGroup
	for _, q := range []struct {
		answer *string
		args   []string
	}{
		{&commit, []string{"log", "-1", "--format=%H%x00%P%x00%ct%x00%an%x00%ae%x00%B"}},
		{&branch, []string{"symbolic-ref", "--short", "-q", "HEAD"}},
		{&remote, []string{"config", "--get", "remote.origin.url"}},
		{&head, []string{"symbolic-ref", "--short", "-q", "refs/remotes/origin/HEAD"}},
	} {
		wait.Go(func() {
			out, err := exec.CommandContext(ctx, "git", append([]string{"-C", folder}, q.args...)...).Output()
			if err == nil {
				*q.answer = strings.TrimSpace(string(out))
			}
		})
	}
	wait.Wait()

	var f translate.Facts
	if fields := strings.SplitN(commit, "\x00", 6); len(fields) == 6 {
		f.Build.After = fields[0]
		f.Build.Before, _, _ = strings.Cut(fields[1], " ")
		f.Build.Timestamp, _ = strconv.ParseInt(fields[2], 10, 64)
		f.Build.Author, f.Build.AuthorName, f.Build.AuthorEmail = fields[3], fields[3], fields[4]
		f.Build.Message = strings.TrimSpace(fields[5])
	}
	f.Build.Target = branch
	f.Repo.Branch = strings.TrimPrefix(head, "origin/")
	if f.Repo.Branch == "" {
		f.Repo.Branch = branch
	}
	f.Repo.Name = filepath.Base(folder)
	f.Repo.HTTPURL, f.Repo.SSHURL, f.Repo.Slug = remoteURLs(remote)
	return f
}

// remoteURLs gives both addresses of a git remote, and the repository's name in it. Credentials in the address are left
// out. A remote without a host, such as a folder, has no address that a cluster could clone from.
func remoteURLs(remote string) (http, ssh, slug string) {
	host, name, path := "", "", "" // name is the host without a port
	scheme := "https"
	if u, err := url.Parse(remote); err == nil && u.Scheme == "file" {
		return "", "", ""
	} else if err == nil && u.Host != "" {
		host, name, path = u.Host, u.Hostname(), u.Path
		if u.Scheme == "http" {
			scheme = "http"
		}
		if u.Scheme == "ssh" {
			host = name
		}
	} else if before, after, ok := strings.Cut(remote, ":"); ok && !strings.Contains(before, "/") {
		_, h, found := strings.Cut(before, "@")
		if !found {
			h = before
		}
		host, name, path = h, h, after
	}
	if host == "" {
		return "", "", ""
	}
	path = strings.Trim(path, "/")
	slug = strings.TrimSuffix(path, ".git")
	return scheme + "://" + host + "/" + path, "git@" + name + ":" + path, slug
}
