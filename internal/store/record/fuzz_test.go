package record_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/record"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Bytes of a damaged file are refused as corrupt, or are a snapshot that is stored
// and read back as it is.
func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(`{"revision":1,"items":[{"id":"1","text":"A","status":"pending"}],"last_id":1,"updated":"2026-01-02T03:04:05Z"}`), []byte(`{"id":"a","principal":"","created":"2026-01-02T03:04:05Z"}`))
	f.Add([]byte(`{"revision":-1,"items":null}`), []byte(`{"id":"a","scope":{},"previous":"b","chat":"c"}`))
	f.Add([]byte(`{"items":[{"text":"\ud800\u0000"}]} x`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, body, list []byte) {
		s, err := record.Snapshot(body, list, 7)
		if err != nil {
			if !errors.Is(err, board.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		bodyAgain, err1 := record.Body(s)
		listAgain, err2 := record.Encode(s.List)
		if err := errors.Join(err1, err2); err != nil {
			return // a year beyond 9999 cannot be written; it was not
		}
		again, err := record.Snapshot(bodyAgain, listAgain, 7)
		if s.Items == nil {
			s.Items = []todo.Item{}
		}
		if diff := cmp.Diff(s, again); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}
