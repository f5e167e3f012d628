//go:build e2e

package push

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/cluster"
	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/expect"
)

// TestPipelines pushes the pipelines of testdata/e2e, each in the first layout of its expectation. What differs on a Drone
// server is in the expectation under drone.
func TestPipelines(t *testing.T) {
	cases, err := expect.Cases("../../testdata/e2e", cluster.Surrounded)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		name := c.Name
		if layout := c.Layouts[0]; layout != "steps" {
			name += "-" + layout
		}
		t.Run(name, func(t *testing.T) {
			if !strings.HasSuffix(c.File, ".yml") {
				t.Skip("the server takes YAML alone")
			}
			settings, secrets, ok := setUp(c)
			if !ok {
				t.Skipf("a push cannot have what flags give: %s", strings.Join(c.Convert, " "))
			}
			t.Parallel()
			r := runnerFor(c.Source)
			r.given(t, slices.DeleteFunc(c.Given, func(object map[string]any) bool {
				o := unstructured.Unstructured{Object: object}
				if o.GetKind() != "Secret" || o.GetName() != secrets {
					return false
				}
				if settings.Secrets == nil {
					settings.Secrets, _, _ = unstructured.NestedStringMap(object, "stringData")
				}
				return true
			}))
			newRepo(t, settings).push(r.claim(c.Source)).check(c.OnDrone())
		})
	}
}

// setUp is what flags of the command stand for on a server: how a repository is set up, and that its secrets are those of
// one Secret, unless the expectation has them otherwise. Other flags are facts of a build, which come from the push here.
func setUp(c expect.Case) (s expect.Repository, secrets string, ok bool) {
	s, secrets = c.Repository, "drone-secrets"
	for _, flag := range c.Convert {
		name, value, _ := strings.Cut(flag, "=")
		switch name {
		case "--trusted":
			s.Trusted = true
		case "--secret-name":
			secrets = value
		default:
			return s, "", false
		}
	}
	return s, secrets, true
}

// given creates objects that pipelines need beside the repository's secrets.
func (r *runner) given(t *testing.T, objects []map[string]any) {
	t.Helper()
	for _, o := range objects {
		kube.Create(t, r.namespace, &unstructured.Unstructured{Object: o})
	}
}
