package translate

import (
	"slices"
	"strings"

	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// privilegedPlugins are the images that Drone's runners start privileged by themselves.
var privilegedPlugins = []string{
	"plugins/docker", "plugins/acr", "plugins/ecr", "plugins/gar", "plugins/gcr", "plugins/heroku",
}

// guardedVariables would let a step steer what a privileged image does.
var guardedVariables = []string{"XDG_RUNTIME_DIR", "DOCKER_OPTS", "DOCKER_HOST", "PATH", "HOME"}

// privileged reports whether a step runs privileged: because it says so (the linter has refused that to repositories that
// are not trusted), or because its image is one of Drone's plugins that build images, and the step does nothing that
// would let it use the privilege for something else. In the second case, reason says why a listed image does not get it.
func privileged(s *drone.Step, extra []string) (yes bool, reason string) {
	if s.Privileged {
		return true, ""
	}
	image := familiar(s.Image)
	if !slices.ContainsFunc(slices.Concat(privilegedPlugins, extra), func(p string) bool { return familiar(p) == image }) {
		return false, ""
	}
	switch {
	case len(s.Commands) > 0:
		return false, "it has commands"
	case len(s.Command) > 0:
		return false, "it has a command"
	case len(s.Entrypoint) > 0:
		return false, "it has an entrypoint"
	case len(s.Volumes) > 0:
		return false, "it mounts volumes"
	}
	for name := range s.Environment {
		if slices.Contains(guardedVariables, strings.ToUpper(name)) {
			return false, "it sets the variable " + name
		}
	}
	return true, ""
}

// familiar is an image's name without tag and digest, and without the parts that stand for Docker Hub.
func familiar(image string) string {
	name, _, _ := strings.Cut(image, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name = name[:i]
	}
	for _, hub := range []string{"docker.io/", "index.docker.io/"} {
		name = strings.TrimPrefix(name, hub)
	}
	return strings.TrimPrefix(name, "library/")
}

// tagged reports whether an image is named by the tag latest, or by none, which means the same.
func latest(image string) bool {
	if strings.Contains(image, "@") {
		return false
	}
	i := strings.LastIndexByte(image, ':')
	return i <= strings.LastIndexByte(image, '/') || image[i+1:] == "latest"
}
