package logs

import (
	"io"
	"slices"
	"strings"
)

// maskText replaces a secret, as in Drone's own runners.
const maskText = "******"

// Masker hides the secrets of a pipeline. It is made once for a pipeline, from all its secrets, since a step may print
// what another step was given; it is safe for concurrent use.
//
// A secret is hidden as it is, by its lines when it has several, as the inside of a JSON string, URL-encoded, and in
// base64 whatever stands before and after it. Everything that is part of any secret is hidden: where secrets overlap,
// or one is the beginning of another, no rest remains. What is shorter than 2 bytes, or 3 for one line of several,
// is not hidden.
type Masker struct {
	automaton *automaton // nil without secrets
}

// NewMasker makes a Masker for the values of secrets, in any order. Empty and repeated values do no harm.
func NewMasker(secrets ...string) *Masker {
	var patterns []string
	for _, secret := range secrets {
		patterns = append(patterns, forms(secret)...)
	}
	if len(patterns) == 0 {
		return &Masker{}
	}
	slices.Sort(patterns)
	return &Masker{automaton: newAutomaton(slices.Compact(patterns))}
}

// Mask hides the secrets in a text that is complete in itself, such as an error message.
func (m *Masker) Mask(text string) string {
	var b strings.Builder
	w := m.Writer(&b)
	_, _ = io.WriteString(w, text) // A strings.Builder does not fail.
	_ = w.Flush()
	return b.String()
}

// Writer passes what is written to it on to w, with the secrets hidden. What may turn out to be the beginning of a
// secret is held back until the input shows whether it is; how the input is cut into writes changes nothing.
func (m *Masker) Writer(w io.Writer) *MaskWriter {
	return &MaskWriter{automaton: m.automaton, w: w}
}

// MaskWriter hides secrets in a stream. See Masker.Writer.
type MaskWriter struct {
	automaton *automaton
	w         io.Writer
	at        uint32
	held      []byte // input that is not passed on yet: the prefix of a pattern that the automaton stands at
	done      int    // bytes at the start of held that belong to a secret whose asterisks are written
	hits      []span // secrets in held and in the input at hand; in order, without overlaps, all after done
	out       []byte
}

// span is a part of the input, from its first byte to the one after its last.
type span struct{ from, to int }

// Write implements io.Writer.
func (w *MaskWriter) Write(p []byte) (int, error) {
	if w.automaton == nil {
		return w.w.Write(p)
	}
	input, from := p, len(w.held)
	if from > 0 {
		w.held = append(w.held, p...)
		input = w.held
	}
	a, at := w.automaton, w.at
	for i := from; i < len(input); i++ {
		at = a.step(at, input[i])
		if n := a.match(at); n > 0 {
			w.hit(i+1-n, i+1)
		}
	}
	w.at = at
	err := w.pass(input, len(input)-int(a.nodes[at].depth))
	return len(p), err
}

// Flush passes on what was held back. The input is over, or a new one begins.
func (w *MaskWriter) Flush() error {
	w.at = 0
	return w.pass(w.held, len(w.held))
}

// hit notes a secret, which ends where the input has been read to, and merges it with those that it overlaps.
func (w *MaskWriter) hit(from, to int) {
	for n := len(w.hits); n > 0 && from < w.hits[n-1].to; n = len(w.hits) {
		from = min(from, w.hits[n-1].from)
		w.hits = w.hits[:n-1]
	}
	if from < w.done {
		w.done = to
		return
	}
	w.hits = append(w.hits, span{from, to})
}

// pass passes on the input up to safe, where no secret can begin any more that is not known yet, and holds the rest.
func (w *MaskWriter) pass(input []byte, safe int) error {
	pos, n := w.done, 0
	w.out = w.out[:0]
	for ; n < len(w.hits) && w.hits[n].from < safe; n++ {
		w.out = append(append(w.out, input[pos:w.hits[n].from]...), maskText...)
		pos = w.hits[n].to
	}
	out := w.out
	if pos < safe {
		if n == 0 {
			out = input[pos:safe] // The common case: nothing to hide, nothing to copy.
		} else {
			w.out = append(w.out, input[pos:safe]...)
			out = w.out
		}
	}
	var err error
	if len(out) > 0 {
		_, err = w.w.Write(out)
	}
	w.done = max(pos-safe, 0)
	w.hits = append(w.hits[:0], w.hits[n:]...)
	for i := range w.hits {
		w.hits[i].from -= safe
		w.hits[i].to -= safe
	}
	w.held = append(w.held[:0], input[safe:]...)
	return err
}
