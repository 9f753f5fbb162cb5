package hook_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Chats of Claude Code that share their tasks have one list, whichever of them writes and however
// they end: an id means one task for all of them. It is nobody else's list.
func TestSharedTasks(t *testing.T) {
	r := newRig(t)
	r.env = map[string]string{"CLAUDE_CODE_TASK_LIST_ID": "release/7.1"}
	does := func(chat, tool, input, response string) {
		t.Helper()
		if err := r.send(fmt.Sprintf(`{"session_id":%q,"cwd":"/home/ada/parser","hook_event_name":"PostToolUse","tool_name":%q,"tool_input":%s,"tool_response":%s}`,
			chat, tool, input, response)); err != nil {
			t.Fatal(err)
		}
	}
	create := func(chat, id, text string) {
		does(chat, "TaskCreate", fmt.Sprintf(`{"subject":%q}`, text), fmt.Sprintf(`{"task":{"id":%q}}`, id))
	}
	update := func(chat, id, status string) {
		does(chat, "TaskUpdate", fmt.Sprintf(`{"taskId":%q,"status":%q}`, id, status), `{"success":true}`)
	}
	ends := func(chat string) {
		if err := r.send(fmt.Sprintf(`{"session_id":%q,"cwd":"/home/ada/parser","hook_event_name":"SessionEnd","reason":"other"}`, chat)); err != nil {
			t.Fatal(err)
		}
	}
	stands := func(state todo.State, items string) {
		t.Helper()
		all := r.all()
		states, err := r.lists.States(t.Context(), all...)
		if err != nil || len(all) != 1 || all[0].Title() != "tasks release-7-1" || !all[0].List.Mirrored {
			t.Fatalf("%v, %v", r.board(), err)
		}
		var got []string
		for _, i := range all[0].Items {
			got = append(got, fmt.Sprint(i.ID, " ", i.Text, " ", i.Status))
		}
		if state != states[all[0].List.ID].State || strings.Join(got, ", ") != items {
			t.Errorf("%s with %v, want %s with %s", states[all[0].List.ID].State, got, state, items)
		}
	}
	create("a", "1", "Parse")
	update("b", "1", "in_progress")
	create("b", "2", "Test")
	stands(todo.Working, "1 Parse in_progress, 2 Test pending")
	update("a", "1", "completed")
	ends("a")
	stands(todo.Working, "1 Parse completed, 2 Test pending")
	ends("b")
	stands(todo.LeftOpen, "1 Parse completed, 2 Test pending")
	update("c", "2", "completed")
	stands(todo.Finished, "1 Parse completed, 2 Test completed")
	ends("c")
	create("d", "3", "Release")
	stands(todo.Working, "1 Parse completed, 2 Test completed, 3 Release pending")

	r.play("claude-code-todowrite", "codex-update-plan")
	r.env["CLAUDE_CODE_TASK_LIST_ID"] = strings.Repeat("x", todo.MaxName+1)
	create("e", "1", "Of its own")
	if all := r.all(); len(all) != 4 || all[1].List.Name+all[2].List.Name+all[3].List.Name != "" {
		t.Errorf("%v", r.board())
	}
}
