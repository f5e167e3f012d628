package translate

import (
	"github.com/drone/drone-yaml/yaml"
)

// Policy says in which state of the pipeline a step runs.
type Policy int

const (
	// OnSuccess is a step that runs while nothing has failed: Drone's default.
	OnSuccess Policy = iota
	// OnFailure is a step that runs only once something has failed.
	OnFailure
	// Always is a step that runs in both states.
	Always
	// Never is a step whose conditions do not match the build: to Drone's server it does not exist.
	Never
)

// String is the name that Drone's runners use.
func (p Policy) String() string {
	return [...]string{"on-success", "on-failure", "always", "never"}[p]
}

// policyOf is Drone's run policy of a step. Any condition but status that does not match means never. The status
// condition counts only where it names something: a step that includes failure but not success runs on failure, one that
// includes both always; other words, such as changed or killed, match neither state.
func policyOf(when yaml.Conditions, f Facts) Policy {
	if !matches(when, f) || !when.Instance.Match(f.System.Host) {
		return Never
	}
	if len(when.Status.Include)+len(when.Status.Exclude) == 0 {
		return OnSuccess
	}
	switch {
	case !when.Status.Match("failure"):
		return OnSuccess
	case when.Status.Match("success"):
		return Always
	default:
		return OnFailure
	}
}

// Triggered reports whether the build's facts match a pipeline's trigger as Drone's server checks it: instance and paths
// are not looked at, and status is about other pipelines.
func Triggered(trigger yaml.Conditions, f Facts) bool { return matches(trigger, f) }

func matches(c yaml.Conditions, f Facts) bool {
	b := f.Build
	return c.Branch.Match(b.Target) &&
		c.Event.Match(b.Event) &&
		c.Ref.Match(b.Ref) &&
		c.Repo.Match(f.Repo.Slug) &&
		c.Target.Match(b.Deploy) &&
		c.Action.Match(b.Action) &&
		c.Cron.Match(b.Cron)
}
