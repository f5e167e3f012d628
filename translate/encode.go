package translate

import (
	"bytes"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
)

// YAML writes objects as documents of one stream, as kubectl reads them.
func YAML(objects []runtime.Object) ([]byte, error) {
	var out yamlWriter
	for i, o := range objects {
		n, err := plain(o)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.mapping(n, 0)
	}
	return out.Bytes(), nil
}

// JSON writes one object as it is, and several as a List, as kubectl does.
func JSON(objects []runtime.Object) ([]byte, error) {
	list := node{kind: '[', key: "items"}
	for _, o := range objects {
		n, err := plain(o)
		if err != nil {
			return nil, err
		}
		list.items = append(list.items, n)
	}
	whole := node{kind: '{', items: []node{{kind: '"', key: "apiVersion", text: "v1"}, list, {kind: '"', key: "kind", text: "List"}}}
	if len(list.items) == 1 {
		whole = list.items[0]
	}
	var compact, out bytes.Buffer
	if err := whole.writeJSON(&compact); err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	if err := json.Indent(&out, compact.Bytes(), "", "  "); err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// plain is an object as a person would write it: without the status and the empty fields that Go's types always write.
func plain(o runtime.Object) (node, error) {
	n, err := nodeOf(o)
	if err != nil {
		return node{}, fmt.Errorf("encoding a %T: %w", o, err)
	}
	n.prune()
	n.remove(func(entry node) bool { return entry.key == "status" })
	return n, nil
}

// emptyFields are those that the Kubernetes and Tekton types write though nothing is in them.
var emptyFields = map[string]bool{
	"creationTimestamp": true, "metadata": true, "computeResources": true, "resources": true, "spec": true,
	"status": true, "name": true,
}

// prune takes out empty fields, from the leaves up.
func (n *node) prune() {
	for i := range n.items {
		n.items[i].prune()
	}
	n.remove(func(v node) bool {
		return emptyFields[v.key] && len(v.items) == 0 && (v.kind == '{' || v.text == "" || v.text == "null")
	})
}
