// Package diag holds what the project has to say about an input: errors, warnings and notes, each with the place it
// is about. Packages that read or translate return diagnostics; only commands print them.
package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity tells what a diagnostic means for the result.
type Severity string

const (
	// Error means that there is no result.
	Error Severity = "error"
	// Warning means that the result may not do what the author expects.
	Warning Severity = "warning"
	// Info tells of a difference or a duty that needs no change of the input.
	Info Severity = "info"
)

// rank orders severities, the gravest first.
func (s Severity) rank() int {
	switch s {
	case Error:
		return 0
	case Warning:
		return 1
	default:
		return 2
	}
}

// Position is a place in a file. Line and Column count from 1; 0 means unknown.
type Position struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// String is file:line:column, the form that editors and terminals turn into a link.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
}

// Code names a kind of diagnostic, so that scripts can count and filter them. It is lower-case words with hyphens, and
// does not change between releases.
type Code string

// Diagnostic is one thing to tell the author of an input.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	Code     Code     `json:"code"`
	Position
	// Message says what was found and what happens instead, in one sentence without a full stop.
	Message string `json:"message"`
	// Hint says what the author can do. Empty where nothing needs doing.
	Hint string `json:"hint,omitempty"`
}

// String is the one-line form: file:line:column: severity: message (hint) [code].
func (d Diagnostic) String() string {
	var b strings.Builder
	if pos := d.Position.String(); pos != "" {
		b.WriteString(pos + ": ")
	}
	fmt.Fprintf(&b, "%s: %s", d.Severity, d.Message)
	if d.Hint != "" {
		fmt.Fprintf(&b, "; %s", d.Hint)
	}
	fmt.Fprintf(&b, " [%s]", d.Code)
	return b.String()
}

// List collects diagnostics. The zero value is ready to use.
type List []Diagnostic

// Add appends one diagnostic.
func (l *List) Add(d Diagnostic) { *l = append(*l, d) }

// Errorf appends an error without a hint.
func (l *List) Errorf(pos Position, code Code, format string, args ...any) {
	l.Add(Diagnostic{Severity: Error, Code: code, Position: pos, Message: fmt.Sprintf(format, args...)})
}

// Warnf appends a warning without a hint.
func (l *List) Warnf(pos Position, code Code, format string, args ...any) {
	l.Add(Diagnostic{Severity: Warning, Code: code, Position: pos, Message: fmt.Sprintf(format, args...)})
}

// Infof appends a note without a hint.
func (l *List) Infof(pos Position, code Code, format string, args ...any) {
	l.Add(Diagnostic{Severity: Info, Code: code, Position: pos, Message: fmt.Sprintf(format, args...)})
}

// HasErrors reports whether any diagnostic is an error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error })
}

// Sorted returns the diagnostics by file, line, column, severity and code, without repetitions, so that the same input
// always gives the same report.
func (l List) Sorted() List {
	out := slices.Clone(l)
	slices.SortStableFunc(out, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Severity.rank(), b.Severity.rank()),
			cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(out)
}

// Err returns nil where there is no error, else an error that holds the list.
func (l List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return ListError{List: l.Sorted()}
}

// ListError is a failed reading or translation, as an error. Its text is the errors of the list, one on a line.
type ListError struct{ List List }

func (e ListError) Error() string {
	var lines []string
	for _, d := range e.List {
		if d.Severity == Error {
			lines = append(lines, d.String())
		}
	}
	return strings.Join(lines, "\n")
}
