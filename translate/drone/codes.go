package drone

import "github.com/drone-tekton/drone-runner-tekton/translate/diag"

// Codes of the diagnostics that reading a Drone file gives.
const (
	// CodeLongLine is a line that Drone's line scanner cannot hold.
	CodeLongLine diag.Code = "long-line"
	// CodeTextIgnored is text that Drone's splitting into documents loses.
	CodeTextIgnored diag.Code = "text-ignored"
	// CodeSyntax is a file that is not YAML.
	CodeSyntax diag.Code = "yaml-syntax"
	// CodeTooLarge is a file, a nesting or a number of aliases beyond what is read.
	CodeTooLarge diag.Code = "too-large"
	// CodeWrongShape is a value that the key cannot take.
	CodeWrongShape diag.Code = "wrong-shape"
	// CodeNotDrone is a file that holds no Drone pipeline.
	CodeNotDrone diag.Code = "not-drone"
	// CodeOldFormat is a file of Drone 0.8.
	CodeOldFormat diag.Code = "drone-0.8"
	// CodeKind is a document whose kind is missing or has no meaning here.
	CodeKind diag.Code = "document-kind"
	// CodeTypeSkipped is a pipeline of a type that does not run in containers.
	CodeTypeSkipped diag.Code = "type-skipped"
	// CodeEmptyDocument is a document without content.
	CodeEmptyDocument diag.Code = "empty-document"
	// CodeSubstitution is a ${…} expression that Drone cannot parse.
	CodeSubstitution diag.Code = "substitution"
	// CodeStepName is a step without a usable name.
	CodeStepName diag.Code = "step-name"
	// CodeDuplicateName is a name that two parts share.
	CodeDuplicateName diag.Code = "duplicate-name"
	// CodeImage is a step without an image.
	CodeImage diag.Code = "image-missing"
	// CodeDependency is a depends_on that Drone refuses.
	CodeDependency diag.Code = "depends-on"
	// CodeVolume is a volume, or a mount of one, that Drone refuses or drops.
	CodeVolume diag.Code = "volume"
	// CodeUntrusted is what Drone allows to trusted repositories only.
	CodeUntrusted diag.Code = "untrusted"
	// CodeResources is a resource setting that does not do what it says.
	CodeResources diag.Code = "resources"
	// CodePlatform is a platform that Drone refuses.
	CodePlatform diag.Code = "platform"
)
