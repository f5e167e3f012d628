package policy

import (
	"strconv"
	"time"
)

// Annotations of PipelineRuns by which a policy outlives the process that has applied it.
const (
	AnnotationPolicy     = "drone.io/policy"
	annotationKeep       = "drone.io/keep"
	annotationKeepFailed = "drone.io/keep-failed"
	annotationPerRepo    = "drone.io/keep-per-repo"
)

var marks = []string{AnnotationPolicy, annotationKeep, annotationKeepFailed, annotationPerRepo}

// Marks are the annotations that Mark has written, without others; nil where there is none.
func Marks(annotations map[string]string) map[string]string {
	var out map[string]string
	for _, name := range marks {
		if value, ok := annotations[name]; ok {
			out = Over(out, map[string]string{name: value})
		}
	}
	return out
}

// Mark writes on a run which policy it has, and how long that lets it stay.
func (p *Policy) Mark(annotations map[string]string) {
	for _, name := range marks {
		delete(annotations, name) // The pipeline's own would let it stay for ever.
	}
	if p == nil {
		return
	}
	if p.Name != "" {
		annotations[AnnotationPolicy] = p.Name
	}
	r := p.Retention
	if r.Keep != nil {
		annotations[annotationKeep] = r.Keep.String()
	}
	if r.KeepFailed != nil {
		annotations[annotationKeepFailed] = r.KeepFailed.String()
	}
	if r.PerRepo != nil {
		annotations[annotationPerRepo] = strconv.Itoa(*r.PerRepo)
	}
}

// RetentionOf reads what Mark has written. What cannot be read counts as not written.
func RetentionOf(annotations map[string]string) Retention {
	var r Retention
	read := func(name string) *time.Duration {
		if d, err := time.ParseDuration(annotations[name]); err == nil {
			return &d
		}
		return nil
	}
	r.Keep, r.KeepFailed = read(annotationKeep), read(annotationKeepFailed)
	if n, err := strconv.Atoi(annotations[annotationPerRepo]); err == nil {
		r.PerRepo = &n
	}
	return r
}
