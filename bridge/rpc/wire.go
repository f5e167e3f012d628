package rpc

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Extra holds the fields of a JSON object that a Go type has no place for.
type Extra map[string]json.RawMessage

// The plain types have the fields of Stage and Step without their methods, so that encoding/json does the fields.
type (
	plainStage Stage
	plainStep  Step
)

var (
	stageFields = fieldNames(reflect.TypeFor[plainStage]())
	stepFields  = fieldNames(reflect.TypeFor[plainStep]())
)

// MarshalJSON writes all fields, those in Extra among them.
func (s Stage) MarshalJSON() ([]byte, error) { return marshal(plainStage(s), s.Extra) }

// UnmarshalJSON reads all fields, unknown ones into Extra.
func (s *Stage) UnmarshalJSON(b []byte) error {
	*s = Stage{}
	if err := json.Unmarshal(b, (*plainStage)(s)); err != nil {
		return err
	}
	return s.Extra.fill(b, stageFields)
}

// MarshalJSON writes all fields, those in Extra among them.
func (s Step) MarshalJSON() ([]byte, error) { return marshal(plainStep(s), s.Extra) }

// UnmarshalJSON reads all fields, unknown ones into Extra.
func (s *Step) UnmarshalJSON(b []byte) error {
	*s = Step{}
	if err := json.Unmarshal(b, (*plainStep)(s)); err != nil {
		return err
	}
	return s.Extra.fill(b, stepFields)
}

// Clone returns a copy that shares nothing with s but the slices and maps that nobody writes into: labels,
// dependencies and extra fields.
func (s *Stage) Clone() *Stage {
	c := *s
	c.Steps = nil
	for _, step := range s.Steps {
		c.Steps = append(c.Steps, step.Clone())
	}
	return &c
}

// Clone returns a copy, as Stage.Clone does.
func (s *Step) Clone() *Step {
	c := *s
	return &c
}

// fill takes the fields of the object b that are not known.
func (e *Extra) fill(b []byte, known map[string]bool) error {
	all := Extra{}
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return known[strings.ToLower(name)] })
	if len(all) > 0 {
		*e = all
	}
	return nil
}

// marshal encodes v, and adds the extra fields. A known field that v leaves out stays out: it was emptied on purpose.
func marshal(v any, extra Extra) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil || len(extra) == 0 {
		return b, err
	}
	rest, err := json.Marshal(extra)
	if err != nil {
		return nil, err
	}
	// Both are objects, and a stage or step always has fields of its own.
	b[len(b)-1] = ','
	return append(b, rest[1:]...), nil
}

// fieldNames lists the JSON names of a struct's fields in lower case, since encoding/json ignores case when it reads.
func fieldNames(t reflect.Type) map[string]bool {
	names := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names[strings.ToLower(name)] = true
		}
	}
	return names
}

// maxError is how many bytes of an error text the server keeps.
const maxError = 500

// clip shortens an error text to what the server keeps. The server would cut it by bytes, in the middle of a
// character if need be, and PostgreSQL takes neither half a character nor a NUL.
func clip(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if len(text) <= maxError {
		return text
	}
	const more = "…"
	end := maxError - len(more)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}

// outgoing returns a copy of the stage that the server will take as it is meant.
func (s *Stage) outgoing() *Stage {
	c := s.Clone()
	c.Error = clip(c.Error)
	for i, step := range c.Steps {
		c.Steps[i] = step.outgoing()
		c.Steps[i].StageID = c.ID
	}
	return c
}

// check finds what the server would store without a word, and could never show.
func (s *Stage) check() error {
	if !creates(s.Status) {
		return nil
	}
	numbers := map[int]bool{}
	for _, step := range s.Steps {
		if step.Number < 1 || numbers[step.Number] {
			return &Error{Call: CallUpdateStage, ID: s.ID, Outcome: Refused,
				Err: fmt.Errorf("step %q has number %d: numbers start at 1 and are unique", step.Name, step.Number)}
		}
		numbers[step.Number] = true
	}
	return nil
}

func (s *Step) outgoing() *Step {
	c := s.Clone()
	c.Error = clip(c.Error)
	return c
}

// adopt takes from the server's answer what the server alone decides: versions, and the ids of new steps. The rest of
// an answer is an echo, and lacks what that server does not know.
func (s *Stage) adopt(answer *Stage) {
	s.Version = answer.Version
	for _, step := range s.Steps {
		i := slices.IndexFunc(answer.Steps, func(a *Step) bool { return a.Number == step.Number })
		if i >= 0 {
			step.ID, step.Version = answer.Steps[i].ID, answer.Steps[i].Version
		}
	}
}
