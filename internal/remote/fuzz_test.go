package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/todo-mcp/todo-mcp/internal/render"
)

// Whatever a server sends, its events are the same however the bytes arrive, hold
// nothing that was not sent, and end with an error at the end of the stream.
func FuzzEvents(f *testing.F) {
	for _, stream := range []string{
		"retry: 1000\n\nid: 7\nevent: list:update\ndata: {\"list\":\"a\",\"items\":[]}\n\n: alive\n\n", "data:a\n\ndata: b\n\n", "data: a\r\n\r\ndata\n\n", "data: cut off",
		"\n\n\ndata:\n\n", "data: {\"list\":\"\\u001b[2J\",\"items\":[{\"id\":\"1\",\"text\":\"\\u009b\"}]}\n\n", "\xff\x00data: x\n\n",
	} {
		f.Add([]byte(stream))
	}
	events := func(t *testing.T, in io.Reader) (all string) {
		lines := 0
		err := readEvents(in, func() { lines++ }, func(data []byte) {
			all += string(data) + "\n"
			var d render.ListDocument
			if json.Unmarshal(data, &d) == nil {
				d.Snapshot()
			}
		})
		if !errors.Is(err, errEnded) || strings.Count(all, "\n") > lines {
			t.Fatalf("%q, %v after %d lines", all, err, lines)
		}
		return all
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		want := events(t, bytes.NewReader(stream))
		if got := events(t, iotest.OneByteReader(bytes.NewReader(stream))); got != want || len(got) > len(stream) {
			t.Fatalf("byte by byte %q, at once %q", got, want)
		}
	})
}

// A server's refusal is safe to print, and short, whatever it says.
func FuzzRefusal(f *testing.F) {
	f.Add(404, "application/json", `{"error":"\u001b[2J\u202e"}`)
	f.Add(403, "text/plain; charset=utf-8", "\x1b]0;x\a no\r\n")
	f.Add(500, "text/html", "<h1>\x9b</h1>")
	f.Add(-1, "", "")
	f.Fuzz(func(t *testing.T, status int, mediaType, body string) {
		err := newRefused(&http.Response{StatusCode: status, Header: http.Header{"Content-Type": {mediaType}}, Body: io.NopCloser(strings.NewReader(body))})
		if text := err.Error(); render.Safe(text) != text || len(text) > 40<<10 {
			t.Fatalf("%q", text)
		}
	})
}
