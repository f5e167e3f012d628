package translate

import "github.com/drone-tekton/drone-runner-tekton/translate/diag"

// Codes of what the translation has to say.
const (
	// CodeVolume is a volume or a mount that is not what it seems.
	CodeVolume diag.Code = "volume"
	// CodeServerOnly is a key that the Drone server acts on, and that plain output cannot express.
	CodeServerOnly diag.Code = "server-only"
	// CodeRunnerOnly is behaviour that a PipelineRun alone does not have; a runner adds it.
	CodeRunnerOnly diag.Code = "runner-only"
	// CodeUser is a user that a Pod cannot run as.
	CodeUser diag.Code = "user"
	// CodeDockerOnly is a key of docker containers without a counterpart in a Pod.
	CodeDockerOnly diag.Code = "docker-only"
	// CodePrivilege is an image that Drone's rule leaves without the privilege it usually has.
	CodePrivilege diag.Code = "privilege"
	// CodePlatform is a platform that Tekton does not have.
	CodePlatform diag.Code = "platform"
	// CodeSecretNeeded names the keys that a Kubernetes Secret has to have.
	CodeSecretNeeded diag.Code = "secret-needed"
	// CodeSecretSource is a secret whose value this translation cannot get.
	CodeSecretSource diag.Code = "secret-source"
	// CodeService is a service or detached step that behaves differently.
	CodeService diag.Code = "service"
	// CodeLocalhost is a service that steps look for at localhost, where it is not.
	CodeLocalhost diag.Code = "localhost"
	// CodeOrder is an order that differs from Drone's.
	CodeOrder diag.Code = "order"
	// CodeNothingRuns is a pipeline of which no step is left.
	CodeNothingRuns diag.Code = "nothing-runs"
	// CodeNoSource is a clone without an address to clone from.
	CodeNoSource diag.Code = "no-source"
	// CodeEntrypoint is an entrypoint or a working directory that Drone would treat otherwise.
	CodeEntrypoint diag.Code = "entrypoint"
	// CodeKubernetes is a value that Kubernetes would refuse.
	CodeKubernetes diag.Code = "kubernetes"
	// CodeTooLarge is a PipelineRun that the cluster could not store.
	CodeTooLarge diag.Code = "run-too-large"
	// CodeInvalid is a PipelineRun that Tekton would refuse.
	CodeInvalid diag.Code = "invalid-run"
	// CodeStorage is a remark of the storage planner.
	CodeStorage diag.Code = "storage"
	// CodeNotTriggered is a pipeline whose trigger does not match the build.
	CodeNotTriggered diag.Code = "not-triggered"
)
