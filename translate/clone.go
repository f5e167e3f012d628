package translate

import (
	"strconv"

	"github.com/drone/drone-yaml/yaml"

	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// DefaultCloneImage fetches the source where no other image is chosen.
const DefaultCloneImage = "drone/git:latest"

// cloneStep is the step that fetches the source: Drone's plugin for git, steered by the build's variables and the
// pipeline's clone section. The retries of the kubernetes runner are parsed and not used; here both types have them.
func cloneStep(p *drone.Pipeline, o Options) *drone.Step {
	s := &drone.Step{Name: drone.CloneName, Image: o.CloneImage, Pull: "if-not-exists", Settings: map[string]*yaml.Parameter{}}
	if p.Clone.Depth > 0 {
		s.Settings["depth"] = &yaml.Parameter{Value: p.Clone.Depth}
	}
	if p.Clone.Retries > 0 {
		s.Settings["retries"] = &yaml.Parameter{Value: p.Clone.Retries}
	}
	if p.Clone.SkipVerify {
		s.Settings["skip_verify"] = &yaml.Parameter{Value: strconv.FormatBool(true)}
	}
	return s
}

// gitVariables configure git in every step, so that a step's own git commands behave as the clone does.
func gitVariables(p *drone.Pipeline, f Facts) map[string]string {
	name, email := f.Build.AuthorName, f.Build.AuthorEmail
	if name == "" {
		name = "drone"
	}
	if email == "" {
		email = "noreply@drone"
	}
	vars := map[string]string{
		"GIT_AUTHOR_NAME":     name,
		"GIT_AUTHOR_EMAIL":    email,
		"GIT_COMMITTER_NAME":  name,
		"GIT_COMMITTER_EMAIL": email,
		"GIT_TERMINAL_PROMPT": "0",
	}
	if p.Clone.Trace {
		vars["GIT_TRACE"] = "true"
	}
	if p.Clone.SkipVerify {
		vars["GIT_SSL_NO_VERIFY"] = "true"
	}
	return vars
}
