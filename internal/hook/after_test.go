package hook_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/hook"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// after adds an item for the end of the turn to the first list.
func (r *rig) after(text string) todo.Snapshot {
	r.Helper()
	return r.edits(todo.Edit{Do: todo.EditAdd, Text: text, After: true})
}

func (r *rig) edits(e todo.Edit) todo.Snapshot {
	r.Helper()
	out, err := r.lists.Edit(r.Context(), r.all()[0].List.ID, e, todo.Writer{})
	if err != nil {
		r.Fatal(err)
	}
	return out.After
}

// ended are the ends of turns as hosts were recorded to tell them, and the field of the answer
// in which each reads what keeps its turn from ending.
var ended = map[string]struct{ event, field string }{
	"Claude Code": {event("Stop", `,"prompt_id":"2b","permission_mode":"default","effort":{"level":"medium"},"stop_hook_active":false,"last_assistant_message":"DONE-S","background_tasks":[],"session_crons":[]`), "additionalContext"},
	"Codex":       {event("Stop", `,"turn_id":"01","model":"gpt-5.5","permission_mode":"default","stop_hook_active":false,"last_assistant_message":"DONE-XS"`), "reason"},
	"Qwen Code":   {event("Stop", `,"timestamp":"2026-11-27T13:48:44.881Z","permission_mode":"auto","prompt_id":"d4########5","stop_hook_active":true,"last_assistant_message":"DONE-QN","background_tasks":[],"crons":[]`), "reason"},
	"Gemini CLI":  {event("AfterAgent", `,"timestamp":"2026-11-27T13:41:45.545Z","prompt":"RIG-GN0 go","prompt_response":"DONE-GN","stop_hook_active":false`), "reason"},
	"opencode":    {event("Stop", `,"host":"opencode"`), "additionalContext"},
	"Kimi Code":   {event("Stop", `,"client_type":"kimi_code_cli","session_title":"RIG-MQ go","stop_hook_active":false`), "permissionDecisionReason"},
	"a question":  {event("Stop", `,"last_assistant_message":"Shall I go on?"`), "reason"},
}

// What a person adds for the end of the turn is no part of it: neither events of the turn nor
// writes tell it. As the turn ends its agent is told once, and goes on with it.
func TestWhatWaitsForTheEndOfATurn(t *testing.T) {
	for host, stop := range ended {
		t.Run(host, func(t *testing.T) {
			r := newRig(t)
			read, write := todo.Line{Text: "Read", Status: "completed"}, todo.Line{Text: "Write", Status: "in_progress"}
			r.tells(event("UserPromptSubmit", ""), "")
			was := r.agent(read, write)
			list := r.after("Update the changelog")
			if len(list.Later) != 1 || len(list.Items) != 2 || list.LastID != was.After.LastID {
				t.Fatalf("%+v", list)
			}
			r.tells(event("PostToolBatch", ""), "")
			r.tells(event("PermissionRequest", `,"tool_name":"Bash","tool_input":{"command":"make"}`), "")
			r.tells(event("Stop", `,"agent_id":"a1"`), "")
			r.tells(event("Stop", `,"background_tasks":[{"type":"subagent","status":"running"}]`), "")
			r.tells(event("PostToolBatch", ""), "")
			write.Status = "completed"
			if out := r.agent(read, write); out.OthersDid() || len(out.Dropped)+len(out.After.Items) != 2 {
				t.Errorf("the turn is told %+v", out)
			}
			r.stands(todo.Working, "")
			e, err := hook.Read(strings.NewReader(stop.event))
			if err != nil {
				t.Fatal(err)
			}
			r.tells(stop.event, `The user changed the list: added "Update the changelog". Go on with it now.`)
			if answer, err := json.Marshal(e.Answer(r.told)); err != nil || !strings.Contains(string(answer), `"`+stop.field+`":"The user`) {
				t.Errorf("%s, %v", answer, err)
			}
			r.stands(todo.Working, "")
			r.tells(event("Stop", ""), "")
			r.stands(todo.Idle, "")
			if list := r.all()[0]; len(list.Later) > 0 || len(list.Items) != 3 || list.Items[2].ID != "3" || !list.Items[2].Added {
				t.Errorf("%+v", list)
			}
		})
	}
}

// Where no turn runs, what waits for the end of one is told as any other edit: at the next prompt.
// So is what waited for the end of a turn of which no hook told.
func TestWhatWaitsForNoTurn(t *testing.T) {
	r := newRig(t)
	const told = `The user changed the list: added "Tell Ann"`
	prompt, line := event("UserPromptSubmit", ""), todo.Line{Text: "Write", Status: "in_progress"}
	r.agent(line) // no hook has told of the chat
	if list := r.after("Tell Bob"); len(list.Later) > 0 {
		t.Fatalf("%+v", list)
	}
	r.tells(prompt, strings.Replace(told, "Ann", "Bob", 1))
	r.tells(event("Stop", ""), "")
	if list := r.after("Tell Ann"); len(list.Later) > 0 {
		t.Errorf("after the turn: %+v", list)
	}
	r.tells(prompt, told)
	r.after("Tell Eve")
	r.tells(event("Interrupt", ""), "") // a person broke it off
	r.tells(prompt, strings.Replace(told, "Ann", "Eve", 1))
	r.after("Tell Joe")
	r.tells(event("SessionEnd", `,"reason":"other"`), "")
	if out := r.agent(line); len(out.Unseen) != 1 || out.Unseen[0].After.Text != "Tell Joe" {
		t.Errorf("the next write is told %+v", out.Report)
	}
}

// In a host whose plugin says which list a call wrote, what a person adds waits for the end of the
// turn, too: the chat that hooks tell of is known to hold the list from then on.
func TestWhatWaitsOfAChatThatAPluginTellsOf(t *testing.T) {
	r := newRig(t)
	of := func(name, more string) string { return event(name, `,"host":"opencode"`+more) }
	r.tells(of("SessionStart", `,"source":"startup"`), "")
	r.tells(of("PermissionDenied", ""), "")
	write := func(texts ...string) board.Outcome {
		t.Helper()
		var lines []todo.Line
		for _, text := range texts {
			lines = append(lines, todo.Line{Text: text, Status: "pending"})
		}
		out, err := r.lists.Apply(t.Context(), board.Write{
			Target: board.Target{Conversation: board.Conversation{Key: "process-1", Client: "opencode", Workspace: "/home/ada/parser"}, Lines: lines, View: todo.CoreView()},
			Writer: todo.Writer{Client: "opencode"}, Change: func(d *todo.Draft) error { d.Replace(todo.CoreView(), lines); return nil }})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	wrote := func(out board.Outcome) {
		t.Helper()
		r.tells(of("PostToolUse", fmt.Sprintf(`,"list":%q`, out.After.List.ID)), "")
		r.tells(of("PostToolBatch", ""), "")
	}
	wrote(write("Read", "Test"))
	if list := r.after("Update the changelog"); len(list.Later) != 1 {
		t.Fatalf("%+v", list)
	}
	out := write("Read", "Test", "Commit")
	if len(out.After.Later) != 1 || len(out.After.Items) != 3 {
		t.Errorf("a call in the turn has what waits for its end: %+v", out.After)
	}
	wrote(out)
	r.tells(of("Stop", ""), `The user changed the list: added "Update the changelog". Go on with it now.`)
}
