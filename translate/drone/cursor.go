package drone

import (
	"strings"
	"unicode/utf8"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// cursor is a place in a text that only moves on, and knows its line.
type cursor struct {
	file  string
	at    int // byte
	line  int // counted from 1
	start int // byte at which the line starts
}

// advance moves n bytes on.
func (c *cursor) advance(text string, n int) {
	passed := text[c.at : c.at+n]
	if lines := strings.Count(passed, "\n"); lines > 0 {
		c.line += lines
		c.start = c.at + strings.LastIndexByte(passed, '\n') + 1
	}
	c.at += n
}

func (c *cursor) position(text string) diag.Position {
	return diag.Position{File: c.file, Line: c.line, Column: utf8.RuneCountInString(text[c.start:c.at]) + 1}
}

// inComment reports whether the line is nothing but a YAML comment.
func (c *cursor) inComment(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text[c.start:], " \t"), "#")
}
