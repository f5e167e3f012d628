package translate

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// node is a value of JSON: an object with sorted keys, a list, or a scalar. Trees of nodes are a fraction of the work
// of maps of maps, which for a pipeline of some hundred steps would take longer than to translate it.
type node struct {
	kind  byte     // '{', '[', '"' for a text, 0 for a number, a truth value or null
	text  string   // of a scalar; of a text what it says, without quotes
	keys  []string // of an object
	items []node   // of a list, or of an object in the order of its keys
}

// nodeOf is a Go value as its JSON says it.
func nodeOf(v any) (node, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return node{}, err
	}
	r := jsonReader{text: text.String()}
	n := r.value()
	return n, r.err
}

// remove takes entries out of an object.
func (n *node) remove(unwanted func(key string, v node) bool) {
	kept := 0
	for i, key := range n.keys {
		if !unwanted(key, n.items[i]) {
			n.keys[kept], n.items[kept] = key, n.items[i]
			kept++
		}
	}
	if n.kind == '{' {
		n.keys, n.items = n.keys[:kept], n.items[:kept]
	}
}

func (n node) writeJSON(out *bytes.Buffer) error {
	switch n.kind {
	case '{', '[':
		out.WriteByte(n.kind)
		for i, item := range n.items {
			if i > 0 {
				out.WriteByte(',')
			}
			if n.kind == '{' {
				if err := (node{kind: '"', text: n.keys[i]}).writeJSON(out); err != nil {
					return err
				}
				out.WriteByte(':')
			}
			if err := item.writeJSON(out); err != nil {
				return err
			}
		}
		out.WriteByte(n.kind + 2) // the closing one in ASCII
	case '"':
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(n.text); err != nil {
			return err
		}
		out.Truncate(out.Len() - len("\n"))
	default:
		out.WriteString(n.text)
	}
	return nil
}

// jsonReader reads what Go's encoder has written: valid, and without blanks between its parts. The entries of values
// that are not complete lie on two stacks, so that each value's lists are made once, as long as they have to be.
type jsonReader struct {
	text  string
	at    int
	err   error
	keys  []string
	items []node
}

func (r *jsonReader) value() node {
	switch c := r.text[r.at]; c {
	case '{', '[':
		n := node{kind: c}
		keys, items := len(r.keys), len(r.items)
		r.at++
		for r.text[r.at] != c+2 {
			if r.text[r.at] == ',' {
				r.at++
			}
			if c == '{' {
				r.keys = append(r.keys, r.string())
				r.at++ // the colon
			}
			r.items = append(r.items, r.value())
		}
		r.at++
		n.keys, n.items = slices.Clone(r.keys[keys:]), slices.Clone(r.items[items:])
		r.keys, r.items = r.keys[:keys], r.items[:items]
		n.sort()
		return n
	case '"':
		return node{kind: c, text: r.string()}
	default:
		end := r.at + strings.IndexAny(r.text[r.at:], ",]}\n")
		n := node{text: r.text[r.at:end]}
		r.at = end
		return n
	}
}

func (r *jsonReader) string() string {
	start := r.at + 1
	escaped := false
	for r.at = start; r.text[r.at] != '"'; r.at++ {
		if r.text[r.at] == '\\' {
			escaped = true
			r.at++
		}
	}
	r.at++
	if !escaped {
		return r.text[start : r.at-1]
	}
	var s string
	if err := json.Unmarshal([]byte(r.text[start-1:r.at]), &s); err != nil {
		r.err = err
	}
	return s
}

// sort orders the entries of an object by key; fields of Go's structs come in an order of their own.
func (n *node) sort() {
	if slices.IsSorted(n.keys) {
		return
	}
	for i := 1; i < len(n.keys); i++ {
		for k := i; k > 0 && n.keys[k] < n.keys[k-1]; k-- {
			n.keys[k], n.keys[k-1] = n.keys[k-1], n.keys[k]
			n.items[k], n.items[k-1] = n.items[k-1], n.items[k]
		}
	}
}
