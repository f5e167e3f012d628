package dronetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	api "github.com/drone/drone-go/drone"
)

var ok = answer{status: http.StatusOK}

// reply answers with JSON.
func reply(v any) answer {
	b, err := json.Marshal(v)
	if err != nil {
		return fail(err)
	}
	return answer{http.StatusOK, append(b, '\n')}
}

// decode reads the first value of a body, as the server does.
func decode(body []byte, v any) error { return json.NewDecoder(bytes.NewReader(body)).Decode(v) }

func (s *Server) ping(context.Context, Call) answer { return ok }

func (s *Server) request(ctx context.Context, c Call) answer {
	w := &waiter{got: make(chan *stage, 1)}
	if err := decode(c.Body, &w.filter); err != nil {
		return fail(err)
	}
	s.mu.Lock()
	s.queue.waiters = append(s.queue.waiters, w)
	s.offer()
	s.notify()
	s.mu.Unlock()
	err := s.poll(ctx, func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case got := <-w.got:
			w.got <- got
			return nil
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.remove(w)
	select {
	case got := <-w.got:
		return reply(got)
	default:
		return fail(err)
	}
}

// poll runs a wait for as long as a long poll lasts.
func (s *Server) poll(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.Poll)
	defer cancel()
	go func() {
		select {
		case <-s.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return f(ctx)
}

func (s *Server) accept(_ context.Context, c Call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, found := s.db.stages[c.ID]
	if !found {
		return fail(errNoRows)
	}
	if row.Machine != "" {
		return fail(errOptimisticLock)
	}
	accepted := *row
	accepted.Machine, accepted.Status, accepted.Updated = c.Machine, api.StatusPending, now()
	if err := s.db.updateStage(&accepted); err != nil {
		return fail(err)
	}
	s.notify()
	return reply(accepted)
}

func (s *Server) details(_ context.Context, c Call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, found := s.db.stages[c.ID]
	if !found {
		return fail(errNoRows)
	}
	if err := s.db.failConfig; err != nil {
		if !s.o.Old {
			broken := *row
			broken.Status, broken.Error, broken.Stopped = api.StatusError, cut(err.Error()), now()
			_ = s.db.updateStage(&broken)
			_ = s.teardown(&broken)
			s.notify()
		}
		return fail(err)
	}
	b := s.db.builds[row.BuildID]
	type buildWithStages struct {
		api.Build
		Stages []*stage `json:"stages,omitempty"`
	}
	type config struct{ Data, Hash []byte }
	var secrets []*api.Secret
	for _, secret := range b.secrets {
		if secret.PullRequest || b.Event != api.EventPullRequest {
			secrets = append(secrets, secret)
		}
	}
	return reply(struct {
		Repo    *api.Repo       `json:"repository"`
		Build   buildWithStages `json:"build"`
		Stage   *stage          `json:"stage"`
		Config  config          `json:"config"`
		Secrets []*api.Secret   `json:"secrets"`
		System  api.System      `json:"system"`
		Netrc   *api.Netrc      `json:"netrc"`
	}{
		Repo:    s.db.repos[b.RepoID],
		Build:   buildWithStages{b.Build, s.db.stagesOf(b.ID)},
		Stage:   row,
		Config:  config{Data: []byte(b.config)},
		Secrets: secrets,
		System:  api.System{Proto: "https", Host: "drone.example.com", Link: "https://drone.example.com", Version: "2.28.1"},
		Netrc:   b.netrc,
	})
}

func (s *Server) updateStage(_ context.Context, c Call) answer {
	in := new(stage)
	if err := decode(c.Body, in); err != nil {
		return fail(err)
	}
	for _, step := range in.Steps {
		s.forget(step)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.notify()
	if _, found := s.db.builds[in.BuildID]; !found {
		return fail(errNoRows)
	}
	do := s.teardown
	if in.Status == api.StatusPending || in.Status == api.StatusRunning {
		do = s.setup
	}
	if err := do(in); err != nil {
		return fail(err)
	}
	return reply(in)
}

// setup begins a stage.
func (s *Server) setup(in *stage) error {
	in.Error = cut(in.Error)
	in.Updated = now()
	if err := s.db.updateStage(in); err != nil {
		return err
	}
	for _, step := range in.Steps {
		step.Error = cut(step.Error)
		if err := s.db.insertStep(step); err != nil {
			return err
		}
	}
	if b := s.db.builds[in.BuildID]; b.Status == api.StatusPending {
		b.Status, b.Started, b.Updated = api.StatusRunning, now(), now()
		b.Version++
	}
	return nil
}

// teardown ends a stage, and the build with the last one.
func (s *Server) teardown(in *stage) error {
	for _, step := range in.Steps {
		step.Error = cut(step.Error)
		if err := s.db.updateStep(step); err != nil {
			return err
		}
	}
	in.Error = cut(in.Error)
	in.Updated = now()
	if err := s.db.updateStage(in); err != nil {
		return err
	}
	for _, step := range in.Steps {
		delete(s.streams, step.ID)
	}
	s.downstream(in.BuildID)
	s.endBuild(in.BuildID)
	return nil
}

// downstream skips or schedules the stages that wait and need wait no longer. It looks at whether any stage has
// failed, not at the dependencies alone.
func (s *Server) downstream(buildID int64) {
	failed := false
	for _, st := range s.db.stagesOf(buildID) {
		switch st.Status {
		case api.StatusFailing, api.StatusKilled, api.StatusError:
			failed = true
		}
	}
	ready := func(st *stage) bool {
		for _, name := range st.DependsOn {
			for _, other := range s.db.stagesOf(buildID) {
				if other.Name == name && !done(other.Status) {
					return false
				}
			}
		}
		return true
	}
	for _, st := range s.db.stagesOf(buildID) {
		if skip := failed && !st.OnFailure || !failed && !st.OnSuccess; skip &&
			st.Status == api.StatusWaiting && ready(st) {
			st.Status, st.Started, st.Stopped = api.StatusSkipped, now(), now()
			_ = s.db.updateStage(st) // It has just been read.
		}
	}
	for _, st := range s.db.stagesOf(buildID) {
		if st.Status == api.StatusWaiting && len(st.DependsOn) > 0 && ready(st) {
			st.Status, st.Updated = api.StatusPending, now()
			_ = s.db.updateStage(st) // It has just been read.
			s.offer()
		}
	}
}

// endBuild ends a build that has no stage left to run.
func (s *Server) endBuild(buildID int64) {
	status := api.StatusPassing
	for _, st := range s.db.stagesOf(buildID) {
		if !done(st.Status) || st.Status == api.StatusDeclined {
			return
		}
		switch st.Status {
		case api.StatusKilled, api.StatusFailing, api.StatusError:
			if status == api.StatusPassing {
				status = st.Status
			}
		}
	}
	b := s.db.builds[buildID]
	b.Status, b.Finished = status, now()
	if b.Started == 0 {
		b.Started = b.Finished
	}
	b.Version++
}

func (s *Server) updateStep(_ context.Context, c Call) answer {
	in := new(api.Step)
	if err := decode(c.Body, in); err != nil {
		return fail(err)
	}
	s.forget(in)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.notify()
	in.Error = cut(in.Error)
	if in.Status == api.StatusPending || in.Status == api.StatusRunning {
		s.streams[in.ID] = true
		if err := s.db.updateStep(in); err != nil {
			return fail(err)
		}
		return reply(in)
	}
	err := s.db.updateStep(in)
	delete(s.streams, in.ID)
	if err != nil {
		// The server collects the errors of this update, so that none is recognised any more.
		//lint:ignore ST1005 the real server writes it so
		return fail(fmt.Errorf("1 error occurred:\n\t* %s\n\n", err))
	}
	return reply(in)
}

// forget drops what an old server does not know of a step.
func (s *Server) forget(step *api.Step) {
	if s.o.Old {
		step.Image, step.DependsOn, step.Detached, step.Schema = "", nil, false, ""
	}
}

func (s *Server) watch(ctx context.Context, c Call) answer {
	cancelled := make(chan struct{})
	s.mu.Lock()
	s.watches[cancelled] = c.ID
	s.notify()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watches, cancelled)
		s.notify()
	}()
	err := s.poll(ctx, func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-cancelled:
			return nil
		}
	})
	if err != nil {
		return fail(err)
	}
	return ok
}

func (s *Server) batch(_ context.Context, c Call) answer {
	var lines []*api.Line
	if err := decode(c.Body, &lines); err != nil {
		return fail(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range lines {
		if !s.streams[c.ID] {
			return fail(errors.New("stream: not found"))
		}
		s.db.live[c.ID] = append(s.db.live[c.ID], line)
	}
	s.notify()
	return ok
}

func (s *Server) upload(_ context.Context, c Call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, exists := s.db.logs[c.ID]; exists && !s.o.LogBucket {
		return fail(errLogExists)
	}
	s.db.logs[c.ID] = c.Body
	s.notify()
	return ok
}

func (s *Server) card(_ context.Context, c Call) answer {
	card := new(api.CardInput)
	if err := decode(c.Body, card); err != nil {
		return answer{http.StatusBadRequest, []byte(err.Error())}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.db.cards[c.ID] = card
	s.notify()
	return ok
}

// page is what people see of a build, with all stages and steps. It needs no credentials where the repository is public,
// and is not to be had with those of runners where it is not.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	call := s.begin(Call{Method: Page, Header: r.Header})
	a, drop := s.serve(r.Context(), call, func(context.Context, Call) answer {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, b := range s.db.builds {
			repo := s.db.repos[b.RepoID]
			if repo.Slug == r.PathValue("owner")+"/"+r.PathValue("name") && strconv.FormatInt(b.Number, 10) == r.PathValue("number") {
				if repo.Visibility != "public" {
					return answer{http.StatusUnauthorized, []byte(`{"message":"Unauthorized"}`)}
				}
				return reply(s.view(b.ID))
			}
		}
		return answer{http.StatusNotFound, []byte(`{"message":"Not Found"}`)}
	})
	s.write(w, r, call, a, drop)
}
