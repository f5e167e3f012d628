package drone

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// maxNameLength is the longest name of a step that Drone's runners take, in characters.
const maxNameLength = 100

// Lint checks a pipeline by the rules of the linter of Drone's runner for its type. Repositories that an administrator
// of Drone has marked as trusted may do more.
func Lint(p *Pipeline, trusted bool) diag.List {
	l := linter{pipeline: p, trusted: trusted}
	l.volumes()
	l.steps()
	if p.IsKubernetes() {
		l.limits()
	}
	return l.list
}

// lintManifest checks what Drone's server checks: the names of pipelines and what they depend on.
func lintManifest(m *Manifest) diag.List {
	return nil
}

type linter struct {
	pipeline *Pipeline
	trusted  bool
	list     diag.List
}

func (l *linter) errorf(pos diag.Position, code diag.Code, hint, format string, args ...any) {
	l.list.Add(diag.Diagnostic{
		Severity: diag.Error, Code: code, Position: pos, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// steps checks services and steps in the order in which Drone's runners do: a service counts as declared before any step.
func (l *linter) steps() {
	names := map[string]bool{}
	if !l.pipeline.Clone.Disable {
		names[CloneName] = true
	}
	for _, s := range l.pipeline.Services {
		l.step(s, "service", names)
	}
	for _, s := range l.pipeline.Steps {
		l.step(s, "step", names)
	}
}

func (l *linter) step(s *Step, noun string, names map[string]bool) {
	switch {
	case s.Name == "" && noun == "step":
		l.errorf(s.At(""), CodeStepName, "add a name", "the step has no name")
	case utf8.RuneCountInString(s.Name) > maxNameLength:
		l.errorf(s.At("name"), CodeStepName, "shorten it", "the name is longer than %d characters", maxNameLength)
	case names[s.Name] && s.Name == CloneName:
		l.errorf(s.At("name"), CodeDuplicateName, "rename it, or set clone.disable: true",
			"the name clone is taken by the step that fetches the source")
	case names[s.Name]:
		l.errorf(s.At("name"), CodeDuplicateName, "give each step and service a name of its own",
			"the name %q is used twice", s.Name)
	}
	if s.Image == "" {
		l.errorf(s.At(""), CodeImage, "add an image", "the %s %q has no image", noun, s.Name)
	}
	for i, name := range s.DependsOn {
		pos := s.At(fmt.Sprintf("depends_on.%d", i))
		switch {
		case name == s.Name:
			l.errorf(pos, CodeDependency, "remove it", "the step %q depends on itself", name)
		case name == CloneName && l.pipeline.Clone.Disable && !names[CloneName]:
			l.errorf(pos, CodeDependency, "remove it", "there is no step clone, because cloning is disabled")
		case !names[name]:
			l.errorf(pos, CodeDependency, "name a step that stands before this one",
				"the step %q depends on %q, and no step of this name stands before it", s.Name, name)
		}
	}
	names[s.Name] = true
	l.mounts(s)
	if !l.trusted {
		l.privileges(s)
	}
}

// privileges refuses what Drone allows to trusted repositories only.
func (l *linter) privileges(s *Step) {
	refuse := func(key string, used bool) {
		if used {
			l.untrusted(s.At(key), key)
		}
	}
	refuse("privileged", s.Privileged)
	if l.pipeline.IsKubernetes() {
		return
	}
	refuse("devices", len(s.Devices) > 0)
	refuse("dns", len(s.DNS) > 0)
	refuse("dns_search", len(s.DNSSearch) > 0)
	refuse("extra_hosts", len(s.ExtraHosts) > 0)
	refuse("network_mode", s.Network != "")
	refuse("shm_size", s.ShmSize > 0)
}

func (l *linter) untrusted(pos diag.Position, what string) {
	l.errorf(pos, CodeUntrusted, "ask an administrator of Drone to trust the repository",
		"%s is allowed to trusted repositories only", what)
}

func (l *linter) reserved(name string, own string) bool {
	names := []string{"workspace", "_workspace", "_docker_socket"}
	if l.pipeline.IsKubernetes() {
		names = append(names, own)
	}
	return slices.Contains(names, name)
}

func (l *linter) mounts(s *Step) {
	for i, v := range s.Volumes {
		if v == nil {
			continue
		}
		at := fmt.Sprintf("volumes.%d", i)
		declared := slices.ContainsFunc(l.pipeline.Volumes, func(d *Volume) bool { return d != nil && d.Name == v.Name })
		switch {
		case l.reserved(v.Name, "_status"):
			l.errorf(s.At(at+".name"), CodeVolume, "rename it", "the volume name %q is reserved", v.Name)
		case !declared:
			l.errorf(s.At(at+".name"), CodeVolume, "declare it under volumes of the pipeline",
				"the volume %q is mounted but not declared; Drone would silently leave it out", v.Name)
		}
		if dir := path.Clean(v.Path); dir == "/run/drone" || strings.HasPrefix(dir, "/run/drone/") {
			l.errorf(s.At(at+".path"), CodeVolume, "mount it elsewhere", "no volume may be mounted under /run/drone")
		}
	}
}

func (l *linter) volumes() {
	for _, v := range l.pipeline.Volumes {
		switch {
		case v == nil:
			continue
		case v.Name == "":
			l.errorf(v.At(""), CodeVolume, "add a name", "the volume has no name")
		case l.reserved(v.Name, "_status") || l.reserved(v.Name, "_addons"):
			l.errorf(v.At("name"), CodeVolume, "rename it", "the volume name %q is reserved", v.Name)
		}
		if l.trusted {
			continue
		}
		switch {
		case v.Temp != nil && v.Temp.Medium == "memory":
			l.untrusted(v.At("temp.medium"), "a temp volume in memory")
		case v.Host != nil:
			l.untrusted(v.At("host"), "a host volume")
		case !l.pipeline.IsKubernetes():
		case v.Claim != nil:
			l.untrusted(v.At("claim"), "a claim volume")
		case v.ConfigMap != nil:
			l.untrusted(v.At("config_map"), "a config_map volume")
		case v.Secret != nil:
			l.untrusted(v.At("secret"), "a secret volume")
		}
	}
}

// limits refuses limits of a whole pipeline, as Drone's kubernetes runner does.
func (l *linter) limits() {
	r := l.pipeline.Resources.Limits
	if r.CPU != 0 || r.Memory != 0 {
		l.errorf(l.pipeline.At("resources.limits"), CodeResources, "set resources.limits on steps, resources.requests on the pipeline",
			"a pipeline cannot have resources.limits")
	}
}
