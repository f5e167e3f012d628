package drone

import (
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write generated files instead of comparing them")

func TestMatrixIsInTheDocumentation(t *testing.T) {
	const file = "../../docs/support.md"
	if *update {
		if err := os.MkdirAll("../../docs", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(Matrix()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("the support matrix: %v; run with -update", err)
	}
	if diff := cmp.Diff(Matrix(), string(got)); diff != "" {
		t.Errorf("%s is out of date; run with -update (-want +got):\n%s", file, diff)
	}
}

// Every key that is decoded is in the table, and every key of the table that has an effect is decoded.
func TestTableAndStructsAgree(t *testing.T) {
	decoded := map[string]bool{}
	fieldPaths(reflect.TypeFor[Pipeline](), "", decoded)
	delete(decoded, "kind")
	inTable := map[string]bool{}
	for _, key := range keys() {
		if key.Kind != "pipeline" {
			continue
		}
		inTable[key.Path] = true
		if !decoded[key.Path] && key.Status != IgnoredByDrone && key.Path != "kind" &&
			key.Path != "tolerations[].toleration_seconds" {
			t.Errorf("%s is %s in the table and not decoded", key.Path, key.Status)
		}
	}
	for path := range decoded {
		if strings.HasPrefix(path, "services[]") || path == "trigger.matrix" {
			continue
		}
		if !inTable[path] {
			t.Errorf("%s is decoded and not in the table", path)
		}
	}
}

// fieldPaths collects the keys that a struct is decoded from. The types of Drone's own library are leaves, apart from
// conditions and devices.
func fieldPaths(typ reflect.Type, prefix string, into map[string]bool) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case f.Anonymous || name == "-" || !f.IsExported():
			continue
		case name == "":
			name = strings.ToLower(f.Name)
		}
		path := prefix + name
		into[path] = true
		inner := f.Type
		for {
			if inner.Kind() == reflect.Slice {
				path += "[]"
			} else if inner.Kind() != reflect.Pointer {
				break
			}
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner.Name() != "Condition" {
			fieldPaths(inner, path+".", into)
		}
	}
}
