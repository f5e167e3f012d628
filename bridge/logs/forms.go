package logs

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
)

// What is too short to be masked. Masking every "a" of a log, or every "}," because a secret is a JSON document, would
// hide the log and not the secret.
const (
	// minSecret is the length in bytes from which a secret is masked, as in Drone's own runners.
	minSecret = 2
	// minLine is the length from which a line of a multi-line secret is masked by itself. The secret as a whole is
	// masked whatever the length of its lines.
	minLine = 3
	// minEncoded is the length from which the base64 text of a secret is masked. Below, the text that stays the same
	// wherever the secret stands in what was encoded is too short to mean anything.
	minEncoded = 6
)

// base64 text is broken into lines of these lengths by base64(1) and by PEM writers.
var base64Widths = []int{76, 64}

// forms lists the texts in which a secret may show up in a log. Like Drone, it ignores white space around the secret
// and around its lines.
func forms(secret string) []string {
	value := strings.TrimSpace(secret)
	if len(value) < minSecret || strings.Trim(value, "*") == "" {
		return nil
	}
	all := []string{value}
	add := func(form string, shortest int) {
		if len(form) >= shortest {
			all = append(all, form)
		}
	}
	if strings.Contains(value, "\n") {
		unix := strings.ReplaceAll(value, "\r\n", "\n")
		add(unix, minSecret)
		add(strings.ReplaceAll(unix, "\n", "\r\n"), minSecret)
		for line := range strings.SplitSeq(unix, "\n") {
			add(strings.TrimSpace(line), minLine)
		}
	} else { // What goes into a URL is one line.
		add(url.QueryEscape(value), minSecret)
		add(url.PathEscape(value), minSecret)
	}
	add(jsonText(value, true), minSecret)
	add(jsonText(value, false), minSecret)
	for _, whole := range []string{value, value + "\n", secret} {
		for _, form := range base64Whole(whole) {
			add(form, minEncoded)
		}
	}
	for _, form := range base64Inside(value) {
		add(form, minEncoded)
	}
	return all
}

// jsonText is the secret as it stands between the quotes of a JSON string.
func jsonText(value string, escapeHTML bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	if err := enc.Encode(value); err != nil {
		return "" // A string always encodes.
	}
	text := strings.TrimSuffix(b.String(), "\n")
	return text[1 : len(text)-1]
}

// base64Whole lists the base64 texts of exactly this value, in both alphabets, padded, bare and broken into lines.
func base64Whole(value string) []string {
	var all []string
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		text := enc.EncodeToString([]byte(value))
		all = append(all, text, strings.TrimRight(text, "="))
		for _, width := range base64Widths {
			if len(text) > width && enc == base64.StdEncoding {
				all = append(all, wrap(text, width))
			}
		}
	}
	return all
}

// base64Inside lists what the base64 text of anything that has the value in it must contain. Three bytes make four
// characters, so there are three alignments; characters that the neighbours of the value have a part in are left off.
func base64Inside(value string) []string {
	skip := [3]int{0, 2, 3} // characters that the bytes before the value have a part in, by their number modulo 3
	var all []string
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before, from := range skip {
			text := enc.EncodeToString(append(make([]byte, before), value...))
			to := (before + len(value)) * 8 / 6
			all = append(all, text[min(from, to):to])
		}
	}
	return all
}

// wrap breaks text into lines of the given width.
func wrap(text string, width int) string {
	var b strings.Builder
	for len(text) > width {
		b.WriteString(text[:width])
		b.WriteByte('\n')
		text = text[width:]
	}
	b.WriteString(text)
	return b.String()
}
