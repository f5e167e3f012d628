package drone

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	starlarkresolve "go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// Steps of a Starlark program. Drone's server stops at its limit unless it is configured with another. Ours leaves room
// for that, and bounds how deep a program can nest values.
const (
	droneSteps = 50_000
	maxSteps   = 20 * droneSteps
)

// evaluateStarlark calls main(ctx) of a program. The dialect is Starlark without extensions, as in Drone's server: no
// load, no sets, no recursion, no loops at the top.
func evaluateStarlark(stop <-chan error, file string, text []byte, f facts) ([]byte, diag.List, error) {
	thread := &starlark.Thread{
		Name:  "drone",
		Print: func(*starlark.Thread, string) {},
		Load: func(_ *starlark.Thread, module string) (starlark.StringDict, error) {
			return nil, errors.New("not possible, as in Drone: evaluate with drone starlark, and convert the result")
		},
	}
	thread.SetMaxExecutionSteps(maxSteps)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case reason := <-stop:
			thread.Cancel(reason.Error())
		case <-ended:
		}
	}()

	globals, err := starlark.ExecFileOptions(&syntax.FileOptions{}, thread, file, text, nil)
	if err != nil {
		return nil, nil, starlarkError(err)
	}
	main, ok := globals["main"].(starlark.Callable)
	if !ok {
		return nil, nil, positioned{
			message: "the program has no function main(ctx)",
			hint:    "define main, and return a pipeline or a list of them",
		}
	}
	value, err := starlark.Call(thread, main, starlark.Tuple{starlarkContext(f)}, nil)
	if err != nil {
		return nil, nil, starlarkError(err)
	}
	var list diag.List
	if steps := thread.ExecutionSteps(); steps > droneSteps {
		list.Warnf(diag.Position{File: file}, CodeEvaluation,
			"the program takes %d steps; Drone's server stops after %d unless it is configured otherwise", steps, droneSteps)
	}
	out, err := starlarkDocuments(value)
	return out, list, err
}

// starlarkDocuments writes what main returned: a dict, or a list of them.
func starlarkDocuments(value starlark.Value) ([]byte, error) {
	var items []starlark.Value
	switch v := value.(type) {
	case *starlark.Dict:
		items = append(items, v)
	case *starlark.List:
		for item := range v.Elements() {
			items = append(items, item)
		}
	default:
		return nil, fmt.Errorf("main returns a value of type %s, which must be a dict or a list", value.Type())
	}
	var docs []json.RawMessage
	for _, item := range items {
		var w starlarkWriter
		if err := w.value(item, 0); err != nil {
			return nil, err
		}
		docs = append(docs, w.Bytes())
	}
	return documents(docs)
}

// starlarkContext is the argument of main.
func starlarkContext(f facts) starlark.Value {
	record := func(name string, values map[string]any, more starlark.StringDict) starlark.Value {
		fields := starlark.StringDict{}
		for key, value := range values {
			switch v := value.(type) {
			case bool:
				fields[key] = starlark.Bool(v)
			case string:
				fields[key] = starlark.String(v)
			}
		}
		maps.Copy(fields, more)
		return starlarkstruct.FromStringDict(starlark.String(name), fields)
	}
	params := new(starlark.Dict)
	for _, key := range slices.Sorted(maps.Keys(f.params)) {
		// A new dict with distinct texts as keys refuses none.
		_ = params.SetKey(starlark.String(key), starlark.String(f.params[key]))
	}
	return starlarkstruct.FromStringDict(starlark.String("context"), starlark.StringDict{
		"repo":  record("repo", f.repo, nil),
		"build": record("build", f.build, starlark.StringDict{"params": params}),
		"input": record("input", nil, nil), // Filled for templates only.
	})
}

// starlarkError finds the place of an error in the program.
func starlarkError(err error) error {
	var (
		syntaxErr  syntax.Error
		resolveErr starlarkresolve.ErrorList
		evalErr    *starlark.EvalError
	)
	at := func(pos syntax.Position, message string) error {
		return positioned{line: int(pos.Line), column: int(pos.Col), message: "Starlark: " + message}
	}
	switch {
	case errors.As(err, &syntaxErr):
		return at(syntaxErr.Pos, syntaxErr.Msg)
	case errors.As(err, &resolveErr) && len(resolveErr) > 0:
		return at(resolveErr[0].Pos, resolveErr[0].Msg)
	case errors.As(err, &evalErr):
		// The innermost call may be of a built-in function, which has no place.
		for _, frame := range slices.Backward(evalErr.CallStack) {
			if frame.Pos.Line > 0 {
				return at(frame.Pos, strings.TrimPrefix(evalErr.Msg, "Starlark computation cancelled: "))
			}
		}
	}
	return fmt.Errorf("running the Starlark program: %w", err)
}

// starlarkWriter writes values as JSON, in the order of the program. It knows its limits: values can contain
// themselves, or be many times larger than what they take in memory.
type starlarkWriter struct{ bytes.Buffer }

func (w *starlarkWriter) value(v starlark.Value, depth int) error {
	switch {
	case depth > maxDepth:
		return fmt.Errorf("the configuration is nested more than %d deep", maxDepth)
	case w.Len() > maxFileSize:
		return errTooLarge
	}
	switch v := v.(type) {
	case starlark.NoneType:
		w.WriteString("null")
	case starlark.Bool:
		w.WriteString(strconv.FormatBool(bool(v)))
	case starlark.Int:
		w.WriteString(v.String())
	case starlark.Float:
		if math.IsInf(float64(v), 0) || math.IsNaN(float64(v)) {
			return fmt.Errorf("the configuration has the number %s, which YAML has no sign for", v)
		}
		w.WriteString(strconv.FormatFloat(float64(v), 'g', -1, 64))
	case starlark.String:
		w.text(string(v))
	case *starlark.Dict:
		return w.dict(v, depth)
	case *starlark.List, starlark.Tuple:
		return w.list(v.(starlark.Indexable), depth)
	default:
		return fmt.Errorf("the configuration has a value of type %s, which YAML does not know", v.Type())
	}
	return nil
}

func (w *starlarkWriter) dict(d *starlark.Dict, depth int) error {
	w.WriteByte('{')
	for i, item := range d.Items() {
		if i > 0 {
			w.WriteByte(',')
		}
		if key, ok := starlark.AsString(item[0]); ok {
			w.text(key)
		} else {
			w.text(item[0].String())
		}
		w.WriteByte(':')
		if err := w.value(item[1], depth+1); err != nil {
			return err
		}
	}
	w.WriteByte('}')
	return nil
}

func (w *starlarkWriter) list(l starlark.Indexable, depth int) error {
	w.WriteByte('[')
	for i := range l.Len() {
		if i > 0 {
			w.WriteByte(',')
		}
		if err := w.value(l.Index(i), depth+1); err != nil {
			return err
		}
	}
	w.WriteByte(']')
	return nil
}

// text writes a JSON string. Characters of HTML stay as they are, for those who read the result.
func (w *starlarkWriter) text(s string) {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // A string always encodes, and the buffer takes all.
	w.Truncate(w.Len() - 1)
}
