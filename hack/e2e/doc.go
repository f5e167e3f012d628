// Package e2e runs Drone pipelines on a real cluster with Tekton, and compares what every step did with what Drone's
// rules say. Each pipeline of testdata/e2e stands beside its expectation, CASE.yml beside CASE.expect.yml.
//
// The tests have the build tag e2e and take any cluster: the one of KUBECONFIG. Script run starts the local one where
// there is none.
package e2e
