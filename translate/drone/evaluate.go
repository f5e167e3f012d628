package drone

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime/metrics"
	"time"

	api "github.com/drone/drone-go/drone"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// Limits of an evaluation. The size keeps the depth of what a program nests below what Go's stack can hold.
const (
	maxProgramSize   = 256 << 10 // bytes; the largest known programs have half of that
	evaluationTime   = 10 * time.Second
	evaluationMemory = 256 << 20 // bytes of heap and stacks beyond what the process had
)

// Evaluate turns a configuration that is a program into YAML, as Drone's server does: Starlark in files that end in
// .star, .starlark or .script, and jsonnet in files that end in .jsonnet. Any other file is returned as it is. The
// program sees the repository and the build that Drone's server would show it; either may be nil. It can load nothing
// else.
//
// A Starlark program that takes too long is stopped. A jsonnet program cannot be: Evaluate returns, but the program
// goes on until it ends by itself or the process does.
func Evaluate(ctx context.Context, file string, text []byte, repo *api.Repo, build *api.Build) ([]byte, diag.List) {
	var run func(stop <-chan error) ([]byte, diag.List, error)
	facts := factsOf(repo, build)
	switch filepath.Ext(file) {
	case ".star", ".starlark", ".script":
		run = func(stop <-chan error) ([]byte, diag.List, error) { return evaluateStarlark(stop, file, text, facts) }
	case ".jsonnet":
		run = func(<-chan error) ([]byte, diag.List, error) { return evaluateJsonnet(file, text, facts) }
	default:
		return text, nil
	}
	if list := checkText(file, text); list.HasErrors() {
		return nil, list
	}
	if len(text) > maxProgramSize {
		return nil, diag.List{evaluationError(file, fmt.Errorf("the program has more than %d KiB", maxProgramSize>>10))}
	}
	out, list, err := watched(ctx, run)
	if err == nil && len(out) > maxFileSize {
		err = errTooLarge
	}
	if err != nil {
		list.Add(evaluationError(file, err))
		return nil, list
	}
	return out, list
}

var (
	errTooLong  = fmt.Errorf("the program takes longer than %s", evaluationTime)
	errTooMuch  = fmt.Errorf("the program takes more than %d MiB of memory", evaluationMemory>>20)
	errTooLarge = fmt.Errorf("the program gives more than %d MiB of configuration", maxFileSize>>20)
)

// watched runs an evaluation until it is done, or has taken more than it may. The reason is sent to it on stop.
func watched(ctx context.Context, run func(stop <-chan error) ([]byte, diag.List, error)) ([]byte, diag.List, error) {
	type result struct {
		out  []byte
		list diag.List
		err  error
	}
	done := make(chan result, 1)
	stop := make(chan error, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r = result{err: fmt.Errorf("the program fails: %v", p)}
			}
			done <- r
		}()
		r.out, r.list, r.err = run(stop)
	}()
	abort := func(err error) ([]byte, diag.List, error) {
		stop <- err
		return nil, nil, err
	}
	limit := memory() + evaluationMemory
	timeout := time.After(evaluationTime)
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case r := <-done:
			return r.out, r.list, r.err
		case <-ctx.Done():
			return abort(ctx.Err())
		case <-timeout:
			return abort(errTooLong)
		case <-look.C:
			if memory() > limit {
				return abort(errTooMuch)
			}
		}
	}
}

// memory is what objects and stacks take, in bytes.
func memory() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() + samples[1].Value.Uint64()
}

// positioned is an error of a program with its place.
type positioned struct {
	line, column int
	message      string
	hint         string
}

func (e positioned) Error() string { return e.message }

func evaluationError(file string, err error) diag.Diagnostic {
	d := diag.Diagnostic{
		Severity: diag.Error, Code: CodeEvaluation, Position: diag.Position{File: file}, Message: err.Error(),
	}
	if p := (positioned{}); errors.As(err, &p) {
		d.Position.Line, d.Position.Column, d.Hint = p.line, p.column, p.hint
	}
	return d
}

// documents writes JSON values as YAML documents, an object or list on several lines each.
func documents(values []json.RawMessage) ([]byte, error) {
	var out bytes.Buffer
	for _, v := range values {
		out.WriteString("---\n")
		if err := json.Indent(&out, v, "", "  "); err != nil {
			return nil, fmt.Errorf("formatting the configuration: %w", err)
		}
		out.WriteByte('\n')
	}
	return unprintable.ReplaceAllFunc(out.Bytes(), func(c []byte) []byte {
		return fmt.Appendf(nil, `\u%04x`, []rune(string(c))[0])
	}), nil
}

// unprintable are characters that JSON allows as they are and YAML does not.
var unprintable = regexp.MustCompile("[\u007f-\u0084\u0086-\u009f\ufeff\ufffe\uffff]")
