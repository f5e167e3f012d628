package dronetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	api "github.com/drone/drone-go/drone"
	"github.com/drone/drone-yaml/yaml"
)

// Spec is a build to be. All but Config have defaults.
type Spec struct {
	// Config is the configuration file. Its pipelines become the stages, as far as the server reads them: name, type,
	// platform, node, dependencies, concurrency limit and the status that triggers them.
	Config string

	Repo    api.Repo  // Default octocat/hello-world. Repositories of one slug are the same.
	Build   api.Build // Default a push to main.
	Secrets []*api.Secret
	Netrc   *api.Netrc
}

// Enqueue creates a build, and offers its stages to runners. It returns the build with its stages.
func (s *Server) Enqueue(spec Spec) (*api.Build, error) {
	manifest, err := yaml.ParseString(spec.Config)
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	repo := s.repo(spec.Repo)
	b := s.build(spec, repo)
	for _, resource := range manifest.Resources {
		if pipeline, ok := resource.(*yaml.Pipeline); ok {
			s.stage(pipeline, b, repo)
		}
	}
	if len(s.db.stagesOf(b.ID)) == 0 {
		return nil, errors.New("configuration file: no pipeline in it")
	}
	s.offer()
	s.notify()
	return s.view(b.ID), nil
}

// repo returns the repository's row, which it inserts or updates.
func (s *Server) repo(in api.Repo) *api.Repo {
	if in.Slug == "" {
		in.Slug = "octocat/hello-world"
	}
	if in.Namespace == "" || in.Name == "" {
		in.Namespace, in.Name, _ = strings.Cut(in.Slug, "/")
	}
	setDefault(&in.Branch, "main")
	setDefault(&in.Config, ".drone.yml")
	setDefault(&in.Visibility, "public")
	setDefault(&in.HTTPURL, "https://git.example.com/"+in.Slug+".git")
	setDefault(&in.Link, "https://git.example.com/"+in.Slug)
	setDefault(&in.Secret, "0123456789abcdef0123456789abcdef")
	setDefault(&in.Timeout, 60)
	in.Active = true
	in.ID = int64(len(s.db.repos)) + 1
	for id, row := range s.db.repos {
		if row.Slug == in.Slug {
			in.ID, in.Counter = id, row.Counter
		}
	}
	in.Counter++
	s.db.repos[in.ID] = &in
	return &in
}

// build inserts a build.
func (s *Server) build(spec Spec, repo *api.Repo) *build {
	b := &build{Build: spec.Build, config: spec.Config, secrets: spec.Secrets, netrc: spec.Netrc}
	setDefault(&b.Event, api.EventPush)
	setDefault(&b.Trigger, "@hook")
	setDefault(&b.Target, repo.Branch)
	setDefault(&b.Source, b.Target)
	setDefault(&b.Ref, "refs/heads/"+b.Target)
	setDefault(&b.After, "7fd1a60b01f91b314f59955a4e4d4e80d8edf11d")
	setDefault(&b.Before, "762941318ee16e59dabbacb1b4049eec22f0d303")
	setDefault(&b.Author, "octocat")
	setDefault(&b.Message, "update")
	b.ID = int64(len(s.db.builds)) + 1
	b.RepoID, b.Number, b.Version = repo.ID, repo.Counter, 1
	b.Status, b.Created, b.Updated = api.StatusPending, now(), now()
	b.Stages = nil
	s.db.builds[b.ID] = b
	return b
}

// stage inserts the stage that a pipeline becomes.
func (s *Server) stage(p *yaml.Pipeline, b *build, repo *api.Repo) {
	st := &stage{RepoID: repo.ID, Stage: api.Stage{
		ID: int64(len(s.db.stages)) + 1, BuildID: b.ID, Number: len(s.db.stagesOf(b.ID)) + 1,
		Name: p.Name, Kind: p.Kind, Type: p.Type,
		OS: p.Platform.OS, Arch: p.Platform.Arch, Variant: p.Platform.Variant, Kernel: p.Platform.Version,
		Limit: p.Concurrency.Limit, LimitRepo: int(repo.Throttle),
		Status: api.StatusPending, DependsOn: p.DependsOn, Labels: p.Node,
		OnSuccess: p.Trigger.Status.Match(api.StatusPassing),
		OnFailure: p.Trigger.Status.Match(api.StatusFailing),
		Created:   now(), Updated: now(), Version: 1,
	}}
	if len(p.Trigger.Status.Include)+len(p.Trigger.Status.Exclude) == 0 {
		st.OnFailure = false
	}
	if len(p.DependsOn) > 0 {
		st.Status = api.StatusWaiting
	}
	setDefault(&st.Name, "default")
	setDefault(&st.OS, "linux")
	setDefault(&st.Arch, "amd64")
	if st.Kind == "pipeline" {
		setDefault(&st.Type, "docker")
	}
	s.db.stages[st.ID] = st
}

// Cancel ends a build as a user does who cancels it, and reports whether it was not ended yet.
func (s *Server) Cancel(buildID int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, found := s.db.builds[buildID]
	if !found || b.Status != api.StatusPending && b.Status != api.StatusRunning {
		return false
	}
	b.Status, b.Finished = api.StatusKilled, now()
	if b.Started == 0 {
		b.Started = now()
	}
	b.Version++
	for cancelled, id := range s.watches {
		if id == buildID {
			delete(s.watches, cancelled)
			close(cancelled)
		}
	}
	kill := func(status *string, started, stopped *int64) {
		*status = api.StatusKilled
		if *started == 0 {
			*status, *started = api.StatusSkipped, now()
		}
		*stopped = now()
	}
	for _, st := range s.db.stagesOf(buildID) {
		if done(st.Status) {
			continue
		}
		kill(&st.Status, &st.Started, &st.Stopped)
		_ = s.db.updateStage(st) // It has just been read.
		for _, step := range s.db.stepsOf(st.ID) {
			if !done(step.Status) {
				kill(&step.Status, &step.Started, &step.Stopped)
				step.ExitCode = 130
				_ = s.db.updateStep(step) // It has just been read.
			}
		}
	}
	s.notify()
	return true
}

// FailConfig has Details fail from now on, as it does when the configuration file cannot be fetched; nil ends that.
func (s *Server) FailConfig(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.db.failConfig = err
}

// Build returns a build with its stages and their steps, or nil if there is none.
func (s *Server) Build(id int64) *api.Build {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view(id)
}

func (s *Server) view(id int64) *api.Build {
	row, found := s.db.builds[id]
	if !found {
		return nil
	}
	b := row.Build
	for _, st := range s.db.stagesOf(id) {
		b.Stages = append(b.Stages, s.viewStage(st))
	}
	return &b
}

// Stage returns a stage with its steps, by number, or nil if there is none.
func (s *Server) Stage(id int64) *api.Stage {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, found := s.db.stages[id]
	if !found {
		return nil
	}
	return s.viewStage(row)
}

func (s *Server) viewStage(row *stage) *api.Stage {
	st := row.Stage
	st.Steps = s.db.stepsOf(st.ID)
	return &st
}

// Step returns a step, or nil if there is none.
func (s *Server) Step(id int64) *api.Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, found := s.db.steps[id]
	if !found {
		return nil
	}
	step := *row
	return &step
}

// LiveLog returns all lines that the live log of a step has had, in the order in which they came.
func (s *Server) LiveLog(stepID int64) []*api.Line {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*api.Line(nil), s.db.live[stepID]...)
}

// Log returns the log that was uploaded for a step. The error tells that there is none, or what is wrong with it.
func (s *Server) Log(stepID int64) ([]*api.Line, error) {
	s.mu.Lock()
	raw, found := s.db.logs[stepID]
	s.mu.Unlock()
	if !found {
		return nil, fmt.Errorf("step %d has no log", stepID)
	}
	var lines []*api.Line
	err := json.Unmarshal(raw, &lines)
	return lines, err
}

// Card returns the card of a step, or nil if there is none.
func (s *Server) Card(stepID int64) *api.CardInput {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.db.cards[stepID]
}

// Watchers returns how many polls watch a build at this moment.
func (s *Server) Watchers(buildID int64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, id := range s.watches {
		if id == buildID {
			n++
		}
	}
	return n
}

func setDefault[T comparable](field *T, value T) {
	if *field == *new(T) {
		*field = value
	}
}
