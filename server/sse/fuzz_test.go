package sse

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
)

// Wherever a stream is asked to resume, it resumes after a revision or refuses,
// and the refusal quotes nothing.
func FuzzFollowRequest(f *testing.F) {
	for _, id := range []string{"", "0", "7", "-1", "+7", "007", "9223372036854775807", "9223372036854775808", " 7", "7\r\nX: y", "1e3", "٧"} {
		f.Add(id, "list=a&after=3")
		f.Add("", "after="+id)
	}
	f.Add("", "after=1&after=-1&list=%00%zz;x")
	board := todo.NewBoard(memory.New())
	f.Cleanup(board.Close)
	f.Fuzz(func(t *testing.T, lastEventID, query string) {
		r := httptest.NewRequest("GET", "/api/events", nil)
		r.URL.RawQuery = query
		r.Header["Last-Event-Id"] = []string{lastEventID}
		following, err := FollowRequest(r, board.As(""), time.Second)
		if err != nil {
			if want := "Last-Event-ID or ?after= must be a whole number, 0 or more"; err.Error() != want {
				t.Fatal(err)
			}
			return
		}
		if following.After < 0 || !following.Resume && following.After != 0 {
			t.Fatalf("resume %v after %d", following.Resume, following.After)
		}
		if n, err := strconv.ParseInt(lastEventID, 10, 64); lastEventID != "" && (err != nil || n != following.After) {
			t.Fatalf("%q resumes after %d", lastEventID, following.After)
		}
		following.Want(todo.Snapshot{})
	})
}

// No text can end its event or begin another: an event has one line of data, and
// that is the JSON of what was sent.
func FuzzEvent(f *testing.F) {
	for _, text := range []string{"", "a\nid: 9\n\ndata: x", "a\rb\r\n\u2028\u0085", "\x00\xff</script>", strings.Repeat(":", 9)} {
		f.Add(int64(7), text)
	}
	f.Fuzz(func(t *testing.T, id int64, text string) {
		data, err := encode([]Event{{ID: id, Name: "list:update", Data: map[string]string{"text": text}}})
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
