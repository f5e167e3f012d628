package drone

import (
	"strings"
	"unicode/utf8"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// cursor is a place in a text that only moves on, and knows its line and column.
type cursor struct {
	file    string
	at      int  // byte
	line    int  // counted from 1
	counted int  // byte up to which the column is counted
	column  int  // characters of the line before it
	comment bool // the line is nothing but a YAML comment
}

// newCursor is the beginning of a text.
func newCursor(file, text string) cursor {
	return cursor{file: file, line: 1, comment: isComment(text)}
}

// advance moves n bytes on.
func (c *cursor) advance(text string, n int) {
	passed := text[c.at : c.at+n]
	c.at += n
	if lines := strings.Count(passed, "\n"); lines > 0 {
		c.line += lines
		c.counted, c.column = c.at-n+strings.LastIndexByte(passed, '\n')+1, 0
		c.comment = isComment(text[c.counted:])
	}
}

// position is the place. Each part of the text is counted once, however often it is asked for.
func (c *cursor) position(text string) diag.Position {
	c.column += utf8.RuneCountInString(text[c.counted:c.at])
	c.counted = c.at
	return diag.Position{File: c.file, Line: c.line, Column: c.column + 1}
}

// isComment reports whether the first line of a text is nothing but a YAML comment.
func isComment(text string) bool { return strings.HasPrefix(strings.TrimLeft(text, " \t"), "#") }
