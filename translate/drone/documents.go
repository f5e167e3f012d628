package drone

import (
	"bufio"
	"bytes"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// document is one document of a file, without the separator line before it.
type document struct {
	line int // of the file, where the text starts, counted from 1
	text []byte
}

// split cuts a file into documents as Drone does, before any YAML is parsed: by lines that begin with "---", up to a
// line that begins with "...". Line endings become "\n". Drone scans lines of at most 64 KiB and silently loses the
// file from a longer one on; split keeps such lines and warns.
func split(file string, text []byte) ([]document, diag.List) {
	var (
		docs []document
		list diag.List
		open bool // a document is open for further lines
		done bool // a terminator was seen
		line int
	)
	for len(text) > 0 {
		var row []byte
		row, text = cutLine(text)
		line++
		at := diag.Position{File: file, Line: line, Column: 1}
		if len(row) >= bufio.MaxScanTokenSize {
			list.Add(diag.Diagnostic{
				Severity: diag.Warning, Code: CodeLongLine, Position: at,
				Message: "the line is longer than 64 KiB: Drone loses it and the rest of the file, here it is kept",
				Hint:    "move long text into a file of the repository",
			})
		}
		switch {
		case done:
			if len(trimComment(row)) > 0 {
				list.Warnf(at, CodeTextIgnored, `Drone ignores the file after a line that begins with "..."`)
				return docs, list
			}
		case bytes.HasPrefix(row, []byte("...")):
			done = true
		case bytes.HasPrefix(row, []byte("---")):
			if rest := trimComment(bytes.TrimLeft(row, "-")); len(rest) > 0 {
				list.Add(diag.Diagnostic{
					Severity: diag.Warning, Code: CodeTextIgnored, Position: at,
					Message: `Drone takes any line that begins with "---" for a separator and ignores the text on it`,
					Hint:    "move the text to a line of its own, or indent it",
				})
			}
			docs = append(docs, document{line: line + 1})
			open = true
		default:
			if !open {
				docs = append(docs, document{line: line})
				open = true
			}
			doc := &docs[len(docs)-1]
			doc.text = append(append(doc.text, row...), '\n')
		}
	}
	return docs, list
}

// cutLine returns the first line without its ending, and the text after it.
func cutLine(text []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(text, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'}), rest
}

// trimComment returns a line without white space around it, and empty if it is only a comment.
func trimComment(line []byte) []byte {
	line = bytes.TrimSpace(line)
	if bytes.HasPrefix(line, []byte{'#'}) {
		return nil
	}
	return line
}

// isBlank reports whether the document has nothing but white space and comments.
func (d document) isBlank() bool {
	for text := d.text; len(text) > 0; {
		var line []byte
		line, text = cutLine(text)
		if len(trimComment(line)) > 0 {
			return false
		}
	}
	return true
}
