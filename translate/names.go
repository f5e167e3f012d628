package translate

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxTaskName is the longest name of a task, in characters. Tekton builds names of TaskRuns and containers around it,
// and replaces what grows beyond 63 characters by a hash that nobody can read.
const maxTaskName = 50

// slug turns any text into a DNS-1123 label of at most limit characters: letters in lower case, digits, and hyphens for
// runs of anything else. A text that is too long, or that has nothing to keep, gets a hash, so that two long texts with
// the same start stay apart.
func slug(text string, limit int) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(text) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
			continue
		}
		gap = true
	}
	s := b.String()
	switch {
	case s == "":
		return "x-" + hash(text)
	case len(s) > limit:
		return strings.TrimRight(s[:limit-1-hashLength], "-") + "-" + hash(text)
	default:
		return s
	}
}

const hashLength = 8

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:hashLength]
}

// names hands out distinct slugs. A name that is taken gets a hash of the original text, so that it does not depend on
// what else is in the file, and only where that is taken too (the same text twice) a number.
type names struct {
	limit int
	taken map[string]bool
}

func newNames(limit int, reserved ...string) *names {
	n := &names{limit: limit, taken: map[string]bool{}}
	for _, r := range reserved {
		n.taken[r] = true
	}
	return n
}

func (n *names) unique(text string) string {
	name := slug(text, n.limit)
	for candidate, i := name, 0; ; i++ {
		if !n.taken[candidate] {
			n.taken[candidate] = true
			return candidate
		}
		seed := text + strings.Repeat("\x00", i)
		candidate = strings.TrimRight(name[:min(len(name), n.limit-1-hashLength)], "-") + "-" + hash(seed)
	}
}

// labelValue turns any text into a valid label value: at most 63 of the allowed characters, alphanumeric at both ends.
func labelValue(text string) string {
	keep := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}
	v := strings.Trim(strings.Map(keep, text), "-_.")
	if len(v) > 63 {
		v = strings.TrimRight(v[:63-1-hashLength], "-_.") + "-" + hash(text)
	}
	return v
}

// FileName is a name for a file that holds what a pipeline became.
func FileName(pipeline string) string { return slug(pipeline, maxTaskName) }
