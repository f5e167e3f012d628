// Package dronetest has a Drone server for tests of runners: the runner's half of the protocol, with the rules that
// the real server keeps, and an API to enqueue and cancel builds, to look at what came of them, and to do to calls
// what networks and crashes do.
//
// # The rules
//
// Stages and steps carry a version. Whoever updates one must name the version that it has, or gets 409; the update
// raises it by one. Where a step is updated to a final status, the server wraps the error and answers 500 instead.
// An update takes the ids from the body, whatever the address says, and writes each column that it may, from fields
// that are missing too: what a runner does not send back is erased.
//
// Accept sets the machine of a stage that has none, without looking at the build, and answers 409 if it has one. A
// stage is offered to one waiting runner each time the queue is looked through, which is when a stage becomes ready,
// when a runner asks, and once a minute; and again until it is accepted. Details has neither steps nor their versions.
//
// The update of a stage to pending or running inserts its steps, whose numbers are unique in a stage, and sets the
// build running. It is not a transaction: when a step cannot be inserted, the stage has been written. The update to
// any other status updates the steps, then the stage, skips or schedules the stages that waited for it, and ends the
// build when no stage is left. The build's status is that of the first stage that did not succeed.
//
// A step has a live log from its update to pending or running until its update to anything else. Lines for a step
// without one are answered with 500. The log that is uploaded can be uploaded once.
//
// A cancellation ends the build, then tells those who watch it at this very moment, then ends stages and steps, which
// raises their versions. Nobody who comes to watch later hears of it.
//
// Texts of errors are cut at 500 bytes. A long poll ends after 30 seconds with 204.
//
// # What it leaves out
//
// Triggers other than on the status, since the build is enqueued by hand; skipped stages whose dependents are rewired;
// signatures and approval; extensions; the stall of the queue when a poll is broken off, for which Call.Aborted tells
// that a runner has done so.
package dronetest
