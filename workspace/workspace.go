// Package workspace decides where the files of a pipeline live: on which claims or in which pods, and, because that
// depends on it, which steps share a task. It is a pure function with reasons; it creates nothing and reads no cluster.
package workspace

import (
	corev1 "k8s.io/api/core/v1"
)

// Layout says how steps are put into tasks.
type Layout string

const (
	// Steps gives each step a task of its own.
	Steps Layout = "steps"
	// Chains puts steps that follow each other, with no fork or join between them, into one task.
	Chains Layout = "chains"
	// Pod puts the whole pipeline into one task. It needs no claim.
	Pod Layout = "pod"
)

// Claims says how volumes share claims.
type Claims string

const (
	// Shared keeps all volumes of a run on one claim, each below a path of its own. Tekton's default co-scheduling
	// rejects a task with two claims.
	Shared Claims = "shared"
	// PerVolume gives each volume a claim.
	PerVolume Claims = "per-volume"
)

// Options are what a user can choose. The zero value, with Defaults, works on every cluster with a default storage class.
type Options struct {
	Layout       Layout
	Claims       Claims
	StorageClass string // empty is the cluster's default class
	AccessMode   corev1.PersistentVolumeAccessMode
	Size         string // a Kubernetes quantity
	// Existing is the name of a claim to use instead of making one. Each run has a folder of its own on it.
	Existing string
	// Spread mounts the claim where Tekton's affinity assistant does not see it, so that tasks run on any node. It needs
	// ReadWriteMany.
	Spread bool
}

// DefaultSize is the size of a claim where none is chosen. Kubernetes has no default for it.
const DefaultSize = "5Gi"

// Defaults fills what is not chosen.
func (o Options) Defaults() Options {
	if o.Layout == "" {
		o.Layout = Steps
	}
	if o.Claims == "" {
		o.Claims = Shared
	}
	if o.AccessMode == "" {
		o.AccessMode = corev1.ReadWriteOnce
		if o.Spread {
			o.AccessMode = corev1.ReadWriteMany
		}
	}
	if o.Size == "" {
		o.Size = DefaultSize
	}
	return o
}

// Volume is a place for files that steps of a run share.
type Volume struct {
	Name   string
	Memory bool // asked to be in memory
	// SizeLimit bounds what it may hold, in bytes; 0 is no bound. It counts only in memory, as in Drone.
	SizeLimit int64
}

// Step is what the decision needs to know of a step.
type Step struct {
	Name  string
	Needs []string // the steps that it waits for
	// Mounts is a text that is equal for steps with equal mounts. Steps of one task must have equal mounts.
	Mounts string
	// Volumes names the volumes that the step mounts.
	Volumes []string
	// Alone is a step that must be the only one of its task, First and Last one that must begin or end it: something that
	// is no step of the tasks comes before it or waits for it.
	Alone, First, Last bool
}

// Request is all that a decision depends on.
type Request struct {
	Options Options
	Volumes []Volume
	Steps   []Step // in order: a step comes after those that it waits for
	// Handlers are the tasks that run once something has failed. A handler of the name of one of Steps runs in its place.
	Handlers [][]Step
	// Outside names the volumes that Pods beside the run's tasks mount.
	Outside []string
	// Cluster is what is known of the cluster; nil is nothing.
	Cluster *Cluster
}

// Place is where a volume lies.
type Place struct {
	// Claim is the name of one of the decision's claims; empty is a directory of the pod, in memory where Memory is set.
	Claim string
	// SubPath is where on the claim. It is never the claim's own folder, where more may be than the volume: lost+found of a
	// new file system, the marks of detached steps.
	SubPath string
	Memory  bool
	// SizeLimit is that of the volume, in memory.
	SizeLimit int64
}

// Claim is a PersistentVolumeClaim that a run needs.
type Claim struct {
	Name         string // unique in the run
	StorageClass string
	AccessMode   corev1.PersistentVolumeAccessMode
	Size         string
	// Existing is the name of the claim in the cluster, where it is not to be made.
	Existing string
	// Beside is a claim that must have a name of its own from the start, because something mounts it that is not a
	// workspace of the run. Other claims are made by Tekton from a template.
	Beside bool
}

// Decision is the plan for the files of a run.
type Decision struct {
	Layout Layout
	// Tasks are the steps by task, in order.
	Tasks  [][]string
	Places map[string]Place // by volume
	Claims []Claim
	// AsVolume mounts claims as volumes of the task, not as workspaces.
	AsVolume bool
	// OneNode reports that Tekton's affinity assistant keeps the tasks on one node, and that the claims can be mounted
	// there alone: a Pod beside the tasks that mounts one has to be there, too.
	OneNode bool
	// AnyNode reports that the tasks share files from whatever nodes they run on.
	AnyNode bool
	Reasons []Reason
	// Warnings are what may go wrong with the decision, and Problems what will: there is no use in creating the run. A
	// problem names a way out.
	Warnings, Problems []Reason
}

// Reason is one consideration of a decision, as a sentence.
type Reason struct {
	Topic string // layout, claims, spread or a volume
	Text  string
}

func (d *Decision) because(topic, text string) {
	d.Reasons = append(d.Reasons, Reason{Topic: topic, Text: text})
}

func (d *Decision) warn(topic, text string) {
	d.Warnings = append(d.Warnings, Reason{Topic: topic, Text: text})
}

func (d *Decision) problem(topic, text string) {
	d.Problems = append(d.Problems, Reason{Topic: topic, Text: text})
}
