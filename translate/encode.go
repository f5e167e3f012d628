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
		m, err := plain(o)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.mapping(m, "")
	}
	return out.Bytes(), nil
}

// JSON writes one object as it is, and several as a List, as kubectl does.
func JSON(objects []runtime.Object) ([]byte, error) {
	items := make([]any, len(objects))
	for i, o := range objects {
		m, err := plain(o)
		if err != nil {
			return nil, err
		}
		items[i] = m
	}
	var v any = map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
	if len(items) == 1 {
		v = items[0]
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	return out.Bytes(), nil
}

// plain is an object as a person would write it: without the status and the empty fields that Go's types always write.
func plain(o runtime.Object) (map[string]any, error) {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, fmt.Errorf("encoding a %T: %w", o, err)
	}
	delete(m, "status")
	prune(m)
	return m, nil
}

// emptyFields are those that the Kubernetes and Tekton types write though nothing is in them.
var emptyFields = map[string]bool{
	"creationTimestamp": true, "metadata": true, "computeResources": true, "resources": true, "spec": true, "status": true, "name": true,
}

// prune takes out empty fields, from the leaves up.
func prune(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			prune(item)
			if emptyFields[key] && isEmpty(item) {
				delete(v, key)
			}
		}
	case []any:
		for _, item := range v {
			prune(item)
		}
	}
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		return len(v) == 0
	default:
		return false
	}
}
