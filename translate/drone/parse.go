package drone

import (
	"bytes"
	"errors"
	"io"

	"github.com/buildkite/yaml"
	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// Parse reads a Drone file: its documents, decoded as Drone's runners do, and everything that there is to say about
// them by Drone's rules, apart from Lint's. It never panics. The manifest is whole only when the list has no errors;
// otherwise it holds what could be read. Substitution of ${…} is the caller's, before.
func Parse(file string, text []byte) (*Manifest, diag.List) {
	m := &Manifest{File: file}
	if list := checkText(file, text); list.HasErrors() {
		return m, list
	}
	docs, list := split(file, text)
	blank := 0
	for _, doc := range docs {
		if doc.isBlank() {
			blank++
			continue
		}
		list = append(list, m.read(doc)...)
	}
	switch {
	case len(docs) == blank:
		list.Add(diag.Diagnostic{
			Severity: diag.Error, Code: CodeNotDrone, Position: diag.Position{File: file},
			Message: "the file is empty", Hint: "write a document of kind: pipeline",
		})
	case len(m.Pipelines)+len(m.Skipped) == 0 && !list.HasErrors():
		list.Errorf(diag.Position{File: file}, CodeNotDrone, "not a Drone file: no document of kind pipeline")
	}
	if blank > 0 && blank < len(docs) {
		list = append(list, emptyDocuments(file, docs)...)
	}
	list = append(list, lintManifest(m)...)
	return m, list.Sorted()
}

// emptyDocuments tells of documents that have no content, such as comments before the first separator.
func emptyDocuments(file string, docs []document) diag.List {
	var list diag.List
	for _, doc := range docs {
		if doc.isBlank() {
			list.Add(diag.Diagnostic{
				Severity: diag.Info, Code: CodeEmptyDocument, Position: diag.Position{File: file, Line: doc.line, Column: 1},
				Message: "a document without content, on which some versions of Drone's server refuse the file",
				Hint:    "move comments below the first ---, and remove a --- at the end",
			})
		}
	}
	return list
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
	if list = t.open(doc); list.HasErrors() {
		return list
	}
	return m.add(t, doc)
}

// open reads a document into nodes, within the limits of what is read.
func (t *tree) open(doc document) (list diag.List) {
	if line, deep := tooDeep(doc.text); deep {
		pos := diag.Position{File: t.file, Line: doc.line + line - 1}
		list.Errorf(pos, CodeTooLarge, "maps and lists are nested too deep")
		return list
	}
	if err := t.load(doc); err != nil {
		return append(list, *err)
	}
	return t.measure()
}

// load reads a document into nodes. Where it cannot, the error says why. Drone's own library takes what this one takes,
// but both stop at the end of the first value, and lose what follows a closing brace at the top. That is an error here.
func (t *tree) load(doc document) *diag.Diagnostic {
	var root, rest yamlv3.Node
	decoder := yamlv3.NewDecoder(bytes.NewReader(doc.text))
	modern := decoder.Decode(&root)
	if modern == nil && len(root.Content) > 0 {
		t.root = root.Content[0]
		if modern = decoder.Decode(&rest); errors.Is(modern, io.EOF) {
			return nil
		}
	}
	if d, found := t.conflict(doc); found {
		return &d
	}
	old := yaml.Unmarshal(doc.text, &struct{}{})
	if typeErr := (*yaml.TypeError)(nil); errors.As(old, &typeErr) {
		old = nil
	}
	d := t.syntaxError(doc, old, modern)
	return &d
}

// add adds a document that is YAML, by its kind.
func (m *Manifest) add(t tree, doc document) diag.List {
	if t.root.Kind != yamlv3.MappingNode {
		return notDrone(t)
	}
	kind := textOf(lookup(t.root, "kind"))
	switch kind {
	case "pipeline":
		return m.addPipeline(t, doc)
	case "secret":
		return m.addSecret(t, doc)
	case "":
		return noKind(t)
	default:
		return m.otherKind(t, kind)
	}
}

func (m *Manifest) addPipeline(t tree, doc document) diag.List {
	kind := textOf(lookup(t.root, "type"))
	switch kind {
	case "", TypeDocker, TypeKubernetes:
	default:
		return m.skip(t, kind)
	}
	checked := t.check("pipeline", typesOf(kind))
	list := checked.list
	p := new(Pipeline)
	list = append(list, t.decode(doc, p, checked)...)
	t.place(p)
	p.normalise()
	m.Pipelines = append(m.Pipelines, p)
	return list
}

func (m *Manifest) addSecret(t tree, doc document) diag.List {
	checked := t.check("secret", OfBoth)
	list := checked.list
	s := &Secret{Positions: t.positions(t.root)}
	list = append(list, t.decode(doc, s, checked)...)
	switch {
	case s.Name == "":
		list.Add(diag.Diagnostic{
			Severity: diag.Warning, Code: CodeSecret, Position: s.At(""),
			Message: "the secret has no name, so nothing can refer to it", Hint: "add a name",
		})
	case s.Data == "" && s.Get.Path == "" && s.Get.Name == "":
		list.Add(diag.Diagnostic{
			Severity: diag.Warning, Code: CodeSecret, Position: s.At(""),
			Message: "the secret " + s.Name + " has neither data nor get, so it never has a value", Hint: "add data or get.path",
		})
	}
	m.Secrets = append(m.Secrets, s)
	return list
}

// decode fills a struct with the library that Drone uses, and returns what that library refuses beyond what the check
// of keys has told.
func (t tree) decode(doc document, into any, checked *checker) diag.List {
	err := yaml.Unmarshal(doc.text, into)
	if err == nil {
		return nil
	}
	if typeErr := (*yaml.TypeError)(nil); errors.As(err, &typeErr) {
		return t.typeErrors(typeErr, checked.told)
	}
	if checked.list.HasErrors() {
		return nil
	}
	return diag.List{t.syntaxError(doc, err, nil)}
}

// textOf is a scalar as Drone's decoder puts it into a text.
func textOf(n *yamlv3.Node) string {
	if n == nil || n.Kind != yamlv3.ScalarNode || isNull(n) {
		return ""
	}
	return n.Value
}
