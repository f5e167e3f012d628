package rpc

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// pagePatience is for how long the page is asked for. There is a way without it.
const pagePatience = 15 * time.Second

// stepsOf asks for the steps of a stage as everybody may see them who can see the build's page: runners have no call that
// tells them. It asks without credentials, since the secret of runners is none to this part of the server, so that it
// learns only of builds of public repositories. It returns nil where it learns nothing; that is no failure of the stage's.
func (c *Client) stepsOf(ctx context.Context, d *Details) []*Step {
	var build struct {
		Stages []*Stage `json:"stages"`
	}
	owner, name, _ := strings.Cut(d.Repo.Slug, "/")
	err := c.retry(ctx, CallPage, policy{lost: true, limit: min(pagePatience, c.o.RetryFor)}, func() error {
		return c.do(ctx, request{call: CallPage, id: d.Stage.ID, method: http.MethodGet, page: true,
			path: fmt.Sprintf("api/repos/%s/%s/builds/%d", owner, name, d.Build.Number), out: &build, timeout: callTimeout})
	})
	if err != nil {
		return nil
	}
	for _, stage := range build.Stages {
		if stage.ID == d.Stage.ID {
			return stage.Steps
		}
	}
	return nil
}

// inserted finds the steps of a stage among those that the server has: all of them by number and name, as they were
// inserted. Where only a part was, there is nothing to go on with.
func inserted(want, have []*Step) []*Step {
	byNumber := map[int]*Step{}
	for _, step := range have {
		byNumber[step.Number] = step
	}
	var found []*Step
	for _, step := range want {
		row := byNumber[step.Number]
		if row == nil || row.ID == 0 || row.Name != step.Name || row.Status != step.Status {
			return nil
		}
		adopted := step.Clone()
		adopted.ID, adopted.Version = row.ID, row.Version
		found = append(found, adopted)
	}
	return found
}
