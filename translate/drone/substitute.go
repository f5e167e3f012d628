package drone

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/drone/envsubst"
	"github.com/drone/envsubst/parse"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// Substitute replaces ${…} in the raw text of a file, as Drone's runners do before they parse it: in comments too, by
// the empty text for an unknown variable, and by a quoted Go string for a value with a line break. The text is Drone's
// byte for byte; what surprises in it is told by warnings. Where an expression is not valid, there is an error with its
// place and no text.
func Substitute(file string, text []byte, vars map[string]string) ([]byte, diag.List) {
	if list := checkText(file, text); list.HasErrors() {
		return nil, list
	}
	s := substituter{cursor: newCursor(file, string(text)), text: string(text), vars: vars, told: map[string]int{}}
	s.run()
	if s.list.HasErrors() {
		return nil, s.list.Sorted()
	}
	return []byte(s.out.String()), s.list.Sorted()
}

// substituter walks through a text. The library does the expressions, one at a time; the text between them is done
// here, because the library takes a time that grows with the square of the escapes, and does not say where an error is.
type substituter struct {
	cursor
	text string
	vars map[string]string
	out  strings.Builder
	list diag.List
	told map[string]int // the line on which a warning was given last
}

// maxSubstitutionErrors is how many wrong expressions are reported. Drone stops at the first.
const maxSubstitutionErrors = 10

func (s *substituter) run() {
	failures := 0
	for s.at < len(s.text) && failures < maxSubstitutionErrors {
		next := strings.IndexAny(s.text[s.at:], `$\`)
		if next < 0 {
			next = len(s.text) - s.at
		}
		s.copy(next)
		rest := s.text[s.at:]
		switch {
		case rest == "":
		case strings.HasPrefix(rest, "${"):
			if !s.expression() {
				failures++
			}
		case strings.HasPrefix(rest, "$$"), strings.HasPrefix(rest, `\\`), strings.HasPrefix(rest, `\/`):
			s.escape(rest)
		default:
			s.copy(1)
		}
	}
}

// copy passes n bytes on as they are.
func (s *substituter) copy(n int) {
	s.out.WriteString(s.text[s.at : s.at+n])
	s.advance(s.text, n)
}

// escape turns two characters into the second.
func (s *substituter) escape(rest string) {
	if rest[0] == '\\' {
		kept := map[byte]string{'\\': `\\\\`, '/': `\\/`}[rest[1]]
		s.warn(CodeDollars, fmt.Sprintf("write %s to keep both characters", kept),
			"Drone turns %s into %s everywhere in the file", rest[:2], rest[1:2])
	} else if len(rest) < 3 || !isWord(rest[2]) && !strings.ContainsRune("{(", rune(rest[2])) {
		// Before a name, a number or a bracket, two dollars are the documented way to leave one to the shell.
		s.warn(CodeDollars, "write $$$$ to keep two", "Drone turns $$ into $ everywhere in the file")
	}
	s.out.WriteByte(rest[1])
	s.advance(s.text, 2)
}

// expression replaces the expression at the cursor. Where it is not valid, it reports an error and false, and passes
// the two first characters only, so that an expression inside it is seen too.
func (s *substituter) expression() bool {
	template, length, err := s.parse()
	if err != nil {
		s.invalid(err)
		s.advance(s.text, len("${"))
		return false
	}
	value, err := s.execute(template)
	if err != nil {
		s.invalid(err)
		s.advance(s.text, length)
		return false
	}
	s.examine(s.text[s.at : s.at+length])
	s.out.WriteString(value)
	s.advance(s.text, length)
	return true
}

// Bounds of the search for the end of an expression.
const (
	maxExpression = 16 << 10 // bytes
	maxBraces     = 200      // closing braces to try
)

// parse finds the end of the expression at the cursor: the first closing brace with which the library takes it.
func (s *substituter) parse() (*envsubst.Template, int, error) {
	rest := s.text[s.at:min(len(s.text), s.at+maxExpression)]
	var err error = parse.ErrMissingClosingBrace
	for end, tries := 0, 0; tries < maxBraces; tries++ {
		brace := strings.IndexByte(rest[end:], '}')
		if brace < 0 {
			break
		}
		end += brace + 1
		var template *envsubst.Template
		if template, err = envsubst.Parse(rest[:end]); err == nil {
			return template, end, nil
		}
		if errors.Is(err, parse.ErrParseVariableName) || errors.Is(err, parse.ErrMissingClosingBrace) {
			break // What comes later cannot mend these.
		}
	}
	return nil, 0, err
}

// execute gives the value of an expression. The library panics on some lengths of substrings.
func (s *substituter) execute(template *envsubst.Template) (value string, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the substring is out of range")
		}
	}()
	return template.Execute(func(name string) string {
		v := s.vars[name]
		if strings.Contains(v, "\n") {
			return strconv.Quote(v)
		}
		return v
	})
}

// expressionForm splits an expression into length sign, name, and operator.
var expressionForm = regexp.MustCompile(`^\$\{(#?)([\pL\pN_]+)(:[-=+?]|=)?`)

// oddSubstring is an expression for a substring whose offset or length is no number to Drone.
var oddSubstring = regexp.MustCompile(`^\$\{[\pL\pN_]+:(?:[^:}]*[^-0-9:}][^:}]*|-?\d+:[^}]*[^-0-9}][^}]*)`)

// examine warns of valid expressions that do something else than in a shell.
func (s *substituter) examine(expression string) {
	m := expressionForm.FindStringSubmatch(expression)
	if m == nil {
		return
	}
	name, operator := m[2], m[3]
	if operator == ":+" || operator == ":?" {
		s.warn(CodeOperator, "write $${…} to leave it to the shell",
			"Drone takes the operator %s for a default: %s is the text after it where %s is not set", operator, expression, name)
	}
	if operator == "" && oddSubstring.MatchString(expression) {
		s.warn(CodeOperator, "write the offset and the length as plain numbers",
			"the offset or the length in %s is no number to Drone, which gives the whole of %s", expression, name)
	}
	_, known := s.vars[name]
	if known || operator != "" || strings.HasPrefix(name, "DRONE_") || strings.HasPrefix(name, "CI_") {
		return
	}
	s.warn(CodeUnknownVariable, fmt.Sprintf("write $%s or $${%s} for a variable of the step", name, name),
		"%s is no variable of the build, so %s becomes empty before the file is read", name, expression)
}

// warn adds a warning about the text at the cursor, once on a line, and none about comments.
func (s *substituter) warn(code diag.Code, hint, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if s.comment || s.told[message] == s.line {
		return
	}
	s.told[message] = s.line
	s.list.Add(diag.Diagnostic{
		Severity: diag.Warning, Code: code, Position: s.position(s.text), Message: message, Hint: hint,
	})
}

// shellForms are expressions that shells have and Drone has not.
var shellForms = []struct {
	form *regexp.Regexp
	hint string
}{
	{regexp.MustCompile(`^\$\{\{`), "expressions in double braces are of GitHub Actions; Drone has none"},
	{regexp.MustCompile(`^\$\{(\w+)::(\d+)\}`), "write ${$1:0:$2}"},
	{regexp.MustCompile(`^\$\{(\w+):\((-\d+)\)\}`), "Drone does not count from the end: write $${…} instead"},
	{regexp.MustCompile(`^\$\{(\w+)-([^}]*)\}`), "write ${$1:-$2}"},
	{regexp.MustCompile(`^\$\{(\w+)[+?]`), "write $${$1…} to leave it to the shell"},
	{regexp.MustCompile(`^\$\{(\w+)\[`), "Drone has no arrays: write $${$1[…]} to leave it to the shell"},
	{regexp.MustCompile(`^\$\{[^}]*$`), "close it with }, or write $${ to leave it to the shell"},
}

// invalid reports the expression at the cursor.
func (s *substituter) invalid(err error) {
	line, _, _ := strings.Cut(s.text[s.at:], "\n")
	shown := line
	if end := strings.IndexByte(line, '}'); end >= 0 {
		shown = line[:end+1]
	}
	const longest = 60
	if runes := []rune(shown); len(runes) > longest {
		shown = string(runes[:longest]) + "…"
	}
	hint := "write $${…} to leave it to the shell"
	for _, f := range shellForms {
		if m := f.form.FindStringSubmatchIndex(line); m != nil {
			hint = f.hint
			for i := 1; i < len(m)/2; i++ {
				hint = strings.ReplaceAll(hint, "$"+strconv.Itoa(i), line[m[2*i]:m[2*i+1]])
			}
			break
		}
	}
	where := ""
	if s.comment {
		where = ", also in a comment"
	}
	s.list.Add(diag.Diagnostic{
		Severity: diag.Error, Code: CodeSubstitution, Position: s.position(s.text), Hint: hint,
		Message: fmt.Sprintf("Drone cannot substitute %s%s: %s", shown, where, err),
	})
}

func isWord(b byte) bool {
	return b == '_' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
}
