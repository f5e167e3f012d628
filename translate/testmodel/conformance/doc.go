// Package conformance holds the models of package testmodel against Tekton's own code, on generated runs.
//
// It is a module of its own, because Tekton's reconciler brings the clients of several clouds with it, which nothing
// else here needs. Its tests run in its own folder:
//
//	cd translate/testmodel/conformance && go test ./...
package conformance
