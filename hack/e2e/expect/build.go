package expect

import (
	"cmp"
	"maps"
)

// Build is what makes a build on a Drone server, and what it consists of.
type Build struct {
	Repository Repository `json:"repository,omitempty"`
	Event      Event      `json:"event,omitempty"`
	// Stages are the build's, by name, where it is more than one, or is left before its end. Result is the build's then.
	Stages map[string]Stage `json:"stages,omitempty"`
	// Drone is what a Drone server shows otherwise than the cluster does, or tells beside it.
	Drone Stage `json:"drone,omitempty"`
}

// OnDrone is what a Drone server shows of a pipeline. What is detached is a success, however it ends.
func (p Pipeline) OnDrone() Stage {
	s := p.Stage
	s.Result, s.Error = cmp.Or(p.Drone.Result, s.Result), p.Drone.Error
	s.Steps = maps.Clone(s.Steps)
	for name, step := range s.Steps {
		if step.Outcome == Detached {
			step.Outcome = Success
			s.Steps[name] = step
		}
	}
	maps.Copy(s.Steps, p.Drone.Steps)
	return s
}

// Repository is how a repository is set up.
type Repository struct {
	Private bool `json:"private,omitempty"`
	Trusted bool `json:"trusted,omitempty"`
	// Timeout in minutes; 0 is the server's default.
	Timeout int64 `json:"timeout,omitempty"`
	// Secrets by name. PullSecrets are those that pull requests get as well.
	Secrets     map[string]string `json:"secrets,omitempty"`
	PullSecrets map[string]string `json:"pull_secrets,omitempty"`
}

// Event is what starts a build.
type Event struct {
	// Name is Drone's of the event, push by default.
	Name string `json:"name,omitempty"`
	// Branch is main by default; a pull request comes from it.
	Branch string `json:"branch,omitempty"`
	// Tag is that of the event tag.
	Tag string `json:"tag,omitempty"`
	// Target is where a promotion or rollback goes to.
	Target string `json:"target,omitempty"`
	// Params are those of promote, rollback and custom.
	Params map[string]string `json:"params,omitempty"`
}
