package drone

import (
	"testing"

	"github.com/buildkite/yaml"
)

// What is resolved without asking Drone's library is resolved as the library does.
func TestPlainScalarsResolveAsInDrone(t *testing.T) {
	for _, text := range []string{
		"", "~", "null", "Null", "y", "Yes", "on", "OFF", "n", "true", "True", "false", "yess", "nope", "x", "1", "0", "-1", "+1",
		"0644", "0o644", "0x1F", "0b11", "1_000", "1.0", "1.10", "00.5", "1.", ".5", "1.2.3", "1e3", "1e+3", "1000000.0", ".inf",
		"-.inf", ".nan", "9223372036854775808", "99999999999999999999.5", "2001-01-01", "20:30", "-", "--", "<<", "v1.2",
	} {
		var want any
		if err := yaml.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("Unmarshal(%q): %v", text, err)
		}
		if _, list := want.([]any); list {
			want = text
		}
		if got := plain(text); got != want && !(got != got && want != want) {
			t.Errorf("plain(%q) = %v (%T), want %v (%T)", text, got, got, want, want)
		}
	}
}
