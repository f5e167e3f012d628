package drone

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// Limits of what is read. The largest known files, generated ones, have a few hundred kilobytes.
const (
	maxFileSize = 2 << 20 // bytes
	maxDepth    = 200     // maps and lists in each other
	maxNodes    = 500_000 // keys and values, with aliases written out
)

// checkText refuses what no YAML library needs to see: too much, or not text.
func checkText(file string, text []byte) diag.List {
	var list diag.List
	if len(text) > maxFileSize {
		list.Add(diag.Diagnostic{
			Severity: diag.Error, Code: CodeTooLarge, Position: diag.Position{File: file},
			Message: fmt.Sprintf("the file has %.1f MiB; at most %d MiB are read", float64(len(text))/(1<<20), maxFileSize>>20),
		})
		return list
	}
	if at := indexNotText(text); at >= 0 {
		r, _ := utf8.DecodeRune(text[at:])
		what := fmt.Sprintf("the character %U is not allowed in YAML", r)
		hint := "remove it, or write it as an escape in double quotes"
		if r == utf8.RuneError {
			what, hint = "the file is not UTF-8 text", "save it as UTF-8"
		}
		list.Add(diag.Diagnostic{
			Severity: diag.Error, Code: CodeEncoding, Position: positionOf(file, text, at), Message: what, Hint: hint,
		})
	}
	return list
}

// indexNotText is the first byte of a character that YAML forbids, or -1.
func indexNotText(text []byte) int {
	for i := 0; i < len(text); {
		if c := text[i]; 0x20 <= c && c < 0x7f || c == '\n' {
			i++
			continue
		}
		r, width := utf8.DecodeRune(text[i:])
		if isNotText(r) {
			return i
		}
		i += width
	}
	return -1
}

// isNotText reports whether YAML forbids a character. Bytes that are not UTF-8 count as U+FFFD, which is too rare a
// character to tell apart.
func isNotText(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r', r == 0x85:
		return false
	default:
		return r < 0x20 || 0x7f <= r && r < 0xa0 || r == utf8.RuneError || r == 0xfffe || r == 0xffff
	}
}

// positionOf is the place of a byte.
func positionOf(file string, text []byte, at int) diag.Position {
	before := text[:at]
	line := bytes.Count(before, []byte{'\n'})
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return diag.Position{File: file, Line: line + 1, Column: column + 1}
}

// tooDeep reports the line on which nesting passes a generous bound, without parsing: the YAML libraries recurse, and
// some of what they do takes the square of the depth. It counts brackets that stay open and dashes in a row, so it may
// count too much; text that is not meant to provoke stays far below.
func tooDeep(text []byte) (line int, deep bool) {
	const bound = 5 * maxDepth
	open := 0
	for n := 1; len(text) > 0; n++ {
		var row []byte
		row, text = cutLine(text)
		open = max(0, open+bytes.Count(row, []byte{'['})+bytes.Count(row, []byte{'{'}))
		if open > bound {
			return n, true
		}
		open = max(0, open-bytes.Count(row, []byte{']'})-bytes.Count(row, []byte{'}'}))
		if prefix := row[:len(row)-len(bytes.TrimLeft(row, " \t-?:"))]; len(prefix) > bound {
			return n, true
		}
	}
	return 0, false
}

// measure refuses a tree that is too deep, or too large with its aliases written out, as decoders write them out.
func (t tree) measure() diag.List {
	var list diag.List
	m := measurer{sizes: map[*yamlv3.Node]size{}, open: map[*yamlv3.Node]bool{}}
	whole := m.measure(t.root)
	switch {
	case m.cycle != nil:
		list.Errorf(t.position(m.cycle), CodeSyntax, "the anchor %s contains itself", m.cycle.Value)
	case whole.depth > maxDepth:
		list.Errorf(t.position(t.root), CodeTooLarge, "maps and lists are nested more than %d deep", maxDepth)
	case whole.nodes > maxNodes:
		list.Errorf(t.position(t.root), CodeTooLarge,
			"the document has more than %d keys and values, aliases written out", maxNodes)
	}
	return list
}

type size struct{ nodes, depth int }

type measurer struct {
	sizes map[*yamlv3.Node]size
	open  map[*yamlv3.Node]bool // anchored nodes around the present one
	cycle *yamlv3.Node          // an alias inside its own anchor
}

func (m *measurer) measure(n *yamlv3.Node) size {
	if n.Kind == yamlv3.AliasNode {
		if m.open[n.Alias] {
			m.cycle = n
			return size{}
		}
		return m.measure(n.Alias)
	}
	if s, ok := m.sizes[n]; ok {
		return s
	}
	if n.Anchor != "" {
		m.open[n] = true
		defer delete(m.open, n)
	}
	s := size{nodes: 1}
	for _, sub := range n.Content {
		inner := m.measure(sub)
		s.nodes = min(s.nodes+inner.nodes, maxNodes+1)
		s.depth = max(s.depth, inner.depth)
	}
	if len(n.Content) > 0 {
		s.depth++
	}
	if n.Anchor != "" {
		m.sizes[n] = s
	}
	return s
}
