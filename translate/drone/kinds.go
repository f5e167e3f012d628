package drone

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// skip remembers a pipeline that is not translated.
func (m *Manifest) skip(t tree, pipelineType string) diag.List {
	pos := t.position(t.root)
	m.Skipped = append(m.Skipped, SkippedPipeline{Name: textOf(lookup(t.root, "name")), Type: pipelineType, Position: pos})
	d := diag.Diagnostic{
		Severity: diag.Warning, Code: CodeTypeSkipped, Position: pos,
		Message: fmt.Sprintf("the pipeline is of type %s, which has no counterpart in Tekton, and is left out", pipelineType),
		Hint:    cmp.Or(didYouMean(pipelineType, []string{TypeDocker, TypeKubernetes}), "keep a Drone runner for it"),
	}
	return diag.List{d}
}

// otherKind answers documents that are neither pipelines nor secrets.
func (m *Manifest) otherKind(t tree, kind string) diag.List {
	d := diag.Diagnostic{Position: t.position(t.root)}
	switch kind {
	case "signature":
		d.Severity, d.Code = diag.Info, CodeSignature
		d.Message = "the signature is not verified here; Drone's server does that for protected repositories"
	case "cron":
		d.Severity, d.Code = diag.Info, CodeCron
		d.Message = "documents of kind cron have no effect, as in Drone"
		d.Hint = "set the schedule in the repository's settings in Drone"
	case "registry":
		d.Severity, d.Code = diag.Warning, CodeRegistry
		d.Message = "documents of kind registry have no effect, as in Drone's runners"
		d.Hint = "use image_pull_secrets"
	case "template":
		d.Severity, d.Code = diag.Error, CodeTemplate
		d.Message = fmt.Sprintf("the file calls the template %s, which is stored in Drone's server and expanded there",
			textOf(lookup(t.root, "load")))
		d.Hint = "convert what the template expands to; the runner gets it expanded from the server"
		return diag.List{d}
	default:
		m.Skipped = append(m.Skipped, SkippedPipeline{Name: textOf(lookup(t.root, "name")), Position: d.Position})
		d.Severity, d.Code = diag.Warning, CodeKind
		d.Message = fmt.Sprintf("the kind %s is unknown: Drone's server makes it a pipeline that no runner ever takes", kind)
		d.Hint = didYouMean(kind, []string{"pipeline", "secret", "signature", "cron", "registry", "template"})
		return diag.List{d}
	}
	return append(diag.List{d}, t.check(kind, OfBoth).list...)
}

// noKind says what a document without kind seems to be.
func noKind(t tree) diag.List {
	has := func(keys ...string) bool {
		for _, key := range keys {
			if lookup(t.root, key) == nil {
				return false
			}
		}
		return true
	}
	d := diag.Diagnostic{
		Severity: diag.Error, Code: CodeNotDrone, Position: t.position(t.root),
		Message: "not a Drone file: no document of kind pipeline", Hint: "add kind: pipeline",
	}
	switch {
	case has("pipeline"):
		d.Code = CodeOldFormat
		d.Position = t.position(t.keyNode("pipeline"))
		d.Message = "the file is in the format of Drone 0.8, which is not read here"
		d.Hint = "rewrite it with drone convert, from Drone's command line tools"
	case has("jobs", "on"):
		d.Message += "; it looks like a workflow of GitHub Actions"
	case has("jobs"), has("workflows"):
		d.Message += "; it looks like a configuration of CircleCI"
	case has("stages"), has("include"), has("default"):
		d.Message += "; it looks like a configuration of GitLab CI"
	case has("apiVersion"):
		d.Message += "; it looks like an object of Kubernetes"
	case has("steps"):
		d.Code = CodeKind
		d.Message = "the document has no kind; Drone refuses it"
	}
	if strings.Contains(d.Message, "looks like") {
		d.Hint = ""
	}
	return diag.List{d}
}

// notDrone answers a document that is not even a map.
func notDrone(t tree) diag.List {
	var list diag.List
	list.Errorf(t.position(t.root), CodeNotDrone,
		"not a Drone file: a document must be a map of keys, found %s", foundName(t.root))
	return list
}
