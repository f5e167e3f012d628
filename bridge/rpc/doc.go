// Package rpc speaks the protocol by which a Drone server hands stages to runners: version 2 of its remote procedure
// calls, JSON over HTTP below /rpc/v2, authorised by one shared secret in the header X-Drone-Token.
//
// # The life of a stage
//
// A runner asks for work ([Client.Request], a long poll), and takes what it is offered ([Client.Accept]). The server
// offers a stage that nobody took again and again, to several runners at once, and lets the first one have it. From
// then on the stage is that runner's alone: there is no lease and no heartbeat, and the server will never offer it
// again. The runner fetches what it needs to know ([Client.Details]: build, repository, the configuration file,
// secrets), says which steps there are ([Client.StartStage]), reports each of them ([Client.ReportStep]) and sends
// its log, line by line while it runs ([Client.Batch]) and whole when it has ended ([Client.Upload]), and ends the
// stage ([Client.FinishStage]). All the while it listens for the user to cancel the build ([Client.Watch]).
//
// # Versions
//
// The server keeps a version in each stage and each step. A write must name the version that it found, and raises it
// by one; any other version is refused with 409 ([ErrConflict]). An update of a step to a final status is the
// exception: the server wraps that error, and 500 with the text "Optimistic Lock Error" comes out. Both are the same
// to users of this package. When a user cancels a build, the server itself ends the stages and the steps, and raises
// their versions: the first a runner may hear of it is such a conflict.
//
// A stage is written whole, so each field that the server sent has to come back, or it is erased. [Stage] and [Step]
// keep what they do not know.
//
// # Lost answers
//
// An answer can get lost after the server has done what was asked. Each call has its own remedy, and the outcome of a
// failed call ([OutcomeOf]) tells which is needed:
//
//	Ping         tried once
//	Request      safe to repeat: nothing is taken until it is accepted
//	Accept       a repeat is refused, since the stage has a runner now: ourselves. Accept asks whose it is
//	Details      safe to repeat
//	UpdateStage  to pending or running, it inserts the steps, once; their ids are in the answer, and in that of no other
//	             call of runners. When it was lost, StartStage finds them on the build's page where that is public, and
//	             inserts them anew under higher numbers where it is not; the first ones stay pending then
//	             to a final status, it writes the steps one by one, then the stage, then ends the build.
//	             FinishStage sends no steps, so that one version decides
//	UpdateStep   guarded by the version. ReportStep asks whether the build was cancelled, and if not, goes on
//	Watch        safe to repeat
//	Batch        a repeat would double the lines in the live view; it is not repeated, the final log has them all
//	Upload       the database takes one log for each step; a refused repeat after a lost answer means that it is there
//	UploadCard   safe to repeat: the server reports no failure
//
// # Cancelled builds
//
// The server tells of a cancelled build only those who are connected at that moment, and cuts every long poll after
// 30 seconds. Watch therefore begins the next poll before the server ends the last. What happens before the first
// poll or while there is no connection has to be asked for: see [Details.Ended].
package rpc
