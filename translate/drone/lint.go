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

// Lint checks a pipeline by the rules of the linter of Drone's runner for its type, and warns of what no linter of
// Drone says. Repositories that an administrator of Drone has marked as trusted may do more.
func Lint(p *Pipeline, trusted bool) diag.List {
	l := linter{
		pipeline: p, trusted: trusted,
		names: map[string]bool{}, all: map[string]bool{}, declared: map[string]bool{},
	}
	for _, s := range slices.Concat(p.Services, p.Steps) {
		l.all[s.Name] = true
	}
	l.volumes()
	l.steps()
	l.graph()
	if p.Resources.Limits != (ResourceList{}) {
		l.errorf(p.At("resources.limits"), CodeResources, "set limits on the steps, and requests on the pipeline",
			"a pipeline cannot have resources.limits; Drone refuses it")
	}
	return l.list
}

type linter struct {
	pipeline *Pipeline
	trusted  bool
	names    map[string]bool // of the services and steps so far
	all      map[string]bool // of all services and steps
	declared map[string]bool // names of volumes
	list     diag.List
}

func (l *linter) errorf(pos diag.Position, code diag.Code, hint, format string, args ...any) {
	l.list.Add(diag.Diagnostic{
		Severity: diag.Error, Code: code, Position: pos, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

func (l *linter) warnf(pos diag.Position, code diag.Code, hint, format string, args ...any) {
	l.list.Add(diag.Diagnostic{
		Severity: diag.Warning, Code: code, Position: pos, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// steps checks services and steps in the order in which Drone's runners do: services count as declared before any step.
func (l *linter) steps() {
	if len(l.pipeline.Steps) == 0 {
		l.warnf(l.pipeline.At("steps"), CodeStepName, "add steps", "the pipeline has no steps")
	}
	l.names[CloneName] = !l.pipeline.Clone.Disable
	for _, s := range l.pipeline.Services {
		if s.Name == "" {
			l.warnf(s.At(""), CodeStepName, "add a name", "the service has no name, so no step can reach it by one")
		}
		l.step(s, "service")
	}
	for _, s := range l.pipeline.Steps {
		if s.Name == "" {
			l.errorf(s.At(""), CodeStepName, "add a name", "the step has no name; Drone refuses it")
		}
		l.step(s, "step")
	}
}

func (l *linter) step(s *Step, noun string) {
	l.name(s)
	if s.Image == "" {
		l.errorf(s.At(""), CodeImage, "add an image", "the %s %q has no image; Drone refuses it", noun, s.Name)
	}
	l.dependencies(s)
	l.names[s.Name] = true
	l.mounts(s)
	if !l.trusted {
		l.privileges(s)
	}
}

func (l *linter) name(s *Step) {
	switch {
	case utf8.RuneCountInString(s.Name) > maxNameLength:
		l.errorf(s.At("name"), CodeStepName, "shorten it",
			"the name has more than %d characters; Drone refuses it", maxNameLength)
	case !l.names[s.Name]:
	case s.Name == CloneName && !l.pipeline.Clone.Disable:
		l.errorf(s.At("name"), CodeDuplicateName, "rename it, or set clone.disable: true",
			"the name clone belongs to the step that fetches the source")
	default:
		l.errorf(s.At("name"), CodeDuplicateName, "give every step and service a name of its own",
			"the name %q is used twice; Drone refuses that", s.Name)
	}
}

// dependencies checks that a step depends on what stands before it. So cycles cannot be.
func (l *linter) dependencies(s *Step) {
	for i, name := range s.DependsOn {
		refuse := func(hint, format string, args ...any) {
			l.errorf(s.At(fmt.Sprintf("depends_on.%d", i)), CodeDependency, hint, format, args...)
		}
		switch {
		case name == s.Name:
			refuse("remove it", "the step %q depends on itself; Drone refuses that", name)
		case l.names[name]:
		case name == CloneName:
			refuse("remove it", "there is no step clone to depend on, because cloning is disabled")
		case l.all[name]:
			refuse(fmt.Sprintf("move %q before it", name),
				"the step %q depends on %q, which stands after it; Drone refuses that", s.Name, name)
		default:
			refuse("correct the name"+nearest(name, l.names),
				"the step %q depends on %q, and there is no such step; Drone refuses that", s.Name, name)
		}
	}
}

// mounts checks the mounts of a step.
func (l *linter) mounts(s *Step) {
	for i, v := range s.Volumes {
		at := fmt.Sprintf("volumes.%d", i)
		switch {
		case l.reserved(v.Name, "_status"):
			l.errorf(s.At(at+".name"), CodeVolume, "choose another name", "the volume name %q is reserved", v.Name)
		case !l.declared[v.Name]:
			l.warnf(s.At(at+".name"), CodeUndeclared, "declare it under volumes of the pipeline",
				"the volume %q is mounted and not declared; the mount is left out, as in Drone", v.Name)
		}
		switch dir := path.Clean(v.Path); {
		case v.Path == "":
			l.errorf(s.At(at), CodeVolume, "add a path", "the mount of the volume %q has no path", v.Name)
		case dir == "/run/drone" || strings.HasPrefix(dir, "/run/drone/"):
			l.errorf(s.At(at+".path"), CodeVolume, "choose another path",
				"nothing can be mounted below /run/drone, which is Drone's own")
		}
	}
}

// volumes checks the declared volumes.
func (l *linter) volumes() {
	for _, v := range l.pipeline.Volumes {
		switch {
		case v.Name == "":
			l.errorf(v.At(""), CodeVolume, "add a name", "the volume has no name; Drone refuses it")
		case l.reserved(v.Name, "_status", "_addons"):
			l.errorf(v.At("name"), CodeVolume, "choose another name", "the volume name %q is reserved", v.Name)
		case l.declared[v.Name]:
			l.errorf(v.At("name"), CodeDuplicateName, "give every volume a name of its own",
				"the volume %q is declared twice", v.Name)
		case v.Temp == nil && v.Host == nil && v.Claim == nil && v.ConfigMap == nil && v.Secret == nil:
			l.warnf(v.At(""), CodeVolume, "add temp: {}, or another kind",
				"the volume %q is of no kind that type %s has; Drone leaves it and its mounts out", v.Name, l.pipeline.Type)
		}
		l.declared[v.Name] = true
		if !l.trusted {
			l.volumeKind(v)
		}
	}
}

// reserved reports whether a volume name belongs to Drone's runners; the kubernetes runner has names of its own.
func (l *linter) reserved(name string, kubernetes ...string) bool {
	names := []string{"workspace", "_workspace", "_docker_socket"}
	return slices.Contains(names, name) || l.pipeline.IsKubernetes() && slices.Contains(kubernetes, name)
}
