// Package bridge is the runner: it takes stages from a Drone server, creates a PipelineRun for each, and tells the server
// what becomes of it.
//
// # One way through
//
//	Drone ─▶ poller ─▶ journal ─▶ reconciler ─┬─▶ launcher ─▶ PipelineRun, Secrets, Pods …
//	        (reserves)    ▲                   ├─▶ status.Of(what the cluster shows) ─▶ teller ─▶ Drone
//	                      │                   ├─▶ step logs ─▶ Drone
//	        informers ────┴──▶ queue ─────────┴─▶ cleaner
//
// The reconciler is level-triggered. Whatever happens to a stage's entry in the journal, to its PipelineRun, TaskRuns or
// Pods, to its logs, or to its build on the server, puts the stage into one queue; a worker then looks at everything
// there is, does what is missing, and writes down what it has done. No step depends on having seen an event. A crash at
// any point is therefore no special case: the next worker, in this process, a later one or another replica, goes on.
//
// A stage has one worker at a time, in one replica: the one that leads the stage's bucket. What only a process can hold,
// such as an open log stream, is in the stage's session; a session can be lost at any time.
package bridge
