package drone

import (
	"fmt"
	"slices"
	"strings"

	"github.com/drone/drone-yaml/yaml"
	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// events are the names that Drone's server gives to events.
var events = []string{"push", "pull_request", "tag", "promote", "rollback", "cron", "custom"}

// pattern checks a condition. Drone never refuses one: what it cannot read does not count, and a condition that does
// not count lets everything through.
func (c *checker) pattern(row *Key, v value) bool {
	for _, n := range patterns(v.node) {
		if isCostly(n.Value) {
			c.tell(diag.Error, CodeCondition, n, "use fewer of them",
				"the pattern has more than %d of * or { in one part, or of ** in all, and could take for ever to match",
				maxWildcards)
			return false
		}
	}
	switch v.node.Kind {
	case yamlv3.SequenceNode:
		c.patternItems(row, v.node)
	case yamlv3.MappingNode:
		for _, e := range entries(v.node) {
			switch {
			case e.key.Value != "include" && e.key.Value != "exclude":
				c.tell(diag.Warning, CodeCondition, e.key, "only include and exclude are possible here",
					"%s in the condition %s is ignored by Drone%s",
					e.key.Value, row.name(), suggestion(e.key.Value, []string{"include", "exclude"}))
			case isNull(e.value):
			case e.value.Kind != yamlv3.SequenceNode:
				c.tell(diag.Warning, CodeCondition, e.value, "start a list: a dash before each pattern",
					"%s of the condition %s must be a list; Drone ignores it", e.key.Value, row.name())
			default:
				c.patternItems(row, e.value)
			}
		}
	}
	return true
}

func (c *checker) patternItems(row *Key, list *yamlv3.Node) {
	for _, item := range list.Content {
		if item = resolve(item); item.Kind != yamlv3.ScalarNode {
			c.tell(diag.Warning, CodeCondition, item, "write texts only",
				"an item of the condition %s is %s; Drone ignores it", row.name(), foundName(item))
		}
	}
}

// maxWildcards bounds what a pattern may have, because the time that Drone's matching takes grows with the length of
// the text to the power of their number.
const maxWildcards = 4

// isCostly reports whether matching a pattern could take too long.
func isCostly(pattern string) bool {
	across := 0
	for part := range strings.SplitSeq(pattern, "/") {
		if part == "**" {
			across++
		} else if strings.Count(part, "*") > maxWildcards || strings.Count(part, "{") > maxWildcards {
			return true
		}
	}
	return across > maxWildcards
}

// patterns are the texts of a condition that count.
func patterns(n *yamlv3.Node) []*yamlv3.Node {
	n = resolve(n)
	var texts []*yamlv3.Node
	switch n.Kind {
	case yamlv3.ScalarNode:
		texts = append(texts, n)
	case yamlv3.SequenceNode:
		for _, item := range n.Content {
			if item = resolve(item); item.Kind == yamlv3.ScalarNode {
				texts = append(texts, item)
			}
		}
	case yamlv3.MappingNode:
		for _, e := range entries(n) {
			if e.value.Kind == yamlv3.SequenceNode && (e.key.Value == "include" || e.key.Value == "exclude") {
				texts = append(texts, patterns(e.value)...)
			}
		}
	}
	return texts
}

// examineEvents tells of events that never happen.
func examineEvents(c *checker, _ *Key, v value) {
	for _, n := range patterns(v.node) {
		match := yaml.Condition{Include: []string{n.Value}}
		if !slices.ContainsFunc(events, match.Match) {
			c.tell(diag.Warning, CodeCondition, n, "the events are "+strings.Join(events, ", "),
				"there is no event %s%s", n.Value, suggestion(n.Value, events))
		}
	}
}

// examineStatuses tells of statuses that are never reached.
func examineStatuses(c *checker, _ *Key, v value) {
	statuses := []string{"success", "failure"}
	for _, n := range patterns(v.node) {
		match := yaml.Condition{Include: []string{n.Value}}
		if !slices.ContainsFunc(statuses, match.Match) {
			c.tell(diag.Warning, CodeCondition, n, "the statuses are success and failure",
				"there is no status %s%s", n.Value, suggestion(n.Value, statuses))
		}
	}
}

// examineNeverChecked tells of conditions that are parsed and never evaluated.
func examineNeverChecked(c *checker, row *Key, v value) {
	hint := "remove it, or use branch, event, ref, repo, target, action or cron"
	if row.name() == "paths" {
		hint = "decide in a command, for example by git diff --name-only"
	}
	where := "when"
	if strings.HasPrefix(row.Path, "trigger.") {
		where = "trigger"
	}
	c.tell(diag.Warning, CodeCondition, v.key, hint,
		"Drone never checks %s, so it lets everything through", fmt.Sprintf("%s.%s", where, row.name()))
}
