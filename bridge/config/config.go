// Package config reads the runner's settings from variables, those of Drone's kubernetes runner and a few of its own. A
// variable that this runner cannot honour is an error that names what replaces it: a setting that is silently ignored
// may have been there to keep somebody out.
package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	api "github.com/drone/drone-go/drone"

	"github.com/drone-tekton/drone-runner-tekton/bridge"
	"github.com/drone-tekton/drone-runner-tekton/bridge/compile"
	"github.com/drone-tekton/drone-runner-tekton/bridge/extension"
	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
	"github.com/drone-tekton/drone-runner-tekton/bridge/web"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// Config is all settings.
type Config struct {
	Runner bridge.Options
	Server rpc.Options
	Web    web.Options

	Debug      bool
	Dump       bool   // calls to the server are shown
	Kubeconfig string // empty is the cluster that the process runs in
	QPS        float32
	Burst      int

	// Notes are remarks on variables that have no effect here and need none.
	Notes []string
}

// settings are the variables' values, as far as they are parts of something else.
type settings struct {
	*Config
	compile.Compiler
	proto, host  string
	files        Files
	environ      map[string]string
	secrets      map[string]string
	registries   []*api.Registry
	secretPlugin extension.Endpoint
	registryPlug extension.Endpoint
	environPlug  extension.Endpoint
	uiDisabled   bool
	namespaces   []string
}

// Files reads a file.
type Files func(name string) ([]byte, error)

// Load reads the settings. All that is wrong is in the error, a line each. hostname names the runner where nothing else
// does.
func Load(env map[string]string, files Files, hostname string) (*Config, error) {
	s := &settings{Config: &Config{}, files: files, environ: map[string]string{}, secrets: map[string]string{}}
	s.Runner.Machine = hostname
	var problems []error
	read := map[string]bool{}
	for _, v := range variables {
		read[v.Name] = true
		value, given := env[v.Name]
		given = given && value != "" && !(v.Name == "DRONE_SERVER_PORT" && strings.Contains(value, "://"))
		switch {
		case given && v.Instead != "" && (v.refuses == nil || v.refuses(value)):
			problems = append(problems, fmt.Errorf("%s is not supported: %s", v.Name, v.Instead))
			continue
		case given && v.set == nil:
			s.Notes = append(s.Notes, v.Name+" has no effect: "+v.Help)
			continue
		case !given && v.Required:
			problems = append(problems, fmt.Errorf("%s is required: %s", v.Name, v.Help))
			continue
		case !given && v.Default == "" || v.set == nil:
			continue
		case !given:
			value = v.Default
		}
		if err := v.set(s, value); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", v.Name, err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if strings.HasPrefix(name, "DRONE_") && !read[name] && !isServiceLink(name) {
			s.Notes = append(s.Notes, name+" is not known here, and has no effect")
		}
	}
	if len(problems) == 0 {
		problems = s.checkStorage()
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return s.finish(env)
}

// checkStorage finds settings with which no run could be planned: the runner's own, else those of a policy above them.
func (s *settings) checkStorage() []error {
	own := s.Options.Workspace
	var problems []error
	for _, p := range workspace.Problems(own) {
		name := map[string]string{"layout": "DRONE_TEKTON_LAYOUT", "spread": "DRONE_TEKTON_SPREAD"}[p.Topic]
		if name == "" {
			name = "DRONE_TEKTON_ACCESS_MODE"
		}
		problems = append(problems, fmt.Errorf("%s: %s", name, p.Text))
	}
	if len(problems) > 0 {
		return problems
	}
	if err := s.Policies.Fit(own).Err(); err != nil {
		problems = append(problems, fmt.Errorf("DRONE_POLICY_FILE: the policies do not go with the DRONE_TEKTON_ variables:\n%w", err))
	}
	if own.Spread && own.Layout == workspace.Pod {
		s.Notes = append(s.Notes, "DRONE_TEKTON_SPREAD has no effect in DRONE_TEKTON_LAYOUT=pod: one pod is on one node")
	}
	return problems
}

// isServiceLink reports whether Kubernetes made a variable for a Service named drone or drone-something.
func isServiceLink(name string) bool {
	return strings.Contains(name, "_SERVICE_") || strings.HasSuffix(name, "_PORT") || strings.Contains(name, "_PORT_")
}

// finish puts together what depends on several variables.
func (s *settings) finish(env map[string]string) (*Config, error) {
	s.Server.Server = s.proto + "://" + s.host
	for _, name := range proxies {
		if value := env[name]; value != "" {
			s.environ[name] = value
		}
	}
	s.Options.Environment = s.environ
	if len(s.secrets) > 0 || s.secretPlugin.URL != "" {
		s.Secrets = extension.NewSecrets(s.secrets, s.secretPlugin)
	}
	var registries compile.Merged
	if len(s.registries) > 0 {
		registries = append(registries, compile.Static(s.registries))
	}
	if s.registryPlug.URL != "" {
		registries = append(registries, extension.NewRegistries(s.registryPlug))
	}
	if len(registries) > 0 {
		s.Registries = registries
	}
	if s.environPlug.URL != "" {
		s.Environment = extension.NewEnvironment(s.environPlug)
	}
	s.Runner.Namespace = s.Options.Namespace
	s.Runner.Namespaces = s.workIn()
	s.Access.Namespaces = s.Runner.Namespaces
	if s.uiDisabled || s.Web.Password == "" {
		s.Web.User, s.Web.Password = "", ""
	}
	c := s.Compiler
	s.Runner.Compiler = &c
	return s.Config, nil
}

// workIn are the namespaces that pipelines can come to run in; none means all. Each needs the runner's permissions.
func (s *settings) workIn() []string {
	if slices.Contains(s.namespaces, "*") {
		return nil
	}
	all := append([]string{s.Options.Namespace}, s.namespaces...)
	all = append(all, s.Access.Ruled()...)
	for _, p := range s.Policies {
		if p.Metadata.Namespace != "" {
			all = append(all, p.Metadata.Namespace)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// proxies are variables that every step gets from the runner's own environment, as with Drone's runners.
var proxies = []string{"http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}
