package hook_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/hook"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// wait has an agent at rest waited for, and returns what that ends with.
func (r *rig) wait(isOver func() bool) <-chan string {
	r.Helper()
	e, err := hook.Read(strings.NewReader(event("Stop", "")))
	if err != nil {
		r.Fatal(err)
	}
	told := make(chan string, 1)
	go func() {
		text, err := e.Wake(r.Context(), r.lists, isOver)
		if err != nil {
			text = err.Error()
		}
		told <- text
	}()
	return told
}

// An agent at rest is told what a person gives it to do, once, and is at work then. What needs
// nothing of it does not wake it, nor does what it is told otherwise.
func TestAnAgentAtRestIsWoken(t *testing.T) {
	r := newRig(t)
	line := todo.Line{Text: "Write", Status: "in_progress"}
	r.tells(event("UserPromptSubmit", ""), "")
	r.agent(line, todo.Line{Text: "Read", Status: "pending"})
	r.tells(event("Stop", ""), "")
	asked := make(chan bool)
	told := r.wait(func() bool { asked <- true; return false })
	<-asked
	r.edits(todo.Edit{Do: todo.EditStatus, Item: "2", Status: todo.Completed})
	r.edits(todo.Edit{Do: todo.EditRename, Text: "Mine"})
	<-asked // it has looked at these
	<-asked
	r.edits(todo.Edit{Do: todo.EditAdd, Text: "Tell Ann", After: true})
	ends := func(told <-chan string) string {
		for {
			select {
			case text := <-told:
				return text
			case <-asked:
			}
		}
	}
	text := ends(told)
	if want := `The user changed the list: set "Read" to completed, added "Tell Ann", named the list "Mine". Go on with it now.`; text != want {
		t.Errorf("it is told %s, want %s", text, want)
	}
	r.stands(todo.Working, "")
	r.tells(event("PostToolBatch", ""), "")
	r.tells(event("Stop", ""), "")
	if text := <-r.wait(func() bool { return true }); text != "" {
		t.Errorf("when nobody waits it is told %s", text)
	}
	goesOn := r.wait(func() bool { asked <- true; return false })
	<-asked
	<-asked // it has seen that the agent rests
	r.tells(event("UserPromptSubmit", ""), "")
	if text := ends(goesOn); text != "" {
		t.Errorf("while it goes on it is told %s", text)
	}
	var over atomic.Bool
	gone := r.wait(over.Load)
	over.Store(true)
	if text := <-gone; text != "" {
		t.Errorf("it is told %s", text)
	}
}
