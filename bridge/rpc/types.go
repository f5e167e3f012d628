package rpc

import (
	api "github.com/drone/drone-go/drone"
)

// Filter tells the server which stages a runner can run. Kind and Type must equal the stage's; empty means "pipeline"
// and "docker". When any of OS, Arch, Variant and Kernel is set, OS and Arch must equal the stage's, and Variant and
// Kernel must where the stage has them. Labels must equal the stage's node labels exactly.
type Filter struct {
	Kind    string            `json:"kind"`
	Type    string            `json:"type"`
	OS      string            `json:"os"`
	Arch    string            `json:"arch"`
	Variant string            `json:"variant"`
	Kernel  string            `json:"kernel"`
	Labels  map[string]string `json:"labels,omitempty"`
}

// Stage is a stage as it is on the wire. Its Steps hide those of the embedded type.
type Stage struct {
	api.Stage
	RepoID int64   `json:"repo_id,omitempty"`
	Steps  []*Step `json:"steps,omitempty"`

	// Extra holds the fields that a server sent and this type does not have; they are sent back as they came.
	Extra Extra `json:"-"`
}

// Step is a step as it is on the wire, where the id of its stage is named "step_id".
type Step struct {
	api.Step

	// Extra holds the fields that a server sent and this type does not have; they are sent back as they came.
	Extra Extra `json:"-"`
}

// Details is what a runner has to know to run a stage.
type Details struct {
	Build *api.Build `json:"build"` // Build.Stages lists all stages of the build, without steps.
	Stage *Stage     `json:"stage"` // Stage has no steps either: their ids are told in answer to UpdateStage alone.
	Repo  *api.Repo  `json:"repository"`

	// Config is the configuration file as the runner is to read it: fetched and converted anew for each call.
	Config Config `json:"config"`

	// Netrc is nil where the repository can be cloned without credentials.
	Netrc *api.Netrc `json:"netrc"`

	// Secrets are those of the repository, then those of its namespace. The server leaves out what a build for a
	// pull request may not see.
	Secrets []*api.Secret `json:"secrets"`

	System *api.System `json:"system"`
}

// Config is a file, in base64 on the wire.
type Config struct {
	Data []byte `json:"Data"`
	Hash []byte `json:"Hash"`
}

// Ended reports whether the server holds the stage or its build for done: cancelled by a user, skipped, given up.
// A runner has nothing more to tell about such a stage, and stops it.
func (d *Details) Ended() bool { return done(d.Stage.Status) || done(d.Build.Status) }

// done reports whether a stage, step or build of this status has come to its end, by the server's own rule: whatever
// is not about to run or running.
func done(status string) bool {
	switch status {
	case api.StatusWaiting, api.StatusPending, api.StatusRunning, api.StatusBlocked:
		return false
	}
	return true
}

// creates reports whether an update of a stage to this status makes the server insert the stage's steps.
func creates(status string) bool {
	return status == api.StatusPending || status == api.StatusRunning
}
