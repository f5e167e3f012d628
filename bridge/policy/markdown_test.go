package policy

import (
	"flag"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the table of keys in docs/policies.md")

const page = "../../docs/policies.md"

// TestGeneratedKeys holds the table of the documentation against the code's.
func TestGeneratedKeys(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- The table of keys is made from the code. -->\n", "<!-- The end of the table. -->"
	before, rest, found := strings.Cut(string(text), begin)
	table, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", page)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+Markdown()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(Markdown(), table); diff != "" {
		t.Errorf("%s is not up to date; run go test ./bridge/policy -run Generated -update (-want +got)\n%s", page, diff)
	}
}

// TestExamplesOfTheDocumentation: the policies that the page shows can be used.
func TestExamplesOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(examples) == 0 {
		t.Fatal("there is no example")
	}
	for _, e := range examples {
		if _, list := Parse("example", []byte(e[1])); len(list) > 0 {
			t.Errorf("%s\n%s", report(list), e[1])
		}
	}
}

// TestTableAndStructsAgree: each key that is decoded is in the table, and each of the table is decoded.
func TestTableAndStructsAgree(t *testing.T) {
	var decoded []string
	var walk func(prefix string, of reflect.Type)
	walk = func(prefix string, of reflect.Type) {
		for i := range of.NumField() {
			f := of.Field(i)
			tag := f.Tag.Get("yaml")
			if !f.IsExported() || tag == "-" {
				continue
			}
			name := prefix + strings.ToLower(f.Name)
			if tag != "" {
				name = prefix + tag
			}
			typ := f.Type
			if typ.Kind() == reflect.Pointer {
				typ = typ.Elem()
			}
			decoded = append(decoded, name)
			switch {
			case strings.HasPrefix(prefix, "match."):
			case typ.Kind() == reflect.Struct:
				walk(name+".", typ)
			case typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Struct:
				walk(name+"[].", typ.Elem())
			}
		}
	}
	walk("", reflect.TypeFor[Policy]())
	without := []string{"match.status", "match.paths", "match.matrix"} // of no meaning to a policy
	decoded = slices.DeleteFunc(decoded, func(name string) bool { return slices.Contains(without, name) })
	var listed []string
	for _, k := range Keys() {
		listed = append(listed, k.Path)
	}
	slices.Sort(decoded)
	slices.Sort(listed)
	if diff := cmp.Diff(listed, decoded); diff != "" {
		t.Errorf("keys (-table +structs)\n%s", diff)
	}
}
