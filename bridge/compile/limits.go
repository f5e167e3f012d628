package compile

import (
	"path/filepath"
	"slices"

	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
)

// Limits are the stages that the runner takes on. The zero value takes all.
type Limits struct {
	Repos   []string // globs of owner/name, as in path/filepath
	Events  []string
	Trusted bool // trusted repositories only
}

// check refuses a stage by the words of Drone's runner, and adds which limit it was.
func (l Limits) check(d *rpc.Details) error {
	const text = "insufficient permission to run the pipeline: "
	switch {
	case l.Trusted && !d.Repo.Trusted:
		return refuse(text + "this runner takes trusted repositories only")
	case len(l.Events) > 0 && !slices.Contains(l.Events, d.Build.Event):
		return refuse(text+"this runner takes no builds of the event %s", d.Build.Event)
	case len(l.Repos) > 0 && !slices.ContainsFunc(l.Repos, func(glob string) bool {
		ok, _ := filepath.Match(glob, d.Repo.Slug) // The globs were checked when they were read.
		return ok
	}):
		return refuse(text+"this runner takes no builds of %s", d.Repo.Slug)
	}
	return nil
}
