package extension

import (
	"context"
	"net/http/httptest"
	"testing"

	api "github.com/drone/drone-go/drone"
	"github.com/drone/drone-go/plugin/environ"
	"github.com/drone/drone-go/plugin/registry"
	"github.com/drone/drone-go/plugin/secret"
	"github.com/google/go-cmp/cmp"

	"github.com/drone-tekton/drone-runner-tekton/bridge/compile"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

const token = "0123456789abcdef0123456789abcdef"

// plugin is an extension of all kinds, made with Drone's own package for extensions.
type plugin struct{}

func (plugin) Find(_ context.Context, r *secret.Request) (*api.Secret, error) {
	if r.Path != "vault/app" || r.Name != "key" || r.Repo.Slug != "octo/cat" {
		return nil, nil
	}
	return &api.Secret{Name: "key", Data: "value", PullRequest: true}, nil
}

type registries struct{ plugin }

func (registries) List(_ context.Context, r *registry.Request) ([]*api.Registry, error) {
	return []*api.Registry{{Address: "ghcr.io", Username: r.Repo.Slug, Password: "p"}}, nil
}

type variables struct{ plugin }

func (variables) List(_ context.Context, r *environ.Request) ([]*environ.Variable, error) {
	return []*environ.Variable{{Name: "REPO", Data: r.Repo.Slug, Mask: true}}, nil
}

func TestExtensions(t *testing.T) {
	ctx, repo, build := context.Background(), &api.Repo{Slug: "octo/cat"}, &api.Build{Event: "push"}
	s := httptest.NewServer(secret.Handler(token, plugin{}, nil))
	defer s.Close()
	r := httptest.NewServer(registry.Handler(token, registries{}, nil))
	defer r.Close()
	e := httptest.NewServer(environ.Handler(token, variables{}, nil))
	defer e.Close()

	doc := &drone.Secret{Name: "s"}
	doc.Get.Path, doc.Get.Name = "vault/app", "key"
	missing := &drone.Secret{Name: "s"}
	missing.Get.Path = "nowhere"
	pull := &api.Build{Event: api.EventPullRequest}
	secrets := NewSecrets(map[string]string{"own": "mine"}, Endpoint{URL: s.URL, Token: token})
	tests := []struct {
		name  string
		query compile.SecretQuery
		want  string
	}{
		{"from the extension", compile.SecretQuery{Name: "s", Get: doc, Repo: repo, Build: build}, "value"},
		{"not there", compile.SecretQuery{Name: "s", Get: missing, Repo: repo, Build: build}, ""},
		{"not asked for without a document", compile.SecretQuery{Name: "s", Repo: repo, Build: build}, ""},
		{"the runner's own", compile.SecretQuery{Name: "OWN", Repo: repo, Build: build}, "mine"},
		{"not for pull requests", compile.SecretQuery{Name: "own", Repo: repo, Build: pull}, ""},
	}
	for _, tt := range tests {
		found, err := secrets.Find(ctx, tt.query)
		got := ""
		if found != nil {
			got = found.Data
		}
		if err != nil || got != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
	if _, err := NewSecrets(nil, Endpoint{URL: s.URL, Token: "wrong"}).Find(ctx, tests[0].query); err == nil {
		t.Error("an extension that refuses the signature is no error")
	}

	list, err := NewRegistries(Endpoint{URL: r.URL, Token: token}).List(ctx, repo, build)
	if diff := cmp.Diff([]*api.Registry{{Address: "ghcr.io", Username: "octo/cat", Password: "p"}}, list); diff != "" || err != nil {
		t.Errorf("registries: %v (-want +got)\n%s", err, diff)
	}
	vars, err := NewEnvironment(Endpoint{URL: e.URL, Token: token}).List(ctx, repo, build)
	if diff := cmp.Diff([]compile.Variable{{Name: "REPO", Data: "octo/cat", Mask: true}}, vars); diff != "" || err != nil {
		t.Errorf("variables: %v (-want +got)\n%s", err, diff)
	}
}
