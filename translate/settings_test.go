package translate

import (
	"strings"
	"testing"

	buildkite "github.com/buildkite/yaml"
	sigs "sigs.k8s.io/yaml"
)

// Settings become texts exactly as Drone's runners make them: YAML 1.1 scalars, lists joined by commas, all else JSON.
func TestEncodingOfSettings(t *testing.T) {
	for _, test := range []struct{ value, want string }{
		{"text", "text"}, {"''", ""}, {"' spaces '", " spaces "}, {`"a\nb"`, "a\nb"}, {"|\n      a\n      b\n",
			"a\nb\n"}, {"'$${x} $(y) \"q\"'", `$${x} $(y) "q"`},
		{"yes", "true"}, {"on", "true"}, {"True", "true"}, {"true", "true"}, {"no", "false"}, {"off", "false"},
		{"'yes'", "yes"}, {"y", "true"},
		{"1", "1"}, {"-7", "-7"}, {"0644", "420"}, {"1_000", "1000"}, {"0x1F", "31"}, {"0b11", "3"},
		{"18446744073709551615", "18446744073709551615"},
		{"1.10", "1.1"}, {"1.0", "1"}, {"1000000.0", "1e+06"}, {"1e3", "1e3"}, {"1e+3", "1000"}, {"0.00001", "1e-05"},
		{"123456789.5", "1.234567895e+08"},
		{"2001-01-01", "2001-01-01"}, {"!!timestamp 2001-01-01", "2001-01-01"}, {"20:30", "20:30"}, {"1.2.3", "1.2.3"},
		{"'007'", "007"},
		{"!!binary aGk=", "hi"},
		{"[]", ""}, {"[a]", "a"}, {"[a, b]", "a,b"}, {"['a,b', c]", "a,b,c"}, {"[true, no, ~, 1.50, a]",
			"true,false,,1.5,a"}, {"[0644, 1_000]", "420,1000"},
		{"[1e3, 1e+3, 1000000.0]", "1e3,1000,1e+06"}, {"[1e3, []]", `[1000,[]]`}, {"['yes', \"1.0\"]", "yes,1.0"},
		{"['']", ""}, {"[' a ', b]", " a ,b"}, {"[.inf, -.inf, .nan]", ".inf,-.inf,.nan"},
		{"[a, [b, 1.50]]", `["a",["b",1.5]]`}, {"[{b: 1, a: yes}]", `[{"a":true,"b":1}]`}, {"[[], {}]", "[[],{}]"},
		{"{}", "{}"}, {"{b: x, a: [1, ~]}", `{"a":[1,null],"b":"x"}`}, {"{1: a, true: b, 1.5: c}",
			`{"1":"a","1.5":"c","true":"b"}`},
		{"{a: {b: {c: 1.0}}}", `{"a":{"b":{"c":1}}}`}, {"{a: 1000000.0}", `{"a":1000000}`},
		{"{a: '<&>'}", `{"a":"\u003c\u0026\u003e"}`},
		{"{a: \"日\\u2028\"}", `{"a":"日\u2028"}`}, {"{a: 2001-01-01, b: 0644}", `{"a":"2001-01-01","b":420}`},
		{"{a: {from_secret: x}}", `{"a":{"from_secret":"x"}}`},
		{"{a: .inf}", ""},
	} {
		p := parsePipeline(t, dockerHead+"steps:\n- name: a\n  image: i\n  settings:\n    x: "+test.value+"\n")
		got := encodeSetting(p.Steps[0].Settings["x"].Value)
		if got != test.want {
			t.Errorf("the setting %s becomes %q, want %q", test.value, got, test.want)
		}
		if reference := droneEncodes(p.Steps[0].Settings["x"].Value); reference != test.want {
			t.Errorf("the setting %s becomes %q by the rule of Drone's runners, want %q", test.value, reference,
				test.want)
		}
	}
}

// droneEncodes is the rule as Drone's runners carry it out: a list that can be read back as texts is those, and all
// else goes through YAML to JSON.
func droneEncodes(v any) string {
	switch v := v.(type) {
	case string, bool, int, float64:
		return encodeScalar(v)
	case []any:
		text, err := buildkite.Marshal(v)
		if err != nil {
			return ""
		}
		var texts []string
		if buildkite.Unmarshal(text, &texts) == nil {
			return strings.Join(texts, ",")
		}
	}
	text, err := buildkite.Marshal(v)
	if err != nil {
		return ""
	}
	out, err := sigs.YAMLToJSON(text)
	if err != nil {
		return ""
	}
	return string(out)
}

func TestNamesOfSettings(t *testing.T) {
	for key, want := range map[string]string{
		"repo": "PLUGIN_REPO", "dry_run": "PLUGIN_DRY_RUN", "my-key": "PLUGIN_MY-KEY", "a.b": "PLUGIN_A.B",
		"Mixed": "PLUGIN_MIXED", "é": "PLUGIN_É",
	} {
		if got := settingName(key); got != want {
			t.Errorf("settingName(%q) = %q, want %q", key, got, want)
		}
	}
}

func FuzzSettings(f *testing.F) {
	for _, text := range []string{"a", "[a, 1.50, ~]", "{a: [b, {c: yes}]}", "[0644, {x: 1e3}]", "{1: 2}", "- - a",
		"!!binary aGk=", ".inf", "{a: .nan}", "2001-01-01"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if err := buildkite.Unmarshal([]byte(text), &v); err != nil || v == nil {
			t.Skip()
		}
		if got, want := encodeSetting(v), droneEncodes(v); got != want {
			t.Errorf("encodeSetting(%#v) = %q, want %q", v, got, want)
		}
	})
}
