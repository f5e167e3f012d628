package translate

import (
	"math/big"
	"slices"

	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// dependencies gives every entry of a pipeline (clone, then services, then steps, each a name that Drone has checked to
// be unique) the names of the entries that it waits for, as Drone's runners do.
//
// Without any depends_on the pipeline is serial: each entry waits for the one before it. With one depends_on anywhere it
// is a graph: an entry without depends_on waits for clone alone, services too, and where cloning is disabled for nothing.
func dependencies(p *drone.Pipeline) map[string][]string {
	entries := slices.Concat(p.Services, p.Steps)
	needs := make(map[string][]string, len(entries)+1)
	graph := slices.ContainsFunc(entries, func(s *drone.Step) bool { return len(s.DependsOn) > 0 })
	previous := ""
	if !p.Clone.Disable {
		needs[drone.CloneName] = nil
		previous = drone.CloneName
	}
	for _, s := range entries {
		switch {
		case !graph:
			if previous != "" {
				needs[s.Name] = []string{previous}
			}
			previous = s.Name
		case len(s.DependsOn) == 0 && !p.Clone.Disable:
			needs[s.Name] = []string{drone.CloneName}
		case len(s.DependsOn) == 1 && s.DependsOn[0] == drone.CloneName && p.Clone.Disable:
			needs[s.Name] = nil
		default:
			needs[s.Name] = slices.Clone(s.DependsOn)
		}
	}
	return needs
}

// nearest follows dependencies from a step through the steps that keep refuses to the first that it accepts, in the
// plan's order. It is how a step inherits the dependencies of one that is not there.
func nearest(s *Step, keep func(*Step) bool) []*Step {
	var found []*Step
	seen := map[*Step]bool{}
	var visit func(*Step)
	visit = func(s *Step) {
		for _, n := range s.Needs {
			if seen[n] {
				continue
			}
			seen[n] = true
			if keep(n) {
				found = append(found, n)
			} else {
				visit(n)
			}
		}
	}
	visit(s)
	slices.SortFunc(found, func(a, b *Step) int { return a.index - b.index })
	return withoutImplied(found)
}

// withoutImplied leaves out of a list of dependencies those that another of them waits for anyway, so that the run shows
// only edges that say something.
func withoutImplied(steps []*Step) []*Step {
	if len(steps) < 2 {
		return steps
	}
	var implied big.Int
	for _, s := range steps {
		implied.Or(&implied, &s.before)
	}
	return slices.DeleteFunc(steps, func(s *Step) bool { return implied.Bit(s.index) == 1 })
}

// findBefore tells each step which steps it waits for, directly or not. A step comes after those that it waits for.
func findBefore(steps []*Step) {
	for _, s := range steps {
		s.before = big.Int{}
		for _, n := range s.Needs {
			s.before.Or(&s.before, &n.before)
			s.before.SetBit(&s.before, n.index, 1)
		}
	}
}

// waitsFor reports whether a step waits for another, directly or not.
func (s *Step) waitsFor(other *Step) bool { return s.before.Bit(other.index) == 1 }
