// Package extension asks Drone's extensions for secrets, credentials of registries and variables, over HTTP with signed
// requests.
package extension

import (
	"context"
	"fmt"
	"strings"
	"time"

	api "github.com/drone/drone-go/drone"
	"github.com/drone/drone-go/plugin/environ"
	"github.com/drone/drone-go/plugin/registry"
	"github.com/drone/drone-go/plugin/secret"

	"github.com/drone-tekton/drone-runner-tekton/bridge/compile"
)

// timeout is how long an extension may take, as in Drone.
const timeout = time.Minute

// Endpoint is where an extension is.
type Endpoint struct {
	URL        string
	Token      string // shared with the extension, to sign requests
	SkipVerify bool
}

// Secrets are the runner's own secrets by name, and behind them an extension, which has those that a document of kind
// secret says to get. The runner's own are for no pull request.
type Secrets struct {
	Own map[string]string
	ask secret.Plugin
}

// NewSecrets returns the secrets; the endpoint's URL may be empty.
func NewSecrets(own map[string]string, e Endpoint) *Secrets {
	s := &Secrets{Own: own}
	if e.URL != "" {
		s.ask = secret.Client(e.URL, e.Token, e.SkipVerify)
	}
	return s
}

// Find implements compile.Secrets.
func (s *Secrets) Find(ctx context.Context, q compile.SecretQuery) (*api.Secret, error) {
	for name, value := range s.Own {
		if strings.EqualFold(name, q.Name) && value != "" && q.Build.Event != api.EventPullRequest {
			return &api.Secret{Name: name, Data: value}, nil
		}
	}
	if s.ask == nil || q.Get == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	found, err := s.ask.Find(ctx, &secret.Request{Path: q.Get.Get.Path, Name: q.Get.Get.Name, Repo: *q.Repo, Build: *q.Build})
	switch {
	case isNone(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("asking the secret extension: %w", err)
	case found == nil || found.Data == "":
		return nil, nil
	}
	return found, nil
}

// isNone reports whether an extension answered that it has nothing.
func isNone(err error) bool {
	e, ok := err.(*api.Error)
	return ok && (e.Code == 404 || e.Code == 204)
}

// Registries asks an extension for credentials.
type Registries struct{ ask registry.Plugin }

// NewRegistries returns the registries of an extension.
func NewRegistries(e Endpoint) Registries {
	return Registries{registry.Client(e.URL, e.Token, e.SkipVerify)}
}

// List implements compile.Registries.
func (r Registries) List(ctx context.Context, repo *api.Repo, build *api.Build) ([]*api.Registry, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	list, err := r.ask.List(ctx, &registry.Request{Repo: *repo, Build: *build})
	if isNone(err) {
		return nil, nil
	}
	return list, err
}

// Environment asks an extension for variables.
type Environment struct{ ask environ.Plugin }

// NewEnvironment returns the variables of an extension.
func NewEnvironment(e Endpoint) Environment {
	return Environment{environ.Client(e.URL, e.Token, e.SkipVerify)}
}

// List implements compile.Environment.
func (v Environment) List(ctx context.Context, repo *api.Repo, build *api.Build) ([]compile.Variable, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	list, err := v.ask.List(ctx, &environ.Request{Repo: *repo, Build: *build})
	if isNone(err) {
		return nil, nil
	}
	var out []compile.Variable
	for _, found := range list {
		out = append(out, compile.Variable(*found))
	}
	return out, err
}
