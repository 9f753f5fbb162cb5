package tools_test

import (
	"testing"
	"time"
	"unicode/utf8"

	"todo-mcp/internal/todo"
	"todo-mcp/tools"
)

// For any bytes as arguments, Read returns a call or an error that Failure can
// word, and applying the call leaves only valid items.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[`, `{"todos":[{"content":"A","activeForm":"A","status":"pending"}]}`, `{"todos":"[{\"title\":\"A\",\"status\":\"done\"}]</todos>"}`,
		`{"items":["a","\ud800"]}`, `{"id":"#1","status":"running","list_id":7}`, "\"\\\"", `"[]"`, `{"todos":{"todos":[]}}`, `[[[[`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	list, err := tools.New(tools.Defaults())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, tool := range list {
			call, err := tool.Read(raw)
			if err != nil {
				if result, ok := tool.Failure(err); !ok || !result.IsError || !utf8.ValidString(result.Text) {
					t.Fatalf("%s: Failure does not word %v: %+v", tool.Name, err, result)
				}
				continue
			}
			if call.Change == nil {
				continue
			}
			d := todo.NewDraft(todo.Snapshot{Items: []todo.Item{{ID: "1", Text: "A", Status: todo.Pending}}, LastID: 1}, time.Unix(0, 0))
			if err := call.Change(d); err != nil {
				if _, ok := tool.Failure(err); !ok {
					t.Fatalf("%s: Failure does not word %v", tool.Name, err)
				}
				continue
			}
			for _, item := range d.Items() {
				if err := item.Check(); err != nil {
					t.Fatalf("%s stored %+v: %v", tool.Name, item, err)
				}
			}
		}
	})
}
