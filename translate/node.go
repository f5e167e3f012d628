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
	kind  byte   // '{', '[', '"' for a text, 0 for a number, a truth value or null
	key   string // in an object
	text  string // of a scalar; of a text what it says, without quotes
	items []node // of a list, or of an object in the order of their keys
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
func (n *node) remove(unwanted func(entry node) bool) {
	if n.kind == '{' {
		n.items = slices.DeleteFunc(n.items, unwanted)
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
				if err := (node{kind: '"', text: item.key}).writeJSON(out); err != nil {
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
// that are not complete lie on a stack, so that each value's list is made once, as long as it has to be.
type jsonReader struct {
	text  string
	at    int
	err   error
	items []node
}

func (r *jsonReader) value() node {
	switch c := r.text[r.at]; c {
	case '{', '[':
		n := node{kind: c}
		base := len(r.items)
		r.at++
		for r.text[r.at] != c+2 {
			if r.text[r.at] == ',' {
				r.at++
			}
			key := ""
			if c == '{' {
				key = r.string()
				r.at++ // the colon
			}
			item := r.value()
			item.key = key
			r.items = append(r.items, item)
		}
		r.at++
		n.items = slices.Clone(r.items[base:])
		r.items = r.items[:base]
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
	if n.kind != '{' {
		return
	}
	for i := 1; i < len(n.items); i++ { // few, and mostly in order
		for k := i; k > 0 && n.items[k].key < n.items[k-1].key; k-- {
			n.items[k], n.items[k-1] = n.items[k-1], n.items[k]
		}
	}
}
