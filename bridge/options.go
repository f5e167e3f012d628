package bridge

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/drone-tekton/drone-runner-tekton/bridge/compile"
	"github.com/drone-tekton/drone-runner-tekton/bridge/logs"
	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
)

// Options are the choices of whoever runs the runner. Machine, Filter, Namespace and Compiler are required.
type Options struct {
	// Machine is the runner's name to the server.
	Machine string
	// Filter is the stages that it asks for.
	Filter rpc.Filter
	// Capacity is how many stages it has at once, default 100.
	Capacity int
	// Namespace is where the runner keeps its journal; Namespaces are where pipelines run, none meaning everywhere.
	Namespace  string
	Namespaces []string
	// Compiler makes work of stages.
	Compiler *compile.Compiler

	// Grace is how long a step may be in trouble that can pass, such as an image that cannot be pulled, default 1 minute.
	Grace time.Duration
	// Keep says which finished runs stay.
	Keep Keep
	// LogLimit bounds the log of a step.
	LogLimit logs.Limit
	// Workers is how many stages are looked at at once, default 32. A worker waits for the server's answers.
	Workers int
	// Buckets is in how many parts replicas share the stages, 0 for one replica that needs no election.
	Buckets int
	// Clock is the real one by default.
	Clock clock.PassiveClock
}

// Keep says which finished runs stay in the cluster, for people to look at: those that ended less than For ago, and of
// each repository the last PerRepo of them at most, where that is not 0. A policy can say otherwise of its runs.
type Keep struct {
	For     time.Duration
	Failed  *time.Duration // in place of For, of runs that did not succeed
	PerRepo int
}

func (o Options) withDefaults() Options {
	if o.Capacity <= 0 {
		o.Capacity = 100
	}
	if o.Grace <= 0 {
		o.Grace = time.Minute
	}
	if o.Workers <= 0 {
		o.Workers = 32
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}
