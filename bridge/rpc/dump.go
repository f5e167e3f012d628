package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// maxDump bounds a body that is dumped.
const maxDump = 64 << 10

// hidden is what is dumped in place of a secret.
const hidden = "******"

// record dumps a call and its answer, if the client is to do so. The call is dumped when it begins, since a poll takes
// its time.
func (c *Client) record(req *http.Request, b body) (answered func(res *http.Response, answer []byte, err error)) {
	if c.o.Dump == nil {
		return func(*http.Response, []byte, error) {}
	}
	start := time.Now()
	head := req.Method + " " + req.URL.String()
	content := ""
	switch b := b.(type) {
	case jsonBody:
		content = c.content(b)
	case nil:
	default:
		content = "(a log)\n"
	}
	c.dump("> " + head + "\n" + content)
	return func(res *http.Response, answer []byte, err error) {
		took := time.Since(start).Round(time.Millisecond)
		switch {
		case res == nil:
			c.dump(fmt.Sprintf("< %s: %v (%s)\n", head, err, took))
		case res.StatusCode == http.StatusOK:
			c.dump(fmt.Sprintf("< %s: %s (%s)\n%s", head, res.Status, took, c.content(answer)))
		default:
			c.dump(fmt.Sprintf("< %s: %s (%s) %s\n", head, res.Status, took, message(answer)))
		}
	}
}

func (c *Client) dump(text string) {
	c.dumpMu.Lock()
	defer c.dumpMu.Unlock()
	// What a dump does not take is lost; a build must not suffer from it.
	_, _ = c.o.Dump.Write([]byte(text))
}

// content returns a JSON body without its secrets, with a newline; nothing if bodies are not to be dumped.
func (c *Client) content(b []byte) string {
	if !c.o.DumpBody || len(b) == 0 {
		return ""
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if d.Decode(&v) != nil {
		// It may be the beginning of something that has secrets further on.
		return fmt.Sprintf("(%d bytes that are not JSON)\n", len(b))
	}
	out, err := json.Marshal(hide("", v))
	if err != nil {
		return ""
	}
	if len(out) > maxDump {
		return fmt.Sprintf("%s… (%d bytes)\n", out[:maxDump], len(out))
	}
	return string(out) + "\n"
}

// hide replaces the values of a JSON document that are secret: the credentials for cloning, the key that the
// repository's encrypted secrets are made with, the secrets, the text of a log.
func hide(parent string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			switch key := strings.ToLower(name); {
			case key == "secret", key == "password", key == "login", key == "token",
				parent == "secrets" && key == "data", parent == "" && key == "out":
				v[name] = hidden
			default:
				v[name] = hide(key, value)
			}
		}
	case []any:
		for i, value := range v {
			v[i] = hide(parent, value)
		}
	}
	return v
}
