package translate

import (
	"slices"
)

// groupHandlers makes the tasks that run once something has failed. Drone runs on-failure steps then, and always-steps
// that have not run yet, in the order of the graph. Tekton's finally tasks run all at once: those that Drone orders
// become the steps of one task, which go on after each other's failure.
//
// Drone starts such a step as soon as what it waits for is done; Tekton starts it after all that was running has ended.
func (l *lowering) groupHandlers(mounts map[*Step][]mount) {
	unique := l.taskNames()
	for _, t := range l.tasks {
		unique.taken[t.name] = true
	}
	for _, group := range ordered(l.handlerSteps()) {
		t := &task{}
		for _, s := range group {
			u := l.newUnit(s, true, mounts[s])
			if s.Policy == Always {
				u.unlessRan = []string{s.ID}
			}
			for _, p := range l.passed[s] {
				u.unlessRan = append(u.unlessRan, l.taskOf[p])
			}
			t.units = append(t.units, u)
		}
		switch {
		case len(group) > 1:
			t.name = unique.unique("on failure")
		case group[0].Policy == Always:
			t.name = unique.unique(group[0].ID + " on failure")
		default:
			t.name = group[0].ID
		}
		l.handlers = append(l.handlers, t)
	}
}

// handlerSteps are the steps that run, or still have to run, when something has failed.
func (l *lowering) handlerSteps() []*Step {
	var out []*Step
	for _, s := range l.plan.Steps {
		if handlesFailure(s) {
			out = append(out, s)
		}
	}
	return out
}

// passedBy are, for each on-failure step, the steps that tell by having run that its turn was before any failure: those
// whose own turn cannot come before its turn, since they wait for all that it waits for. To Drone, an on-failure step is
// over once its turn has come and nothing had failed, and what fails later is not for it. Steps that wait for others of
// them tell nothing more.
func (l *lowering) passedBy() map[*Step][]*Step {
	passed := map[*Step][]*Step{}
	for _, h := range l.handlerSteps() {
		if runsInOrder(h) {
			continue
		}
		needs := nearest(h, l.isTask)
		for _, s := range l.plan.Steps {
			waitsForAll := !slices.ContainsFunc(needs, func(n *Step) bool { return !s.waitsFor(n) })
			told := slices.ContainsFunc(passed[h], s.waitsFor)
			if l.isTask(s) && waitsForAll && !told {
				passed[h] = append(passed[h], s)
			}
		}
	}
	return passed
}

// tellsTurn reports whether a step is one of passedBy.
func (l *lowering) tellsTurn(s *Step) bool {
	for _, steps := range l.passed {
		if slices.Contains(steps, s) {
			return true
		}
	}
	return false
}

// ordered splits steps into groups, so that steps that Drone orders, directly or through any other step, are in one
// group, in the plan's order.
func ordered(steps []*Step) [][]*Step {
	group := map[*Step]int{}
	for i, s := range steps {
		group[s] = i
	}
	for _, s := range steps {
		for _, before := range steps {
			g := group[before]
			if g == group[s] || !s.waitsFor(before) {
				continue
			}
			from, to := max(g, group[s]), min(g, group[s])
			for k, v := range group {
				if v == from {
					group[k] = to
				}
			}
		}
	}
	groups := make([][]*Step, len(steps))
	for _, s := range steps {
		groups[group[s]] = append(groups[group[s]], s)
	}
	return slices.DeleteFunc(groups, func(g []*Step) bool { return len(g) == 0 })
}
