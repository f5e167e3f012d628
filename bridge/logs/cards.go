package logs

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	api "github.com/drone/drone-go/drone"
)

// Card is what a plugin shows beside a step's log: the address of a template and the data for it.
type Card = api.CardInput

// A plugin gives a card to Drone as a line of its log: these two around the base64 text of {"schema": …, "data": …}.
const (
	cardStart = "\x1b]1338;"
	cardEnd   = "\x1b]0m"
)

// maxCard bounds the bytes of a card's line; what is longer is text like any other.
const maxCard = 4 << 20

// cards takes the cards out of a stream of text and passes the rest on. What begins like a card and is none stays text.
type cards struct {
	pass    func([]byte)
	card    *Card  // the last one: a step has one card
	inLine  bool   // the current line is known to be text
	pending []byte // the current line, as long as it may be a card
}

func (c *cards) write(p []byte) {
	for piece, ended := range pieces(p) {
		if !c.inLine && (len(c.pending) > 0 || piece[0] == cardStart[0]) {
			c.pending = append(c.pending, piece...)
			n := min(len(c.pending), len(cardStart))
			if maybe := string(c.pending[:n]) == cardStart[:n] && len(c.pending) <= maxCard; maybe && !ended {
				continue
			} else if maybe {
				c.end()
				continue
			}
			piece = c.pending
		}
		c.pass(piece)
		c.pending, c.inLine = nil, !ended
	}
}

// end decides about a line that is over: at its newline, or with the stream.
func (c *cards) end() {
	line := c.pending
	c.pending, c.inLine = nil, false
	if len(line) == 0 {
		return
	}
	card, rest, err := parseCard(line)
	if err != nil {
		c.pass(line)
		return
	}
	c.card = card
	if len(bytes.TrimSpace(rest)) > 0 {
		c.pass(rest)
	}
}

// parseCard reads a card at the start of a line, and returns what follows it.
func parseCard(line []byte) (*Card, []byte, error) {
	text, ok := bytes.CutPrefix(line, []byte(cardStart))
	if !ok {
		return nil, nil, errors.New("no start of a card")
	}
	text, rest, ok := bytes.Cut(text, []byte(cardEnd))
	if !ok {
		return nil, nil, errors.New("no end of a card")
	}
	doc, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return nil, nil, fmt.Errorf("decoding a card: %w", err)
	}
	card := new(Card)
	if err := json.Unmarshal(doc, card); err != nil {
		return nil, nil, fmt.Errorf("decoding a card: %w", err)
	}
	if len(card.Data) == 0 {
		return nil, nil, errors.New("a card without data")
	}
	return card, rest, nil
}

// maskCard hides secrets in every string, key and number of a card's data. The data stays valid JSON.
func maskCard(m *Masker, card *Card) (*Card, error) {
	dec := json.NewDecoder(bytes.NewReader(card.Data))
	dec.UseNumber()
	var data any
	if err := dec.Decode(&data); err != nil {
		return nil, fmt.Errorf("decoding a card's data: %w", err)
	}
	masked, err := json.Marshal(maskValue(m, data))
	if err != nil {
		return nil, fmt.Errorf("encoding a card's data: %w", err)
	}
	return &Card{Schema: m.Mask(card.Schema), Data: masked}, nil
}

func maskValue(m *Masker, value any) any {
	switch v := value.(type) {
	case string:
		return m.Mask(v)
	case json.Number:
		if text := m.Mask(v.String()); text != v.String() {
			return text
		}
	case []any:
		for i := range v {
			v[i] = maskValue(m, v[i])
		}
	case map[string]any:
		masked := make(map[string]any, len(v))
		for key, value := range v {
			masked[m.Mask(key)] = maskValue(m, value)
		}
		return masked
	}
	return value
}
