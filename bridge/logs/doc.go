// Package logs carries the output of containers into Drone's step logs: live while it is written, and whole at the end.
//
// One Relay serves one Drone step. What a container prints takes this way:
//
//	Container ─▶ cards ─▶ Masker ─▶ store   ─▶ Sender.Upload, once, when the step is over
//	(follows)   (taken   (secrets ├▶ live    ─▶ Sender.Batch, every half second
//	             out)     hidden) └▶ Cursor: how far the live view has come
//
// Container reads the log from Kubernetes and delivers each line once and in order, whatever breaks in between. The
// store keeps head and tail of a log that is above the limit. The live view is best effort; the upload is the log.
//
// # After a restart
//
// A Relay that is made with the Cursor of an earlier process reads the containers' logs from their start again, as long
// as the pods exist, so that the upload is complete; it only keeps what the cursor covers from being shown live twice.
// The runner's own lines (Relay.Note) exist nowhere else and travel in the cursor.
//
// # What Kubernetes keeps
//
// A kubelet serves the newest file of a container's log only. By default it begins a new one after 10 MiB. A container
// that writes faster than the kubelet hands out lines, which is one by one, may lose what was in a file in between, and
// nobody can tell. The kubelet's containerLogMaxSize moves that border.
//
// The package knows nothing about PipelineRuns or TaskRuns: its callers tell which containers belong to a step.
package logs
