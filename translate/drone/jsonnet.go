package drone

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
	"github.com/google/go-jsonnet/toolutils"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// jsonnetStack is the depth of calls that Drone's server allows.
const jsonnetStack = 500

// evaluateJsonnet evaluates a program to an object, or to a list of them. It finds the facts under the names that
// Drone's server gives them: std.extVar("build.event"), std.extVar("repo.name"), std.extVar("build.param.NAME"). All
// are texts.
func evaluateJsonnet(file string, text []byte, f facts) ([]byte, diag.List, error) {
	vm := jsonnet.MakeVM()
	vm.MaxStack = jsonnetStack
	vm.Importer(noImports{})
	for key, value := range f.repo {
		vm.ExtVar("repo."+key, fmt.Sprint(value))
	}
	for key, value := range f.build {
		vm.ExtVar("build."+key, fmt.Sprint(value))
	}
	for key, value := range f.params {
		vm.ExtVar("build.param."+key, value)
	}
	program, err := jsonnet.SnippetToAST(file, string(text))
	if err != nil {
		return nil, nil, jsonnetError(file, err)
	}
	limitRecursion(program)
	result, err := vm.Evaluate(program)
	if err != nil {
		return nil, nil, jsonnetError(file, err)
	}
	docs := []json.RawMessage{json.RawMessage(result)}
	if strings.HasPrefix(strings.TrimSpace(result), "[") {
		if err := json.Unmarshal([]byte(result), &docs); err != nil {
			return nil, nil, fmt.Errorf("reading the program's result: %w", err)
		}
	}
	out, err := documents(docs)
	return out, nil, err
}

// limitRecursion makes every call count as one. A call that is marked tailstrict does not count for the library's
// limit, but takes stack all the same, and the end of Go's stack is the end of the process.
func limitRecursion(n ast.Node) {
	if call, ok := n.(*ast.Apply); ok {
		call.TailStrict = false
	}
	for _, sub := range toolutils.Children(n) {
		limitRecursion(sub)
	}
}

// noImports refuses every import. Drone's server can be configured to fetch them from the repository; a program that
// imports needs its files beside it, which a single file does not have.
type noImports struct{}

func (noImports) Import(_, path string) (jsonnet.Contents, string, error) {
	err := fmt.Errorf("import of %s is not possible here: evaluate with drone jsonnet, and convert the result", path)
	return jsonnet.Contents{}, "", err
}

// jsonnetError finds the place of an error in the program.
func jsonnetError(file string, err error) error {
	var (
		static interface {
			error
			Loc() ast.LocationRange
		}
		runtime jsonnet.RuntimeError
	)
	at := func(loc ast.LocationRange, message string) error {
		message = "jsonnet: " + strings.TrimSuffix(message, ".")
		return positioned{line: loc.Begin.Line, column: loc.Begin.Column, message: message}
	}
	switch {
	case errors.As(err, &static):
		loc := static.Loc()
		return at(loc, strings.TrimSpace(strings.TrimPrefix(static.Error(), loc.String())))
	case errors.As(err, &runtime):
		// The innermost frames may be of the standard library.
		for _, frame := range runtime.StackTrace {
			if frame.Loc.FileName == file && frame.Loc.IsSet() {
				return at(frame.Loc, runtime.Msg)
			}
		}
		return at(ast.LocationRange{}, runtime.Msg)
	}
	// The library reports a crash of its own with the stack, which says nothing to the author of a program.
	message, _, _ := strings.Cut(err.Error(), "\n")
	return at(ast.LocationRange{}, message)
}
