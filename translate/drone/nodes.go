package drone

import (
	"slices"

	"github.com/buildkite/yaml"
	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// Document is a YAML document as nodes that know their places. It serves formats beside pipelines that Drone has as files
// of documents, so that all of them are cut, limited and read alike.
type Document struct {
	tree
	doc document
}

// Documents reads a file into documents, without those that have no content. The list tells what is no YAML, or more than
// is read; documents without such an error are there.
func Documents(file string, text []byte) ([]*Document, diag.List) {
	if list := checkText(file, text); list.HasErrors() {
		return nil, list
	}
	var all []*Document
	docs, list := split(file, text)
	for _, doc := range docs {
		if doc.isBlank() {
			continue
		}
		d := &Document{tree: tree{file: file, line: doc.line}, doc: doc}
		problems := d.openSafely()
		list = append(list, problems...)
		if !problems.HasErrors() {
			all = append(all, d)
		}
	}
	return all, list
}

// openSafely is open where an input that trips the YAML library is the input's fault.
func (d *Document) openSafely() (list diag.List) {
	defer func() {
		if r := recover(); r != nil {
			list.Errorf(d.position(nil), CodeSyntax, "not readable as YAML: %v", r)
		}
	}()
	return d.open(d.doc)
}

// Root is the document's value.
func (d *Document) Root() *yamlv3.Node { return resolve(d.root) }

// Position is where a node of the document stands in the file; nil is the document's beginning.
func (d *Document) Position(n *yamlv3.Node) diag.Position { return d.position(n) }

// Decode fills a struct as Drone's own decoder does.
func (d *Document) Decode(into any) error { return yaml.Unmarshal(d.doc.text, into) }

// Entry is a key of a map with its value.
type Entry struct{ Key, Value *yamlv3.Node }

// Entries are the keys of a map in their order, aliases and merges followed, each as often as it is given. Anything but a
// map has none.
func Entries(n *yamlv3.Node) []Entry {
	var out []Entry
	for _, e := range entries(n) {
		out = append(out, Entry{e.key, e.value})
	}
	return out
}

// Items are the items of a list, aliases followed. Anything but a list has none.
func Items(n *yamlv3.Node) []*yamlv3.Node {
	all := slices.Clone(items(n))
	for i, n := range all {
		all[i] = resolve(n)
	}
	return all
}

// Scalar is what Drone's decoder takes a scalar for: nil, bool, int, int64, uint64, float64 or string, by YAML 1.1.
func Scalar(n *yamlv3.Node) any { return scalarOf(n) }

// FoundName is how a message calls what stands in the place of a value.
func FoundName(n *yamlv3.Node) string { return foundName(n) }

// DidYouMean is a hint with the name that is close enough to a word, or "".
func DidYouMean(word string, names []string) string { return didYouMean(word, names) }

// Events are the names that Drone's server gives to events.
func Events() []string { return slices.Clone(events) }

// IsCostly reports whether matching a pattern of a condition could take too long.
func IsCostly(pattern string) bool { return isCostly(pattern) }
