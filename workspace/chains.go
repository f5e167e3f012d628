package workspace

// tasks groups steps, in order.
func tasks(layout Layout, steps []Step) [][]string {
	switch layout {
	case Pod:
		all := make([]string, len(steps))
		for i, s := range steps {
			all[i] = s.Name
		}
		return [][]string{all}
	case Chains:
		return chains(steps)
	default:
		var out [][]string
		for _, s := range steps {
			out = append(out, []string{s.Name})
		}
		return out
	}
}

// maxChain is the number of steps that a chain may have. Tekton mounts folders of each step of a task into all of them, so
// that the pod grows with the square of their number, and one of 110 is more than the API server stores.
const maxChain = 50

// chains groups steps into runs without fork or join: a chain goes on from a step to the next where the next waits for
// that step alone, nothing else waits for that step, and both mount the same. A long one is cut.
func chains(steps []Step) [][]string {
	byName := map[string]Step{}
	waiting := map[string]int{}
	for _, s := range steps {
		byName[s.Name] = s
		for _, n := range s.Needs {
			waiting[n]++
		}
	}
	goesOn := func(s Step) bool {
		if len(s.Needs) != 1 || s.Alone || s.First {
			return false
		}
		before, ok := byName[s.Needs[0]]
		return ok && waiting[before.Name] == 1 && !before.Alone && !before.Last && before.Mounts == s.Mounts
	}
	var out [][]string
	task := map[string]int{}
	for _, s := range steps {
		if goesOn(s) {
			if i := task[s.Needs[0]]; len(out[i]) < maxChain {
				out[i] = append(out[i], s.Name)
				task[s.Name] = i
				continue
			}
		}
		task[s.Name] = len(out)
		out = append(out, []string{s.Name})
	}
	return out
}
