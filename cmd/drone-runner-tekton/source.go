package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/drone-tekton/drone-runner-tekton/translate"
	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// defaultFile is read where no file is named.
const defaultFile = ".drone.yml"

// maxFile bounds what is read, in bytes; the parser has a lower limit of its own, and tells of it.
const maxFile = 16 << 20

// source is the text of a pipeline's file. The name - is standard input.
type source struct {
	name string
	text []byte
}

// sourceOf reads the file that the arguments name.
func sourceOf(args []string, stdin io.Reader) (source, error) {
	name := defaultFile
	if len(args) > 0 {
		name = args[0]
	}
	text, err := readSource(name, stdin)
	return source{name, text}, err
}

// readSource reads a file, or standard input for "-".
func readSource(name string, stdin io.Reader) ([]byte, error) {
	var r io.Reader = stdin
	if name != "-" {
		f, err := os.Open(name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == defaultFile:
			return nil, fmt.Errorf("there is no %s here; name a file, or - for standard input", defaultFile)
		case err != nil:
			return nil, err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return nil, fmt.Errorf("%s is a directory; name the file in it, such as %s/%s", name, name, defaultFile)
		}
		r = f
	}
	text, err := io.ReadAll(io.LimitReader(r, maxFile))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return text, nil
}

// parseSource turns the text of a file into a manifest: evaluated where it is a program, substituted, parsed.
func parseSource(ctx context.Context, name string, text []byte, f translate.Facts) (*drone.Manifest, diag.List) {
	if name == "-" {
		name = "stdin"
	}
	evaluated, diags := drone.Evaluate(ctx, name, text, &f.Repo, &f.Build)
	if diags.HasErrors() {
		return nil, diags
	}
	if !slices.Equal(evaluated, text) { // Places are in what the program gives, not in its own text.
		name += " (evaluated)"
	}
	text, list := drone.Substitute(name, evaluated, f.Substitutions())
	diags = append(diags, list...)
	if list.HasErrors() {
		return nil, diags
	}
	m, list := drone.Parse(name, text)
	return m, append(diags, list...)
}
