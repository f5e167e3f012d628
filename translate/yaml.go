package translate

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
)

// yamlWriter writes nodes as YAML in the style of kubectl, for readers of YAML 1.1 and 1.2 alike. A general library
// takes ten times as long for a pipeline of some hundred steps.
type yamlWriter struct{ bytes.Buffer }

// indentation of the parts of a value, beyond that of the value.
const indentation = 2

// line begins a line.
func (w *yamlWriter) line(indent int) {
	const blanks = "                                                                "
	for ; indent > len(blanks); indent -= len(blanks) {
		w.WriteString(blanks)
	}
	w.WriteString(blanks[:indent])
}

// mapping writes the entries of an object. The first stands where the writer is, the others on lines of their own
// behind the indentation.
func (w *yamlWriter) mapping(n node, indent int) {
	for i, v := range n.items {
		if i > 0 {
			w.line(indent)
		}
		w.text(v.key, 0)
		w.WriteByte(':')
		switch {
		case len(v.items) == 0:
			w.WriteByte(' ')
			w.scalar(v, indent+indentation)
		case v.kind == '{':
			w.WriteByte('\n')
			w.line(indent + indentation)
			w.mapping(v, indent+indentation)
		default:
			w.WriteByte('\n')
			w.line(indent)
			w.list(v, indent)
		}
	}
}

// list writes the items of a list, the first where the writer is.
func (w *yamlWriter) list(n node, indent int) {
	for i, item := range n.items {
		if i > 0 {
			w.line(indent)
		}
		w.WriteString("- ")
		switch {
		case len(item.items) == 0:
			w.scalar(item, indent+indentation)
		case item.kind == '{':
			w.mapping(item, indent+indentation)
		default:
			w.list(item, indent+indentation)
		}
	}
}

// scalar writes a value of one line, or a text of several behind the indentation, and ends the line.
func (w *yamlWriter) scalar(n node, indent int) {
	switch n.kind {
	case '{':
		w.WriteString("{}")
	case '[':
		w.WriteString("[]")
	case '"':
		w.text(n.text, indent)
	default:
		w.WriteString(n.text)
	}
	w.WriteByte('\n')
}

// text writes a text: as it is where no reader takes it for something else, else line by line where it has several, else
// in quotes. A key, which has no indentation, is one line.
func (w *yamlWriter) text(s string, indent int) {
	switch {
	case isPlain(s):
		w.WriteString(s)
	case indent > 0 && isBlock(s):
		w.block(s, indent)
	default:
		// Go's escapes of characters that do not show are YAML's too.
		w.WriteString(strconv.Quote(s))
	}
}

// block writes a text line by line. The sign behind the bar says how many line ends there are at its end.
func (w *yamlWriter) block(s string, indent int) {
	body := strings.TrimSuffix(s, "\n")
	switch {
	case body == s:
		w.WriteString("|-")
	case strings.HasSuffix(body, "\n"):
		w.WriteString("|+")
	default:
		w.WriteString("|")
	}
	for line := range strings.SplitSeq(body, "\n") {
		w.WriteByte('\n')
		if line != "" {
			w.line(indent)
			w.WriteString(line)
		}
	}
}

// isBlock reports whether a text of several lines can stand line by line: it begins with a visible character, which
// tells its indentation, and holds none that YAML wants escaped.
func isBlock(s string) bool {
	if !strings.Contains(s, "\n") || strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") ||
		strings.HasPrefix(s, "\t") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '\n' && r != '\t' && r != ' ' && (!unicode.IsPrint(r) || r == unicode.ReplacementChar)
	})
}

// isPlain reports whether a text needs no quotes: one line of ASCII that begins with a letter, a digit, or a sign that
// means nothing there, holds nothing that ends it, and is no word or number of YAML.
func isPlain(s string) bool {
	if s == "" || strings.HasSuffix(s, " ") || strings.HasSuffix(s, ":") || strings.Contains(s, ": ") ||
		strings.Contains(s, " #") {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	switch c := s[0]; {
	case c >= '0' && c <= '9':
		// Numbers and times have digits, signs, and few letters: none of these.
		return strings.ContainsAny(s, "ghijklmnpqrsuvwyGHIJKLMNPQRSUVWY")
	case c == '/' || c == '_' || c == '$':
		return true
	case c == '.':
		return strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../")
	case c == '-': // an option
		name := strings.TrimPrefix(s[1:], "-")
		return name != "" && unicode.IsLetter(rune(name[0]))
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		return len(s) > len("false") || !yamlWords[strings.ToLower(s)]
	default:
		return false
	}
}

// yamlWords are texts that YAML 1.1 takes for truth values or for nothing.
var yamlWords = map[string]bool{
	"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true, "true": true, "false": true, "null": true,
}
