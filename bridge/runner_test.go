package bridge

import (
	"testing"

	api "github.com/drone/drone-go/drone"

	"github.com/drone-tekton/drone-runner-tekton/bridge/dronetest"
)

const twoSteps = `kind: pipeline
type: kubernetes
name: default
steps:
- name: build
  image: golang
  commands: [go build]
- name: test
  image: golang
  commands: [go test]
  environment:
    TOKEN: {from_secret: token}
`

func TestBuildSucceeds(t *testing.T) {
	w := newWorld(t, map[string]behaviour{
		"clone": {lines: []string{"cloning"}},
		"build": {lines: []string{"one", "two"}},
		"test":  {lines: []string{"the token is hunter2hunter2"}},
	})
	w.start(nil)
	b := w.build(dronetest.Spec{Config: twoSteps, Secrets: []*api.Secret{{Name: "token", Data: "hunter2hunter2"}}})
	b = w.ended(b.ID)
	w.want("build", b.Status, api.StatusPassing)
	w.want("steps", outcomes(b), []string{"clone:success", "build:success", "test:success"})
	w.want("log of build", w.log(b, "build"), []string{"one", "two"})
	w.want("log of test", w.log(b, "test"), []string{"the token is ******"})
	w.want("started", b.Stages[0].Started > 0 && b.Stages[0].Steps[1].Started > 0, true)
	w.clean()
}
