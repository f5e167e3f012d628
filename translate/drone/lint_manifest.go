package drone

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// lintManifest checks what Drone's server checks before it creates a build: names of pipelines, what they depend on,
// and the platforms of docker pipelines.
func lintManifest(m *Manifest) diag.List {
	l := linter{}
	names := map[string]bool{}
	for _, p := range m.inOrder() {
		if names[p.DisplayName()] {
			l.errorf(p.At("name"), CodeDuplicateName, "give every pipeline a name of its own",
				"two pipelines have the name %q; Drone refuses that", p.DisplayName())
		}
		for i, name := range p.DependsOn {
			pos := p.At(fmt.Sprintf("depends_on.%d", i))
			switch {
			case name == p.DisplayName():
				l.errorf(pos, CodeDependency, "remove it", "the pipeline %q depends on itself; Drone refuses that", name)
			case !names[name]:
				l.errorf(pos, CodeDependency, "name a pipeline that stands before it"+nearest(name, names),
					"the pipeline %q depends on %q, and no pipeline of this name stands before it; Drone refuses that",
					p.DisplayName(), name)
			}
		}
		names[p.DisplayName()] = true
		if p.Type == TypeDocker {
			l.platform(p)
		}
	}
	return l.list
}

// platform checks the platform of a docker pipeline as Drone's server does.
func (l *linter) platform(p *Pipeline) {
	if oses := []string{"", "linux", "windows"}; !slices.Contains(oses, p.Platform.OS) {
		l.errorf(p.At("platform.os"), CodePlatform, "linux is possible"+suggestion(p.Platform.OS, oses),
			"the operating system %s is unknown to Drone, which refuses the file", p.Platform.OS)
	}
	if arches := []string{"", "amd64", "arm64", "arm"}; !slices.Contains(arches, p.Platform.Arch) {
		l.errorf(p.At("platform.arch"), CodePlatform, "amd64, arm64 and arm are possible",
			"the architecture %s is unknown to Drone, which refuses the file", p.Platform.Arch)
	}
}

// inOrder lists the pipelines in the order of the file, those that are left out as pipelines with a name only.
func (m *Manifest) inOrder() []*Pipeline {
	all := slices.Clone(m.Pipelines)
	for _, s := range m.Skipped {
		at := func() map[string]diag.Position { return map[string]diag.Position{"": s.Position} }
		all = append(all, &Pipeline{Name: s.Name, Type: s.Type, Positions: Positions{at: at}})
	}
	slices.SortStableFunc(all, func(a, b *Pipeline) int { return cmp.Compare(a.At("").Line, b.At("").Line) })
	return all
}

// maxSuggested is the size of the largest set of names that is searched for one that was meant.
const maxSuggested = 500

// nearest is the name of a set that a word is probably a misspelling of, as the end of a sentence, or "".
func nearest(word string, set map[string]bool) string {
	if len(set) > maxSuggested {
		return ""
	}
	var names []string
	for name, ok := range set {
		if ok && name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return suggestion(word, names)
}
