package policy

import (
	"fmt"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// Codes of a file of policies, beside those of package drone.
const (
	// CodeNoPolicy is a file without any policy.
	CodeNoPolicy diag.Code = "no-policy"
	// CodeContradiction is what cannot hold together.
	CodeContradiction diag.Code = "contradiction"
	// CodeUnreachable is a policy that no build gets.
	CodeUnreachable diag.Code = "unreachable"
)

// Parse reads a file of policies. The list tells everything that is wrong; policies are there only where it has no error.
func Parse(file string, text []byte) (Policies, diag.List) {
	docs, list := drone.Documents(file, text)
	for i := range list {
		if list[i].Code == drone.CodeTextIgnored { // What is ignored grants too much.
			list[i].Severity, list[i].Hint = diag.Error, "let a line --- alone separate documents, and remove a line ..."
		}
	}
	if len(docs) == 0 && !list.HasErrors() {
		list.Add(diag.Diagnostic{
			Severity: diag.Error, Code: CodeNoPolicy, Position: diag.Position{File: file},
			Message: "the file has no policy", Hint: "write a document of kind: policy",
		})
	}
	var all Policies
	for _, doc := range docs {
		p, problems := read(doc)
		list = append(list, problems...)
		if p != nil {
			all = append(all, p)
		}
	}
	list = append(list, all.checkTogether()...)
	if !list.HasErrors() {
		list = append(list, all.Fit(workspace.Options{})...)
	}
	list = list.Sorted()
	if list.HasErrors() {
		return nil, list
	}
	return all, list
}

// read makes a policy of a document. It is nil where the document is none, and may lack what is told to be wrong.
func read(doc *drone.Document) (*Policy, diag.List) {
	c := &checker{doc: doc, places: map[string]diag.Position{"": doc.Position(doc.Root())}, strange: map[string]bool{}}
	if !c.isPolicy() {
		return nil, c.list
	}
	c.mapping(root(), "", doc.Root())
	p := &Policy{places: c.places, strange: c.strange}
	if err := doc.Decode(p); err != nil && !c.list.HasErrors() {
		c.fail(drone.CodeWrongShape, nil, "", "the policy cannot be read: %v", err)
	}
	return p, append(c.list, p.check()...)
}

// isPolicy reports whether a document is of kind policy, and tells where it is not.
func (c *checker) isPolicy() bool {
	node := c.doc.Root()
	if node.Kind != yamlv3.MappingNode {
		c.fail(CodeNoPolicy, node, "begin with kind: policy", "a policy must be a map of keys, found %s", drone.FoundName(node))
		return false
	}
	for _, e := range drone.Entries(node) {
		switch {
		case e.Key.Value != "kind":
		case e.Value.Value == "policy":
			return true
		default:
			hint := drone.DidYouMean(e.Value.Value, []string{"policy"})
			if hint == "" {
				hint = "put other documents into another file"
			}
			c.fail(drone.CodeKind, e.Value, hint, "kind must be policy, found %q", e.Value.Value)
			return false
		}
	}
	c.fail(drone.CodeKind, node, "add kind: policy", "the document has no kind")
	return false
}

// at is the place of a path, or of the nearest thing around it.
func (p *Policy) at(path string) diag.Position {
	for {
		if pos, ok := p.places[path]; ok || path == "" {
			return pos
		}
		path = parent(path)
	}
}

// has reports whether the file has a path.
func (p *Policy) has(path string) bool {
	_, ok := p.places[path]
	return ok
}

// title is how a message calls a policy.
func (p *Policy) title() string {
	if p.Name == "" {
		return fmt.Sprintf("the policy of line %d", p.at("").Line)
	}
	return "the policy " + p.Name
}
