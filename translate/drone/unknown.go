package drone

import (
	"fmt"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// misspellings are wrong keys that are seen often, with the right ones. They are too far apart for a count of letters,
// or come from the languages of other CI systems.
var misspellings = map[string]string{
	"actions":           "action",
	"branches":          "branch",
	"crons":             "cron",
	"events":            "event",
	"refs":              "ref",
	"repos":             "repo",
	"targets":           "target",
	"arguments":         "command",
	"args":              "command",
	"cmd":               "commands",
	"script":            "commands",
	"scripts":           "commands",
	"run":               "commands",
	"env":               "environment",
	"environments":      "environment",
	"secrets":           "environment",
	"needs":             "depends_on",
	"dependencies":      "depends_on",
	"if":                "when",
	"only":              "when",
	"condition":         "when",
	"with":              "settings",
	"params":            "settings",
	"allow_failure":     "failure",
	"continue_on_error": "failure",
	"directory":         "working_dir",
	"workdir":           "working_dir",
	"serviceAccount":    "service_account_name",
	"emptyDir":          "temp",
	"hostPath":          "host",
	"mountPath":         "path",
	"subPath":           "sub_path",
}

// unknown reports a key that the part does not have. Drone ignores it.
func (c *checker) unknown(p *part, key, node *yamlv3.Node) {
	if strings.HasPrefix(p.noun, "the pipeline") && hasAnchor(node) {
		return // A place for anchors: the key itself means nothing, and is not meant to.
	}
	hint := ""
	switch elsewhere := c.elsewhere(p, key.Value); {
	case p.key(misspellings[key.Value], c.types) != nil:
		hint = fmt.Sprintf("did you mean %s?", misspellings[key.Value])
	case elsewhere != "":
		hint = fmt.Sprintf("it belongs to %s", elsewhere)
	default:
		hint = didYouMean(key.Value, p.names(c.types))
	}
	c.tell(diag.Warning, CodeUnknownKey, key, hint, "%s is not a key of %s; Drone ignores it", key.Value, p.noun)
	c.answered(node)
}

// elsewhere is the part of a pipeline that has a key which another part lacks, or "".
func (c *checker) elsewhere(p *part, name string) string {
	root := parts()["pipeline"]
	if p.noun == "" || root == nil {
		return ""
	}
	for _, other := range []*part{root, root.subs["steps"], root.subs["steps"].subs["when"], root.subs["clone"]} {
		if other != p && other.key(name, c.types) != nil && name != "name" {
			return other.noun
		}
	}
	return ""
}

// names are the keys of a part that the types have, in order.
func (p *part) names(types Types) []string {
	var names []string
	for name := range p.keys {
		if p.key(name, types).Types&types != 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// hasAnchor reports whether a node, or one below it, can be referred to.
func hasAnchor(n *yamlv3.Node) bool {
	return n.Anchor != "" || slices.ContainsFunc(n.Content, hasAnchor)
}

// didYouMean is a hint with the name that is close enough to a word, or "".
func didYouMean(word string, names []string) string {
	if name := closest(word, names); name != "" {
		return fmt.Sprintf("did you mean %s?", name)
	}
	return ""
}

// suggestion is didYouMean as the end of a sentence.
func suggestion(word string, names []string) string {
	if name := closest(word, names); name != "" {
		return fmt.Sprintf(" (did you mean %s?)", name)
	}
	return ""
}

// maxWord is the length of the longest word, in bytes, that is worth a search for what was meant.
const maxWord = 100

// closest is the name that a word is probably a misspelling of, or "": about a third of its letters may differ.
func closest(word string, names []string) string {
	if len(word) > maxWord {
		return ""
	}
	best, least := "", (len(word)+1)/3+1
	for _, name := range names {
		if d := distance(strings.ToLower(word), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance counts the letters to insert, delete or replace to turn one word into another (Levenshtein's distance).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
