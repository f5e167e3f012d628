// Package testmodel holds small executable models, for tests: how Drone's runners schedule the steps of a pipeline,
// and how Tekton runs a PipelineRun. Each is played on given durations and exit codes, so that the two can be
// compared.
//
// Time is a plain number. Nothing but steps takes any.
package testmodel
