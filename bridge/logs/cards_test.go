package logs

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func encodeCard(doc string) string {
	return cardStart + base64.StdEncoding.EncodeToString([]byte(doc)) + cardEnd
}

func TestCardsAreTakenOutOfTheLog(t *testing.T) {
	card := encodeCard(`{"schema":"https://example.com/card.json","data":{"tests":7}}`)
	want := &Card{Schema: "https://example.com/card.json", Data: json.RawMessage(`{"tests":7}`)}
	long := &Card{Schema: "s", Data: json.RawMessage(`"` + strings.Repeat("x", 100_000) + `"`)}
	large := cardStart + strings.Repeat("A", maxCard) + cardEnd + "\nb\n"
	tests := []struct {
		name string
		in   string
		text string
		card *Card
	}{
		{"no card", "a\n\nb", "a\n\nb", nil},
		{"between lines", "a\n" + card + "\nb\n", "a\nb\n", want},
		{"the first line", card + "\nb\n", "b\n", want},
		{"at the end without a newline", "a\n" + card, "a\n", want},
		{"with CRLF", card + "\r\nb\n", "b\n", want},
		{"with text behind it", card + "more\nb\n", "more\nb\n", want},
		{"not at the start of a line", "a" + card + "\n", "a" + card + "\n", nil},
		{"the last one counts", encodeCard(`{"schema":"x","data":1}`) + "\n" + card + "\n", "", want},
		{"of many pieces", encodeCard(`{"schema":"s","data":`+string(long.Data)+`}`) + "\nb\n", "b\n", long},
		{"other escape sequences", "\x1b[31mred\x1b[0m\n\x1b]13\n\x1b", "\x1b[31mred\x1b[0m\n\x1b]13\n\x1b", nil},
		{"no end", cardStart + "e30=\nb\n", cardStart + "e30=\nb\n", nil},
		{"no base64", cardStart + "{}" + cardEnd + "\n", cardStart + "{}" + cardEnd + "\n", nil},
		{"no JSON", encodeCard("{") + "\n", encodeCard("{") + "\n", nil},
		{"no data", encodeCard(`{"schema":"x"}`) + "\n", encodeCard(`{"schema":"x"}`) + "\n", nil},
		{"too large", large, large, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, n := range []int{1, 7, 1 << 14, len(test.in) + 1} {
				if n == 1 && len(test.in) > maxCard {
					n = 1000
				}
				text, card := takeCards(test.in, n)
				if text != test.text {
					t.Errorf("in pieces of %d: text %.100q, want %.100q", n, text, test.text)
				}
				if diff := cmp.Diff(test.card, card); diff != "" {
					t.Errorf("in pieces of %d: card (-want +got):\n%.500s", n, diff)
				}
			}
		})
	}
}

// takeCards writes text in pieces of n bytes.
func takeCards(text string, n int) (string, *Card) {
	var out strings.Builder
	c := cards{pass: func(p []byte) { out.Write(p) }}
	for len(text) > 0 {
		k := min(n, len(text))
		c.write([]byte(text[:k]))
		text = text[k:]
	}
	c.end()
	return out.String(), c.card
}

func FuzzCards(f *testing.F) {
	f.Add("a\n"+encodeCard(`{"schema":"x","data":1}`)+"\nb", 3)
	f.Add(cardStart+"\n"+cardStart, 1)
	f.Fuzz(func(t *testing.T, text string, n int) {
		whole, card := takeCards(text, len(text)+1)
		cut, cutCard := takeCards(text, abs(n)%9+1)
		if cut != whole || !cmp.Equal(card, cutCard) {
			t.Errorf("text %q and card %v, in pieces %q and %v", whole, card, cut, cutCard)
		}
		if card == nil && whole != text {
			t.Errorf("without a card, %q became %q", text, whole)
		}
	})
}

func TestCardsAreMaskedAndStayJSON(t *testing.T) {
	masker := NewMasker(`"a":`, "hunter2", "12345", "line one\nline two")
	tests := []struct{ in, want string }{
		{`{"a":"is hunter2"}`, `{"a":"is ******"}`},
		{`["hunter2",{"hunter2":[true,null,1.50]}]`, `["******",{"******":[true,null,1.50]}]`},
		{`{"n":12345,"m":100000000000000000001}`, `{"m":100000000000000000001,"n":"******"}`},
		{`{"key":"line one\nline two"}`, `{"key":"******"}`},
		{`{"key":"hun\u0074er2"}`, `{"key":"******"}`},
	}
	for _, test := range tests {
		got, err := maskCard(masker, &Card{Schema: "x/hunter2", Data: json.RawMessage(test.in)})
		if err != nil {
			t.Errorf("maskCard(%s): %v", test.in, err)
			continue
		}
		if string(got.Data) != test.want || got.Schema != "x/******" {
			t.Errorf("maskCard(%s) = %s %s, want %s", test.in, got.Schema, got.Data, test.want)
		}
	}
}
