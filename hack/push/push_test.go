//go:build e2e

package push

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/cluster"
	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/expect"
)

// What the tests use; TestMain sets it.
var (
	kube               *cluster.Cluster
	giteaAPI, droneAPI api
	owner              string            // of all repositories: the user of both
	image              string            // of the runner under test
	rpc                map[string]string // the variables by which a runner reaches the server

	// The suite's runners, one for each type of pipelines.
	docker, kubernetes *runner
)

// connect reads where everything is from the variables that script run sets.
func connect() (err error) {
	var missing []error
	need := func(variable string) string {
		value := os.Getenv(variable)
		if value == "" {
			missing = append(missing, fmt.Errorf("%s is not set; hack/push/run sets it", variable))
		}
		return value
	}
	image, owner = need("RUNNER_IMAGE"), need("GITEA_USER")
	password, token := need("GITEA_PASSWORD"), need("DRONE_TOKEN")
	giteaAPI = api{need("GITEA_URL") + "/api/v1", func(r *http.Request) { r.SetBasicAuth(owner, password) }}
	droneAPI = api{need("DRONE_SERVER"), func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }}
	rpc = map[string]string{}
	for _, variable := range []string{"DRONE_RPC_PROTO", "DRONE_RPC_HOST", "DRONE_RPC_SECRET"} {
		rpc[variable] = need(variable)
	}
	if len(missing) > 0 {
		return errors.Join(missing...)
	}
	kube, err = cluster.Connect()
	return err
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	complain := func(err error) {
		fmt.Fprintln(os.Stderr, "push:", err)
		code = 1
	}
	if err := connect(); err != nil {
		complain(err)
		return code
	}
	var starts sync.WaitGroup
	for _, s := range []struct {
		is *(*runner)
		settings
	}{
		{&docker, settings{kind: "docker"}},
		// Two replicas that share the stages.
		{&kubernetes, settings{kind: "kubernetes", replicas: 2, env: map[string]string{"DRONE_TEKTON_BUCKETS": "4"}}},
	} {
		starts.Go(func() {
			r, err := deploy(context.Background(), s.settings)
			if *s.is = r; err != nil {
				complain(fmt.Errorf("starting the runner for type %s: %w", s.kind, err))
			}
		})
	}
	starts.Wait()
	if code == 0 {
		code = m.Run()
	}
	for _, r := range []*runner{docker, kubernetes} {
		if r == nil {
			continue
		}
		for _, fault := range r.end(context.Background()) {
			complain(errors.New(fault))
		}
	}
	return code
}

// runnerFor is the suite's runner for the type of a pipeline.
func runnerFor(source []byte) *runner {
	if strings.Contains(string(source), "\ntype: kubernetes\n") {
		return kubernetes
	}
	return docker
}

// TestCases starts a build of each pipeline of testdata/push in the way that its expectation says.
func TestCases(t *testing.T) {
	cases, err := expect.Cases("../../testdata/push", cluster.Surrounded)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			r := runnerFor(c.Source)
			r.given(t, c.Given)
			check(newRepo(t, c.Repository).start(c.Event, r.claim(c.Source)), c)
		})
	}
}

func check(b *build, c expect.Case) {
	b.t.Helper()
	if len(c.Stages) > 0 {
		b.checkStages(c.Result, c.Stages)
	} else {
		b.check(c.Stage)
	}
}
