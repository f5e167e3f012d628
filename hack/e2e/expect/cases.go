package expect

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Case is a pipeline that stands beside its expectation.
type Case struct {
	Name   string // of the file, without its ending
	File   string // the pipeline's
	Source []byte
	Pipeline
}

// Cases reads all cases of a folder. adapt changes the texts of both files before they are used.
func Cases(folder string, adapt func([]byte) []byte) ([]Case, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.expect.yml"))
	if err != nil {
		return nil, err
	}
	var cases []Case
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		e, err := Parse(adapt(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		base := strings.TrimSuffix(file, ".expect.yml")
		sources, err := filepath.Glob(base + ".[^e]*")
		if err != nil || len(sources) != 1 {
			return nil, fmt.Errorf("%s is the expectation of %d pipelines (%v), want one", file, len(sources), sources)
		}
		source, err := os.ReadFile(sources[0])
		if err != nil {
			return nil, err
		}
		cases = append(cases, Case{filepath.Base(base), sources[0], adapt(source), e})
	}
	return cases, nil
}
