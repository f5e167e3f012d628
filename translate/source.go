package translate

import (
	"path"
	"strings"

	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

const defaultSource = "/drone/src"

// sourcePath is where Drone puts the source. The kubernetes runner mounts its volume at workspace.path; the docker runner
// mounts it at workspace.base and works in base/path, so that files beside the source survive between steps. A path that
// would hide a part of the system is replaced by the default, as Drone does.
func sourcePath(p *drone.Pipeline) SourcePath {
	if p.IsKubernetes() {
		full := absolute(p.Workspace.Path)
		if restricted(full) {
			full = defaultSource
		}
		return SourcePath{Mount: full, Full: full}
	}
	base, dir := p.Workspace.Base, p.Workspace.Path
	switch {
	case base == "" && strings.HasPrefix(dir, "/"):
		base, dir = dir, ""
	case base == "":
		base = defaultSource
	}
	base = absolute(base)
	full := path.Join(base, dir)
	if restricted(full) {
		base, dir, full = defaultSource, "", defaultSource
	}
	return SourcePath{Mount: base, Full: full, Base: base, Path: dir}
}

func absolute(p string) string { return path.Join("/", p) }

// restrictedPaths are the folders that Drone does not let a workspace hide; those with a star cover what begins so.
var restrictedPaths = []string{
	"/", "/etc", "/etc/docker*", "/var", "/var/run*", "/proc*", "/usr/local/bin*", "/usr/local/sbin*", "/usr/bin*",
	"/bin*", "/mnt*", "/mount*", "/media*", "/sys*", "/dev*",
}

func restricted(p string) bool {
	p = strings.ToLower(path.Clean(p))
	for _, r := range restrictedPaths {
		if prefix, ok := strings.CutSuffix(r, "*"); ok && strings.HasPrefix(p, prefix) || p == r {
			return true
		}
	}
	return false
}
