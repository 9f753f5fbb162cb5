//go:build e2e && linux

package faults

import (
	"path/filepath"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
)

// D5: agents of processes on stdio and over HTTP, on one file, share the steps of a list. What the
// agent has whose process is killed, another one takes.
func TestClaims(t *testing.T) {
	store := "sqlite:" + filepath.Join(t.TempDir(), "todos.db")
	var chats []*chattest.Chat
	var mortal *agent
	for range 3 {
		a, err := newAgent(t, "--store", store, "--list", "work")
		if err != nil {
			t.Fatal(err)
		}
		chats, mortal = append(chats, a.Chat), a
	}
	for range 2 {
		s := mustServe(t, "--store", store)
		chats = append(chats, s.session(t, "work"), s.session(t, "work"))
	}
	calls := chattest.Claims(t, chats, size(40, 400))
	report.Add(t, row{Fault: "claims at once", Tried: "7 agents of 5 processes take, do and give back steps of one list", Acknowledged: calls,
		Notes: "linearizable, checked by porcupine"})
	const left, take = `{"taskId":"1","status":"pending","owner":""}`, `{"taskId":"1","status":"in_progress","owner":"another"}`
	mortal.Does("TaskUpdate", left)
	mortal.Does("TaskUpdate", `{"taskId":"1","status":"in_progress","owner":"who is killed"}`)
	chats[0].Calls("TaskUpdate", take).Fails(`taken by "who is killed"`)
	mortal.Kill()
	for {
		a, err := try(chats[0], "TaskUpdate", take)
		if err == nil {
			a.Says("Updated task #1")
			return
		}
		if chats[0].Context().Err() != nil {
			t.Fatal(err)
		}
	}
}
