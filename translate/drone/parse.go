package drone

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/buildkite/yaml"
	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// Parse reads a Drone file: its documents, decoded as Drone's runners do, and everything that there is to say about them
// by Drone's rules. It never panics. The manifest is whole only when the list has no errors; otherwise it holds what could
// be read. Substitution of ${…} is the caller's, before.
func Parse(file string, text []byte) (*Manifest, diag.List) {
	m := &Manifest{File: file}
	docs, list := split(file, text)
	for _, doc := range docs {
		list = append(list, m.read(doc)...)
	}
	if len(m.Pipelines)+len(m.Skipped) == 0 && !list.HasErrors() {
		list.Errorf(diag.Position{File: file}, CodeNotDrone, "not a Drone file: no document of kind pipeline")
	}
	list = append(list, lintManifest(m)...)
	return m, list.Sorted()
}

// read adds a document to the manifest.
func (m *Manifest) read(doc document) (list diag.List) {
	t := tree{file: m.File, line: doc.line}
	defer func() {
		// The YAML libraries are old; an input that trips one of them is the input's fault to the user.
		if r := recover(); r != nil {
			list.Errorf(t.position(nil), CodeSyntax, "not readable as YAML: %v", r)
		}
	}()
	if doc.isBlank() {
		return list
	}
	var root yamlv3.Node
	if err := yamlv3.Unmarshal(doc.text, &root); err == nil && len(root.Content) > 0 {
		t.root = root.Content[0]
	}
	var head struct{ Kind, Type, Name string }
	if err := yaml.Unmarshal(doc.text, &head); err != nil {
		return append(list, decodeErrors(t, err)...)
	}
	switch head.Kind {
	case "pipeline":
		if head.Type != "" && head.Type != TypeDocker && head.Type != TypeKubernetes {
			m.Skipped = append(m.Skipped, SkippedPipeline{Name: head.Name, Type: head.Type, Position: t.position(t.root)})
			list.Warnf(t.position(t.root), CodeTypeSkipped,
				"pipelines of type %s do not run in containers and are left out", head.Type)
			return list
		}
		p, errs := t.pipeline(doc)
		m.Pipelines = append(m.Pipelines, p)
		list = append(list, errs...)
	case "secret":
		s := &Secret{Positions: t.positions(t.root)}
		if err := yaml.Unmarshal(doc.text, s); err != nil {
			list = append(list, decodeErrors(t, err)...)
		}
		m.Secrets = append(m.Secrets, s)
	}
	return list
}

// pipeline decodes a document of kind pipeline.
func (t tree) pipeline(doc document) (*Pipeline, diag.List) {
	var list diag.List
	p := new(Pipeline)
	if err := yaml.Unmarshal(doc.text, p); err != nil {
		list = append(list, decodeErrors(t, err)...)
	}
	if p.Type == "" {
		p.Type = TypeDocker
	}
	p.Positions = t.positions(t.root, "steps", "services", "volumes")
	t.place(p.Steps, "steps")
	t.place(p.Services, "services")
	for i, n := range items(lookup(t.root, "volumes")) {
		if i < len(p.Volumes) && p.Volumes[i] != nil {
			p.Volumes[i].Positions = t.positions(n)
		}
	}
	return p, list
}

// place gives the steps under a key their positions.
func (t tree) place(steps []*Step, key string) {
	nodes := items(lookup(t.root, key))
	for i, step := range steps {
		switch {
		case step == nil:
		case i < len(nodes):
			step.Positions = t.positions(nodes[i])
		default:
			step.Positions = t.positions(nil)
		}
	}
}

// items are the items of a list.
func items(n *yamlv3.Node) []*yamlv3.Node {
	if n = resolve(n); n != nil && n.Kind == yamlv3.SequenceNode {
		return n.Content
	}
	return nil
}

var atLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)

// decodeErrors turns an error of the YAML library into diagnostics.
func decodeErrors(t tree, err error) diag.List {
	var list diag.List
	texts := []string{err.Error()}
	if typeErr, ok := err.(*yaml.TypeError); ok {
		texts = typeErr.Errors
	}
	for _, text := range texts {
		pos := diag.Position{File: t.file, Line: t.line}
		if m := atLine.FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1])
			pos.Line, text = t.line+n-1, m[2]
		}
		list.Errorf(pos, CodeSyntax, "%s", fmt.Sprintf("not readable as YAML: %s", strings.TrimPrefix(text, "yaml: ")))
	}
	return list
}
