package drone

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
	"github.com/google/go-jsonnet/toolutils"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// jsonnetStack is the depth of calls that Drone's server allows.
const jsonnetStack = 500

// evaluateJsonnet evaluates a program to an object, or to a list of them. It finds the facts under the names that Drone's
// server gives them: std.extVar("build.event"), std.extVar("repo.name"), std.extVar("build.param.NAME"). All are texts.
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

// limitRecursion makes every call count as one. A call that is marked tailstrict does not count for the library's limit,
// but takes stack all the same, and the end of Go's stack is the end of the process.
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
	return jsonnet.Contents{}, "", fmt.Errorf("import of %s is not possible here: evaluate with drone jsonnet, and convert the result", path)
}

// jsonnetPlace is how errors of the library give a place: file:line:column-column, or file:(line:column)-(line:column).
var jsonnetPlace = regexp.MustCompile(`:\(?(\d+):(\d+)(?:\)?-\(?[\d:]+\)?)?\s*`)

// jsonnetError finds the message and the place in the library's text of several lines.
func jsonnetError(file string, err error) error {
	message, trace, _ := strings.Cut(err.Error(), "\n")
	p := positioned{}
	place := func(s string) (rest string, ok bool) {
		s, ok = strings.CutPrefix(strings.TrimSpace(s), file)
		m := jsonnetPlace.FindStringSubmatchIndex(s)
		if !ok || m == nil || m[0] != 0 {
			return "", false
		}
		p.line, _ = strconv.Atoi(s[m[2]:m[3]])
		p.column, _ = strconv.Atoi(s[m[4]:m[5]])
		return s[m[1]:], true
	}
	message = strings.TrimPrefix(message, "RUNTIME ERROR: ")
	if rest, ok := place(message); ok {
		message = rest
	} else {
		for line := range strings.Lines(trace) {
			if _, ok := place(line); ok {
				break
			}
		}
	}
	p.message = "jsonnet: " + message
	return p
}
