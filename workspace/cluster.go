package workspace

import (
	"slices"
	"strings"
)

// Coschedule is Tekton's feature flag of that name: how the affinity assistant keeps the tasks of a run together.
type Coschedule string

const (
	// CoscheduleWorkspaces keeps tasks that share a claim on one node, and rejects a task with two claims. It is the
	// default of an installation.
	CoscheduleWorkspaces Coschedule = "workspaces"
	// CoschedulePipelineRuns keeps all tasks of a run on one node.
	CoschedulePipelineRuns Coschedule = "pipelineruns"
	// CoscheduleIsolate does so, with one run on a node at a time.
	CoscheduleIsolate Coschedule = "isolate-pipelinerun"
	// CoscheduleDisabled leaves tasks to the scheduler.
	CoscheduleDisabled Coschedule = "disabled"
)

// Class is a storage class.
type Class struct {
	Name    string
	Default bool
	// Immediate is a class whose volumes are placed before a pod needs them, perhaps where the pod cannot run.
	Immediate bool
}

// Cluster is what is known of a cluster. Where nothing is known, a default installation of Tekton and a default storage
// class are assumed.
type Cluster struct {
	Coschedule Coschedule
	Classes    []Class
	// Unlisted reports that the classes are not known.
	Unlisted bool
}

// coschedule is the flag's value, the default where it is not known.
func (c *Cluster) coschedule() Coschedule {
	if c == nil || c.Coschedule == "" {
		return CoscheduleWorkspaces
	}
	return c.Coschedule
}

// class finds a storage class, the default one for the empty name.
func (c *Cluster) class(name string) (Class, bool) {
	i := slices.IndexFunc(c.Classes, func(k Class) bool { return k.Name == name || name == "" && k.Default })
	if i < 0 {
		return Class{}, false
	}
	return c.Classes[i], true
}

func (c *Cluster) classNames() string {
	var names []string
	for _, k := range c.Classes {
		names = append(names, k.Name)
	}
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
