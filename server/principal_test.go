package server_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

// foreignList makes a list of another principal and returns its id.
func foreignList(t *testing.T, st todo.Store) string {
	t.Helper()
	b := todo.NewBoard(st)
	defer b.Close()
	out, err := b.As("somebody").Apply(t.Context(), todo.Write{Target: todo.Target{Conversation: todo.Conversation{Key: "x"}},
		Change: func(d *todo.Draft) error { d.Append("theirs"); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return out.After.List.ID
}

// BAD-INPUT 34: on every route and in every message, another principal's list is
// answered exactly like one that does not exist.
func TestForeignListLooksMissing(t *testing.T) {
	store := memory.New()
	foreign := foreignList(t, store)
	const missing = "zzzzzzzzzzzzzzzzzzzzzzzzzz"
	s := servertest.New(t, store, nil)
	web := servertest.Serve(t, s, nil)
	id := servertest.Session(t, web.URL+"/mcp", "tester")
	messages := map[string]func(list string) string{
		"list_id": func(l string) string { return servertest.Call(1, "SetTodoList", `{"list_id":"`+l+`"}`) },
		"write":   func(l string) string { return servertest.Call(1, "create_todos", `{"items":["A"],"list_id":"`+l+`"}`) },
		"resource": func(l string) string {
			return `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"todo://lists/` + l + `"}}`
		},
		"resume": func(l string) string {
			return `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"resume","arguments":{"list":"` + l + `"}}}`
		},
		"app": func(l string) string { return servertest.Call(1, "todo_list_view", `{"list_id":"`+l+`"}`) },
		"tick": func(l string) string {
			return servertest.Call(1, "todo_list_tick", `{"list_id":"`+l+`","item_id":"1","status":"completed"}`)
		},
	}
	for name, message := range messages {
		status1, _, body1 := servertest.Post(t, web.URL+"/mcp", message(foreign), "Mcp-Session-Id", id)
		status2, _, body2 := servertest.Post(t, web.URL+"/mcp", message(missing), "Mcp-Session-Id", id)
		if status1 != status2 || strings.ReplaceAll(body1, foreign, missing) != body2 {
			t.Errorf("34: %s: %d %s\nunknown: %d %s", name, status1, body1, status2, body2)
		}
	}
	for _, path := range []string{"/api/lists/LIST", "/api/lists/LIST/history", "/api/workspace?list=LIST", "/lists/LIST", "/lists/LIST.md", "/lists/LIST.json", "POST /lists/LIST/edit"} {
		get := func(list string) string {
			method, path, posted := strings.Cut(path, " ")
			if !posted {
				method, path = "GET", method
			}
			req, err := http.NewRequest(method, web.URL+strings.ReplaceAll(path, "LIST", list), strings.NewReader(`{"do":"add","text":"A"}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			data, _ := io.ReadAll(res.Body)
			return fmt.Sprint(res.StatusCode, strings.ReplaceAll(string(data), list, "LIST"))
		}
		if got, want := get(foreign), get(missing); got != want {
			t.Errorf("34: %s: %s\nunknown: %s", path, got, want)
		}
	}
	var lists []map[string]any
	if servertest.GetJSON(t, web.URL+"/api/lists", &lists); len(lists) != 0 {
		t.Errorf("34: listed: %v", lists)
	}
	streams := []*servertest.Events{servertest.OpenStream(t, "GET", web.URL+"/api/events?after=0", ""), servertest.OpenStream(t, "GET", web.URL+"/api/stream", ""), servertest.OpenStream(t, "GET", web.URL+"/panel/events?after=0", "")}
	b := todo.NewBoard(store)
	defer b.Close()
	if _, err := b.As("somebody").Edit(t.Context(), foreign, todo.Edit{Do: todo.EditRestore, Revision: 1}, todo.Writer{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.As("somebody").Apply(t.Context(), todo.Write{Target: todo.Target{List: foreign},
		Change: func(d *todo.Draft) error { d.Append("secret"); return nil }}); err != nil {
		t.Fatal(err)
	}
	servertest.Post(t, web.URL+"/mcp", servertest.Call(1, "TodoWrite", servertest.Todos("pending", "ours")), "Mcp-Session-Id", id)
	for i, s := range streams {
		if data := s.Until("ours"); strings.Contains(data, "secret") || strings.Contains(data, foreign) {
			t.Errorf("34: stream %d sent %s", i, data)
		}
	}
}
