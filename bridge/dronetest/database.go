package dronetest

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	api "github.com/drone/drone-go/drone"
)

// The texts are those of the real server, with SQLite.
var (
	//lint:ignore ST1005 the real server writes it so
	errOptimisticLock = errors.New("Optimistic Lock Error")
	errNoRows         = errors.New("sql: no rows in result set")
	errStepExists     = errors.New("UNIQUE constraint failed: steps.step_stage_id, steps.step_number")
	errLogExists      = errors.New("UNIQUE constraint failed: logs.log_id")
)

// stage is a stage on the wire. In the database it has no steps, they have a table of their own.
type stage struct {
	api.Stage
	RepoID int64 `json:"repo_id"`
}

// build is a build and what the server looks up elsewhere for it.
type build struct {
	api.Build
	config  string
	secrets []*api.Secret
	netrc   *api.Netrc
}

// database has rows by id. Rows are not changed in place by those who got one: they update.
type database struct {
	repos  map[int64]*api.Repo
	builds map[int64]*build
	stages map[int64]*stage
	steps  map[int64]*api.Step
	logs   map[int64][]byte
	live   map[int64][]*api.Line // All lines that a live log has ever had.
	cards  map[int64]*api.CardInput

	failConfig error
}

func newDatabase() database {
	return database{
		repos:  map[int64]*api.Repo{},
		builds: map[int64]*build{},
		stages: map[int64]*stage{},
		steps:  map[int64]*api.Step{},
		logs:   map[int64][]byte{},
		live:   map[int64][]*api.Line{},
		cards:  map[int64]*api.CardInput{},
	}
}

func now() int64 { return time.Now().Unix() }

// updateStage writes the columns that an update writes, and raises the version, in in too.
func (db *database) updateStage(in *stage) error {
	row, ok := db.stages[in.ID]
	if !ok || row.Version != in.Version {
		return errOptimisticLock
	}
	in.Version++
	updated := *row
	updated.Status, updated.Error, updated.ErrIgnore, updated.ExitCode = in.Status, in.Error, in.ErrIgnore, in.ExitCode
	updated.OS, updated.Arch, updated.Variant, updated.Kernel = in.OS, in.Arch, in.Variant, in.Kernel
	updated.Machine, updated.Labels, updated.DependsOn = in.Machine, maps.Clone(in.Labels), slices.Clone(in.DependsOn)
	updated.Started, updated.Stopped, updated.Created, updated.Updated = in.Started, in.Stopped, in.Created, in.Updated
	updated.OnSuccess, updated.OnFailure, updated.Version = in.OnSuccess, in.OnFailure, in.Version
	db.stages[in.ID] = &updated
	return nil
}

// insertStep gives the step an id and the version 1.
func (db *database) insertStep(in *api.Step) error {
	in.Version = 1
	for _, row := range db.steps {
		if row.StageID == in.StageID && row.Number == in.Number {
			return errStepExists
		}
	}
	in.ID = int64(len(db.steps)) + 1
	row := *in
	db.steps[in.ID] = &row
	return nil
}

// updateStep writes the columns that an update writes, and raises the version, in in too.
func (db *database) updateStep(in *api.Step) error {
	row, ok := db.steps[in.ID]
	if !ok || row.Version != in.Version {
		return errOptimisticLock
	}
	in.Version++
	updated := *in
	updated.StageID, updated.Number = row.StageID, row.Number
	db.steps[in.ID] = &updated
	return nil
}

// stagesOf returns copies of the stages of a build, in order.
func (db *database) stagesOf(buildID int64) []*stage {
	return db.find(func(s *stage) bool { return s.BuildID == buildID })
}

// unfinished returns copies of the stages that are pending or running, oldest first.
func (db *database) unfinished() []*stage {
	return db.find(func(s *stage) bool { return s.Status == api.StatusPending || s.Status == api.StatusRunning })
}

func (db *database) find(match func(*stage) bool) []*stage {
	var found []*stage
	for _, row := range db.stages {
		if match(row) {
			s := *row
			found = append(found, &s)
		}
	}
	slices.SortFunc(found, func(a, b *stage) int { return cmp.Compare(a.ID, b.ID) })
	return found
}

// stepsOf returns copies of the steps of a stage, by number.
func (db *database) stepsOf(stageID int64) []*api.Step {
	var found []*api.Step
	for _, row := range db.steps {
		if row.StageID == stageID {
			s := *row
			found = append(found, &s)
		}
	}
	slices.SortFunc(found, func(a, b *api.Step) int { return cmp.Compare(a.Number, b.Number) })
	return found
}

// cut shortens an error as the server does, by bytes.
func cut(text string) string { return text[:min(len(text), 500)] }
