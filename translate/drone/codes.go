package drone

import "github.com/drone-tekton/drone-runner-tekton/translate/diag"

// Codes of a file that cannot be read, or not as a whole.
const (
	// CodeTooLarge is a file, a nesting or a number of aliases beyond what is read.
	CodeTooLarge diag.Code = "too-large"
	// CodeEncoding is a file that is not UTF-8 text.
	CodeEncoding diag.Code = "encoding"
	// CodeSyntax is a file that is not YAML.
	CodeSyntax diag.Code = "yaml-syntax"
	// CodeConflict is a file with the marks of an unresolved merge.
	CodeConflict diag.Code = "merge-conflict"
	// CodeSubstitution is a ${…} expression that Drone cannot parse.
	CodeSubstitution diag.Code = "substitution"
	// CodeEvaluation is a Starlark or jsonnet file that does not give a configuration.
	CodeEvaluation diag.Code = "evaluation"
	// CodeLongLine is a line that Drone's line scanner cannot hold.
	CodeLongLine diag.Code = "long-line"
	// CodeTextIgnored is text that Drone's splitting into documents loses.
	CodeTextIgnored diag.Code = "text-ignored"
)

// Codes of documents.
const (
	// CodeNotDrone is a file that holds no Drone pipeline.
	CodeNotDrone diag.Code = "not-drone"
	// CodeOldFormat is a file of Drone 0.8.
	CodeOldFormat diag.Code = "drone-0.8"
	// CodeTemplate is a call of a template, which Drone's server expands.
	CodeTemplate diag.Code = "template"
	// CodeKind is a document whose kind is missing or unknown.
	CodeKind diag.Code = "document-kind"
	// CodeTypeSkipped is a pipeline of a type that does not run in containers.
	CodeTypeSkipped diag.Code = "type-skipped"
	// CodeEmptyDocument is a document without content, for which Drone's server refuses the file.
	CodeEmptyDocument diag.Code = "empty-document"
	// CodeSignature is a signature, which is not verified.
	CodeSignature diag.Code = "signature"
	// CodeCron is a document of kind cron, which has no effect.
	CodeCron diag.Code = "cron"
	// CodeRegistry is a document of kind registry, which has no effect.
	CodeRegistry diag.Code = "registry"
	// CodeSecret is a document of kind secret that cannot give a value.
	CodeSecret diag.Code = "secret"
)

// Codes of keys and values.
const (
	// CodeUnknownKey is a key that Drone does not know.
	CodeUnknownKey diag.Code = "unknown-key"
	// CodeOtherType is a key that only pipelines of another type have.
	CodeOtherType diag.Code = "other-type"
	// CodeIgnoredKey is a key that Drone reads without any effect.
	CodeIgnoredKey diag.Code = "ignored-key"
	// CodeRepeatedKey is a key that is given twice, or by a merge as well.
	CodeRepeatedKey diag.Code = "repeated-key"
	// CodeWrongShape is a value that the key cannot take.
	CodeWrongShape diag.Code = "wrong-shape"
	// CodeEmptyValue is a value that is nothing, where Drone's treatment surprises.
	CodeEmptyValue diag.Code = "empty-value"
	// CodeUnknownValue is a word that has no meaning to Drone.
	CodeUnknownValue diag.Code = "unknown-value"
	// CodeTruncated is a fraction that Drone cuts.
	CodeTruncated diag.Code = "truncated-number"
	// CodeCPU is an amount of CPU that is not what it seems.
	CodeCPU diag.Code = "cpu-unit"
	// CodeMode is a file mode that is not what it seems.
	CodeMode diag.Code = "file-mode"
	// CodeCondition is a condition that is not evaluated, or never met.
	CodeCondition diag.Code = "condition"
	// CodeSettingValue is a setting that reaches the plugin as something else than was written.
	CodeSettingValue diag.Code = "setting-value"
	// CodeNestedSecret is a from_secret in a place where Drone does not resolve it.
	CodeNestedSecret diag.Code = "nested-secret"
	// CodeDollars is text in which substitution turns two characters into one.
	CodeDollars diag.Code = "escaped-text"
	// CodeUnknownVariable is a ${…} of a variable that substitution does not have.
	CodeUnknownVariable diag.Code = "unknown-variable"
	// CodeOperator is a ${…} whose operator does something else than in a shell.
	CodeOperator diag.Code = "substitution-operator"
)

// Codes of the rules of Drone's linters.
const (
	// CodeStepName is a step without a usable name.
	CodeStepName diag.Code = "step-name"
	// CodeDuplicateName is a name that two parts share.
	CodeDuplicateName diag.Code = "duplicate-name"
	// CodeImage is a step without an image.
	CodeImage diag.Code = "image-missing"
	// CodeDependency is a depends_on that Drone refuses.
	CodeDependency diag.Code = "depends-on"
	// CodeGraph is a step that starts at once because other steps have depends_on.
	CodeGraph diag.Code = "graph-mode"
	// CodeVolume is a volume, or a mount of one, that Drone refuses.
	CodeVolume diag.Code = "volume"
	// CodeUndeclared is a mount of a volume that the pipeline does not declare.
	CodeUndeclared diag.Code = "undeclared-volume"
	// CodeUntrusted is what Drone allows to trusted repositories only.
	CodeUntrusted diag.Code = "untrusted"
	// CodeResources is a resource setting that Drone refuses.
	CodeResources diag.Code = "resources"
	// CodePlatform is a platform that Drone refuses.
	CodePlatform diag.Code = "platform"
)
