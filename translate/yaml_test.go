package translate

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

func TestYAMLIsWrittenForPeople(t *testing.T) {
	got := yamlOf(t, map[string]any{
		"apiVersion": "v1", "empty": map[string]any{}, "none": []any{}, "nothing": nil, "yes": true, "number": -5,
		"part": 0.5,
		"spec": map[string]any{
			"list":   []any{"a", map[string]any{"b": "c", "d": []any{1}}, []any{"e", "f"}, map[string]any{}},
			"script": "set -e\n\nif true; then\n  echo \"it's\"\nfi\n",
			"open":   "one\ntwo", "long": "one\n\n", "quoted": "true", "tricky": "a: b", "odd\tkey": "$(x)",
			"option": "-c", "path": "./x", "minus": "-1", "image": "golang:1.26", "time": "1h0m0s", "digits": "10",
		},
	})
	const want = `apiVersion: v1
empty: {}
none: []
nothing: null
number: -5
part: 0.5
spec:
  digits: "10"
  image: golang:1.26
  list:
  - a
  - b: c
    d:
    - 1
  - - e
    - f
  - {}
  long: |+
    one

  minus: "-1"
  "odd\tkey": $(x)
  open: |-
    one
    two
  option: -c
  path: ./x
  quoted: "true"
  script: |
    set -e

    if true; then
      echo "it's"
    fi
  time: 1h0m0s
  tricky: "a: b"
"yes": true
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("YAML (-want +got):\n%s", diff)
	}
}

func yamlOf(t *testing.T, v any) string {
	t.Helper()
	n, err := nodeOf(v)
	if err != nil {
		t.Fatal(err)
	}
	var w yamlWriter
	w.mapping(n, 0)
	return w.String()
}

// textsLikeYAML are texts that a reader of YAML could take for something else.
var textsLikeYAML = []string{
	"", " ", "a", "-a", "--a", "---a", "--", "-e5", "-inf", "-.inf", "$", "$a", "$$", "./a", "../a", "..", ".a",
	".../a", "y", "N", "yes", "No", "ON", "off", "true", "False", "NULL", "null", "~", "nan", ".nan", ".inf", "inf",
	"1", "-1", "+1", "0x1F",
	"0o7", "0b1", "010", "1_000", "1.5", "1e3", "1E+3", ".5", "5.", "20:30", "1:20:30", "2001-01-01",
	"2001-01-01T00:00:00Z", "2001-12-14t21:59:43.10-05:00",
	"1h", "5Gi", "500m", "1a", "0xg", "e5", "a:", "a: b", "a:b", ":a", "a #b", "a#b", "#a", "- a", "-", "--", "---",
	"...", "? a", "?", "! a", "!!str a", "&a", "*a", "%a", "@a", "`a",
	"{a", "}", "[a", "]", ",a", "a, b", "|", "> a", "'a'", `"a"`, `a"b`, `a\b`, "a'b", "<<", "=", "a\tb", "\ta", "a ",
	" a", "a\n", "\na", "a\n\n", "a\nb", "a\n b", " a\nb",
	"a\n\tb", "a \nb", "a\n  \nb", "a\n \n", "a\r\nb", "a\rb", "a\x00b", "a\x7fb", "a\u0085b", "a\u2028b", "a\ufeffb",
	"\ufeffa", "a\ufffdb", "日本語", "日\n本", "🚀", "a\u00a0b", "a\u200bb",
	"---\na", "a\n---\nb", "a\n...\nb", "# a\nb", "a\n# b", "key: v\nk2: v", "$(x)", "/path", "/path: x", "_x",
	"http://x/#y", "a:\nb", strings.Repeat("long ", 100), "\u001b[1m",
}

func TestTextsComeBackFromYAML(t *testing.T) {
	for _, text := range textsLikeYAML {
		checkYAML(t, text)
	}
}

// checkYAML writes a text at every kind of place and reads it back as Kubernetes' tools, which follow YAML 1.1, and as
// others, which follow YAML 1.2, do.
func checkYAML(t *testing.T, text string) {
	t.Helper()
	v := map[string]any{
		"value": text, "list": []any{text, []any{text}, map[string]any{"in": text}},
		"map": map[string]any{"deep": map[string]any{"value": text}}, "z": "end",
	}
	if !slices.Contains([]string{"value", "list", "map", "z"}, text) &&
		len(text) < 100 { // a long key would need another form
		v[text] = "key"
	}
	out := yamlOf(t, v)
	var old, modern map[string]any
	if err := yaml.UnmarshalStrict([]byte(out), &old); err != nil {
		t.Errorf("%q does not read back: %v\n%s", text, err, []byte(out))
	} else if diff := cmp.Diff(v, old); diff != "" {
		t.Errorf("%q reads back otherwise (-want +got):\n%s\n%s", text, diff, out)
	}
	if err := yamlv3.Unmarshal([]byte(out), &modern); err != nil {
		t.Errorf("%q does not read back as YAML 1.2: %v\n%s", text, err, []byte(out))
	} else if diff := cmp.Diff(v, modern); diff != "" {
		t.Errorf("%q reads back otherwise as YAML 1.2 (-want +got):\n%s\n%s", text, diff, []byte(out))
	}
}

func FuzzYAML(f *testing.F) {
	for _, text := range textsLikeYAML {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			t.Skip()
		}
		checkYAML(t, text)
	})
}
