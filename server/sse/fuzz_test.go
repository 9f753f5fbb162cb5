package sse

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// No text can end its event or begin another: an event has one line of data, and
// that is the JSON of what was sent.
func FuzzEvent(f *testing.F) {
	for _, text := range []string{"", "a\nid: 9\n\ndata: x", "a\rb\r\n\u2028\u0085", "\x00\xff</script>", strings.Repeat(":", 9)} {
		f.Add(int64(7), text)
	}
	f.Fuzz(func(t *testing.T, id int64, text string) {
		data, err := Encode(Event{ID: id, Name: "list:update", Data: map[string]string{"text": text}})
		if err != nil {
			t.Fatal(err)
		}
		event, ended := bytes.CutSuffix(data, []byte("\n\n"))
		if !ended || bytes.ContainsAny(event, "\r\x00") {
			t.Fatalf("%q", data)
		}
		var fields []string
		for line := range strings.SplitSeq(string(event), "\n") {
			name, value, _ := strings.Cut(line, ": ")
			if fields = append(fields, name); name != "data" {
				continue
			}
			var got map[string]string
			if err := json.Unmarshal([]byte(value), &got); err != nil || got["text"] != strings.ToValidUTF8(text, "\ufffd") && !strings.Contains(got["text"], "\ufffd") {
				t.Fatalf("%q is %q, %v", text, got, err)
			}
		}
		if n := len(fields); n != 2 && (id == 0 || n != 3) {
			t.Fatalf("fields %q", fields)
		}
	})
}
