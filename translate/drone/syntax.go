package drone

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"github.com/buildkite/yaml"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// atLine is how the YAML libraries begin an error that has a line.
var atLine = regexp.MustCompile(`(?s)^(?:yaml: )?line (\d+): (.*)$`)

// libraryLine is the line of an error, as its library counts, and the text after it. Without a line it is 0.
func libraryLine(text string) (int, string) {
	if m := atLine.FindStringSubmatch(text); m != nil {
		line, err := strconv.Atoi(m[1])
		if err == nil {
			return line, m[2]
		}
	}
	return 0, strings.TrimPrefix(text, "yaml: ")
}

// explanations of what the YAML libraries say, in the words of somebody who looks at the file.
var explanations = []struct{ says, message, hint string }{
	{"did not find expected key",
		"this line does not fit the map around it",
		"check the indentation, and quotes and brackets above"},
	{"did not find expected '-' indicator",
		"this line does not fit the list around it",
		"check the indentation"},
	{"mapping values are not allowed in this context",
		"a colon makes this a key where none can stand",
		"check the indentation, or put the text in quotes"},
	{"could not find expected ':'",
		"this line is neither a key nor part of the value above",
		"check the indentation, or put the text in quotes"},
	{"found unexpected end of stream",
		"a quote or bracket that opens here is never closed",
		"close it"},
	{"did not find expected ',' or ']'",
		"a bracket [ that opens above is not closed here",
		"close it, or put a text that begins with [ in quotes"},
	{"did not find expected ',' or '}'",
		"a brace { that opens above is not closed here",
		"close it, or put a text that begins with { in quotes"},
	{"found character that cannot start any token",
		"a value cannot begin with this character",
		"put the text in quotes"},
	{"found undefined tag handle",
		"a text cannot begin with ! without quotes",
		"put it in quotes"},
	{"did not find expected alphabetic or numeric character",
		"a text cannot begin with & or * without quotes",
		"put it in quotes"},
	{"found unknown escape character",
		"there is no such escape in a text in double quotes",
		"double the backslash, or use single quotes"},
	{"block sequence entries are not allowed in this context",
		"a dash cannot begin a list here",
		"start the list on a line of its own"},
	{"did not find expected node content",
		"a value begins with a bracket or brace, and does not go on as a list or map",
		"put a text that begins with [ or { in quotes; templates have to be expanded before"},
	{"did not find expected <document start>",
		"text follows the end of the value above",
		"remove it, or check the braces"},
}

// conflictMark is a line that git leaves where a merge failed.
var conflictMark = regexp.MustCompile(`(?m)^(<<<<<<<|\|\|\|\|\|\|\||=======|>>>>>>>)( .*)?$`)

// tabIndent is a line whose indentation has a tab.
var tabIndent = regexp.MustCompile(`^ *\t\s*\S`)

// syntaxError says where and why a document is not YAML. Drone's library knows the line of the fault, counted from 0;
// the library that reads nodes knows where the text that it is in began, counted from 1. Either error may be nil.
func (t tree) syntaxError(doc document, old, modern error) diag.Diagnostic {
	var line, began int
	text, says := "it ends where more must follow", ""
	if modern != nil {
		began, says = libraryLine(modern.Error())
		if line, text = began, says; !strings.HasPrefix(says, "did not find expected") {
			line = max(0, began-1) // Errors about single characters have the line counted from 1, others from 0.
		}
	}
	if old != nil && !strings.HasPrefix(says, "found unexpected end of stream") {
		line, text = libraryLine(old.Error())
	}
	d := diag.Diagnostic{Severity: diag.Error, Code: CodeSyntax}
	rows := bytes.Split(doc.text, []byte{'\n'})
	line = min(line, max(0, len(rows)-2))
	at := func(line int) diag.Position {
		row := rows[line]
		return diag.Position{File: t.file, Line: t.line + line, Column: len(row) - len(bytes.TrimLeft(row, " \t")) + 1}
	}
	d.Position = at(line)
	if strings.Contains(text, "tab") || strings.Contains(text, "cannot start any token") {
		for n := max(0, line-1); n < len(rows); n++ {
			if tabIndent.Match(rows[n]) {
				d.Position = at(n)
				d.Position.Column = bytes.IndexByte(rows[n], '\t') + 1
				d.Message, d.Hint = "a tab in the indentation: YAML allows spaces only", "replace tabs by spaces"
				return d
			}
		}
	}
	for _, e := range explanations {
		if strings.HasPrefix(text, e.says) {
			d.Message, d.Hint = "not valid YAML: "+e.message, e.hint
			return d
		}
	}
	d.Message = "not valid YAML: " + text
	return d
}

// conflict is the first mark of an unresolved merge in a document that is not YAML, if it has one.
func (t tree) conflict(doc document) (diag.Diagnostic, bool) {
	at := conflictMark.FindIndex(doc.text)
	if at == nil {
		return diag.Diagnostic{}, false
	}
	return diag.Diagnostic{
		Severity: diag.Error, Code: CodeConflict,
		Position: diag.Position{File: t.file, Line: t.line + bytes.Count(doc.text[:at[0]], []byte{'\n'}), Column: 1},
		Message:  "the file has the marks of an unresolved merge", Hint: "resolve the conflict and remove the marks",
	}, true
}

var mismatch = regexp.MustCompile("(?s)^cannot unmarshal !!(\\w+)(?: `(.*)`)? into ")

// typeErrors turns the decoder's complaints about values into diagnostics, apart from those about lines that have been
// answered.
func (t tree) typeErrors(err *yaml.TypeError, told map[int]bool) diag.List {
	var list diag.List
	for _, text := range err.Errors {
		line, says := libraryLine(text)
		if told[line] {
			continue
		}
		if m := mismatch.FindStringSubmatch(says); m != nil {
			says = map[string]string{"seq": "a list", "map": "a map"}[m[1]]
			if says == "" {
				says = "the value " + m[2]
			}
			says += " does not fit this key"
		}
		list.Errorf(diag.Position{File: t.file, Line: t.line + line - 1}, CodeWrongShape, "%s", says)
	}
	return list
}
