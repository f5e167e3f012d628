package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/fatih/color"
	"golang.org/x/term"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// report prints diagnostics as text, one a line, or as one JSON array.
func report(w io.Writer, list diag.List, format string) error {
	list = list.Sorted()
	if format == "json" {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if list == nil {
			list = diag.List{}
		}
		return enc.Encode(list)
	}
	paint := painter(w)
	for _, d := range list {
		place := d.Position.String()
		if place != "" {
			place += ": "
		}
		hint := ""
		if d.Hint != "" {
			hint = "\n    " + d.Hint
		}
		if _, err := fmt.Fprintf(w, "%s%s %s [%s]%s\n", place, paint(d.Severity), d.Message, d.Code, hint); err != nil {
			return err
		}
	}
	return nil
}

// painter colours severities on a terminal.
func painter(w io.Writer) func(diag.Severity) string {
	colours := map[diag.Severity]*color.Color{
		diag.Error: color.New(color.FgRed, color.Bold), diag.Warning: color.New(color.FgYellow), diag.Info: color.New(color.FgCyan),
	}
	f, ok := w.(*os.File)
	terminal := ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == ""
	return func(s diag.Severity) string {
		c := colours[s]
		if terminal {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
		return c.Sprint(string(s) + ":")
	}
}
