package logs

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

const testKey = "-----BEGIN KEY-----\nMIIEpAIBAAKCAQEA7\nab\nYs9x0Qk3mJ+/==\n-----END KEY-----"

func TestMaskHidesSecrets(t *testing.T) {
	b64 := base64.StdEncoding.EncodeToString
	tests := []struct {
		name    string
		secrets []string
		in      string
		want    string
	}{
		{"no secrets", nil, "as it is", "as it is"},
		{"no text", []string{"secret"}, "", ""},
		{"every occurrence", []string{"hunter2"}, "hunter2 and hunter2", "****** and ******"},
		{"beside each other", []string{"hunter2"}, "hunter2hunter2", "************"},
		{"six asterisks whatever the length", []string{"ab"}, "<ab>", "<******>"},
		{"the longest first, whatever the order", []string{"ab", "abcdef"}, "abcdef ab", "****** ******"},
		{"a secret inside another", []string{"cd", "abcdef"}, "abcdef", "******"},
		{"secrets that overlap leave no rest", []string{"abcd", "cdefgh"}, "abcdefgh", "******"},
		{"a chain of overlaps", []string{"abc", "cde", "efg"}, "xabcdefgx", "x******x"},
		{"a secret that overlaps itself", []string{"abab"}, "ababab", "******"},
		{"a beginning that comes to nothing", []string{"abcd"}, "abcabcabcd ab", "abcabc****** ab"},
		{"white space around the secret", []string{"  hunter2\n"}, "hunter2", "******"},
		{"one byte is too short", []string{"a", "", " b\n"}, "a b", "a b"},
		{"only asterisks", []string{"***"}, "****", "****"},
		{"any bytes", []string{"\x00\xff\xfe"}, "a\x00\xff\xfeb", "a******b"},
		{"not ASCII", []string{"пароль"}, "a пароль b", "a ****** b"},
		{"a multi-line secret as a whole", []string{testKey}, "key:\n" + testKey + "\n.", "key:\n******\n."},
		{"a multi-line secret with CRLF", []string{testKey}, strings.ReplaceAll(testKey, "\n", "\r\n"), "******"},
		{"a CRLF secret printed with LF", []string{strings.ReplaceAll(testKey, "\n", "\r\n")}, testKey, "******"},
		{"a line of a multi-line secret", []string{testKey}, "> MIIEpAIBAAKCAQEA7", "> ******"},
		{"a line that is indented", []string{"{\n  \"a\": \"hunter2\"\n}"}, `{"a": "hunter2"}`, "{******}"},
		{"a line that is too short", []string{testKey}, "ab { ab }", "ab { ab }"},
		{"inside of JSON", []string{"a\"b<c>"}, `{"x":"a\"b<c>","y":"a\"b\u003cc\u003e"}`, `{"x":"******","y":"******"}`},
		{"a multi-line secret inside of JSON", []string{"ab\ncd"}, `"ab\ncd"`, `"******"`},
		{"URL-encoded", []string{"p@ss w/rd"}, "p%40ss+w%2Frd p@ss%20w%2Frd", "****** ******"},
		{"base64", []string{"hunter22"}, b64([]byte("hunter22")), "******"},
		{"base64 with a newline at the end", []string{"hunter22"}, b64([]byte("hunter22\n")), "******"},
		{"base64 of the value as given", []string{"hunter22\n\n"}, b64([]byte("hunter22\n\n")), "******"},
		{"base64 in 76 columns", []string{testKey}, wrap(b64([]byte(testKey)), 76), "******"},
		{"base64 in 64 columns", []string{testKey}, wrap(b64([]byte(testKey+"\n")), 64), "******"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := NewMasker(test.secrets...).Mask(test.in); got != test.want {
				t.Errorf("Mask(%q) = %q, want %q", test.in, got, test.want)
			}
		})
	}
}

// TestMaskBase64WhateverStandsAround encodes a secret with all alignments, neighbours and alphabets, and looks for what
// would tell it.
func TestMaskBase64WhateverStandsAround(t *testing.T) {
	const secret = "s3cr3t?>~~value"
	masker := NewMasker(secret)
	for _, enc := range []*base64.Encoding{
		base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding,
	} {
		for before := range 7 {
			for after := range 7 {
				text := strings.Repeat("u:", 4)[:before] + secret + strings.Repeat("@h", 4)[:after]
				encoded := enc.EncodeToString([]byte(text))
				got := masker.Mask(encoded)
				if !strings.Contains(got, maskText) {
					t.Errorf("Mask(%q), which is %q, = %q, want it masked", encoded, text, got)
				}
				// What is left of the secret's own characters is at most one at each end, which the neighbours share.
				left := len(strings.Replace(got, maskText, "", 1))
				if most := enc.EncodedLen(before) + enc.EncodedLen(after) + 4; left > most {
					t.Errorf("Mask(%q) = %q: %d characters left, want at most %d", encoded, got, left, most)
				}
			}
		}
	}
}

// TestMaskHoldsBackNoMoreThanNeeded keeps the live view live.
func TestMaskHoldsBackNoMoreThanNeeded(t *testing.T) {
	var out bytes.Buffer
	w := NewMasker("secret\nsecond line").Writer(&out)
	steps := []struct{ in, want string }{
		{"a line\n", "a line\n"},
		{"x se", "a line\nx "},
		{"t up\n", "a line\nx set up\n"},
		{"secret\n", "a line\nx set up\n"},
		{"third line\n", "a line\nx set up\n******\nthird line\n"},
		{"sec", "a line\nx set up\n******\nthird line\n"},
	}
	for _, step := range steps {
		if _, err := w.Write([]byte(step.in)); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != step.want {
			t.Fatalf("after %q: %q, want %q", step.in, got, step.want)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "a line\nx set up\n******\nthird line\nsec"; got != want {
		t.Errorf("after Flush: %q, want %q", got, want)
	}
}

// TestMaskKnowsEveryByte has a secret of all 256 bytes.
func TestMaskKnowsEveryByte(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(255 - i)
	}
	if got := NewMasker(string(all)).Mask("<" + string(all) + ">"); got != "<******>" {
		t.Errorf("Mask = %q, want <******>", got)
	}
}

func FuzzMask(f *testing.F) {
	f.Add("abcd", "cdefgh", testKey, "xabcdefgh abcd "+testKey, []byte{1, 2, 3})
	f.Add("aab", "aaab", "ab\nab", "aaaaab\nabab", []byte{})
	f.Add("p@ss w/rd", "\"q\"", "", `p%40ss+w%2Frd \"q\" cEBzcyB3L3Jk`, []byte{7})
	f.Fuzz(func(t *testing.T, a, b, c, text string, cuts []byte) {
		secrets := []string{a, b, c}
		masker := NewMasker(secrets...)
		whole := masker.Mask(text)

		for _, secret := range secrets {
			for _, form := range forms(secret) {
				// With asterisks of its own, a form may come together from replacements, of what was no secret.
				if !strings.Contains(form, "*") && strings.Contains(whole, form) {
					t.Errorf("secrets %q: Mask(%q) = %q contains %q", secrets, text, whole, form)
				}
			}
		}

		var out bytes.Buffer
		w, rest := masker.Writer(&out), text
		for i := 0; rest != ""; i++ {
			n := 1
			if len(cuts) > 0 {
				n = min(int(cuts[i%len(cuts)])%9+1, len(rest))
			}
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if out.String() != whole {
			t.Errorf("secrets %q: Mask(%q) in pieces = %q, want %q", secrets, text, out.String(), whole)
		}
	})
}

// FuzzMaskEncoded encodes a secret with whatever around it.
func FuzzMaskEncoded(f *testing.F) {
	f.Add("hunter22", "user:", "@host", false)
	f.Fuzz(func(t *testing.T, secret, before, after string, urlSafe bool) {
		value := strings.TrimSpace(secret)
		if len(value) < 8 || strings.Trim(value, "*") == "" {
			t.Skip()
		}
		masker := NewMasker(secret)
		enc := base64.StdEncoding
		if urlSafe {
			enc = base64.URLEncoding
		}
		texts := []string{enc.EncodeToString([]byte(before + value + after))}
		if !strings.Contains(value, "\n") {
			texts = append(texts, url.QueryEscape(value), url.PathEscape(value))
		}
		if quoted, err := json.Marshal(value); err == nil {
			texts = append(texts, string(quoted))
		}
		for _, text := range texts {
			if got := masker.Mask(text); !strings.Contains(got, maskText) {
				t.Errorf("secret %q: Mask(%q) = %q, want it masked", secret, text, got)
			}
		}
	})
}
