package hook_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// plan is a list that an agent writes, finished or not.
func plan(status string) todo.Line { return todo.Line{Text: "Read the grammar", Status: status} }

// prompt is an event of a prompt in the chat.
func prompt(text string) string {
	quoted, _ := json.Marshal(text)
	return event("UserPromptSubmit", `,"prompt":`+string(quoted))
}

// A prompt says on which branch the chat is; a list has that with which it began, and what is no
// branch leaves it as it was.
func TestTheBranchOfAChat(t *testing.T) {
	r, folder := newRig(t), t.TempDir()
	says := func(head string) {
		if err := errors.Join(os.MkdirAll(filepath.Join(folder, ".git"), 0o700), os.WriteFile(filepath.Join(folder, ".git", "HEAD"), []byte(head), 0o600)); err != nil {
			t.Fatal(err)
		}
		r.tells(strings.Replace(prompt("Write a parser"), "/home/ada/parser", filepath.ToSlash(folder), 1), "")
	}
	says("ref: refs/heads/retry\n")
	began := r.agent(plan("pending")).After.List
	says("ref: refs/heads/main\n")
	says("0123456789\n")
	chats, err := r.lists.OwnChats(t.Context(), time.Time{})
	if err != nil || len(chats) != 1 || began.Branch != "retry" || began.OffMain() != "retry" || chats[0].Branch != "main" || chats[0].AsList().List.OffMain() != "" {
		t.Errorf("the list is on %q, the chats %+v, %v", began.Branch, chats, err)
	}
}

// A list is called as its chat is, else by the first prompt since the list before, else by
// project and branch, else by its first item and how many more there are. A prompt that no person typed says nothing,
// nor does a command of the host (BAD-INPUT 111).
//
// BAD-INPUT 111: A question, command, message, prompt or title in an event, of any size or type,
// with controls; a hostile HEAD → One clean line of at most 200 characters, or the tool's name, or
// no title
func TestTitles(t *testing.T) {
	repository := t.TempDir()
	tree := filepath.Join(repository, "tree")
	for path, text := range map[string]string{
		".git/HEAD": "ref: refs/heads/fix-\x1b[31mlexer\n", "sub/x": "", ".git/worktrees/tree/HEAD": "ref: refs/heads/in-tree\n",
		"tree/.git": "gitdir: " + filepath.Join(repository, ".git/worktrees/tree") + "\n", "done/.git/HEAD": "ref: refs/heads/main\n", "loose/.git/HEAD": "0123456789\n",
	} {
		path = filepath.Join(repository, path)
		checktest.Check(t, os.MkdirAll(filepath.Dir(path), 0o700))
		checktest.Check(t, os.WriteFile(path, []byte(text), 0o600))
	}
	in := func(folder, event string) string {
		return strings.Replace(event, "/home/ada/parser", filepath.ToSlash(folder), 1)
	}
	start := event("SessionStart", `,"source":"startup","session_title":"The parser"`)
	const item = "Read the grammar"
	for _, c := range []struct {
		events []string
		want   string
	}{
		{nil, item},
		{[]string{prompt("Write a parser")}, "Write a parser"},
		{[]string{prompt("Write a parser"), prompt("yes")}, "Write a parser"},
		{[]string{prompt("\n```\n  Fix\tthis: \u202e\x1b[31mlexer\nIt fails")}, "Fix this: [31mlexer"},
		{[]string{prompt(strings.Repeat("long ", 10_000))}, strings.TrimSpace(strings.Repeat("long ", 40))},
		{[]string{prompt("")}, item},
		{[]string{prompt("/review 12")}, item},
		{[]string{prompt("!ls")}, item},
		{[]string{prompt("/home/ada/x.go does not build")}, "/home/ada/x.go does not build"},
		{[]string{prompt("<task-notification>done</task-notification>")}, item},
		{[]string{event("UserPromptSubmit", `,"prompt":"Tick","source":"loop_wakeup"`)}, item},
		{[]string{event("UserPromptSubmit", `,"prompt":"Go","source":"user"`)}, "Go"},
		{[]string{event("UserPromptSubmit", `,"prompt":"Reason","timestamp":"2026","transcript_path":"/home/ada/.qwen/projects/p/chats/c.jsonl"`)}, item},
		{[]string{event("UserPromptSubmit", `,"prompt":"Plan it","timestamp":"2026"`)}, "Plan it"}, // of Copilot CLI
		{[]string{event("UserPromptSubmit", `,"prompt":"x","submitted_prompt":"Typed","timestamp":"2026"`)}, "Typed"},
		{[]string{event("BeforeAgent", `,"prompt":"<hook_context>CTX</hook_context>\n\nGo","timestamp":"2026"`)}, "Go"},
		{[]string{start}, "The parser"},
		{[]string{start, prompt("Write a parser")}, "The parser"},
		{[]string{prompt("Write a parser"), event("UserPromptSubmit", `,"prompt":"Go","session_title":"New"`), event("UserPromptSubmit", `,"prompt":"Go","session_title":"Newer"`)}, "Newer"},
		{[]string{in(filepath.Join(repository, "sub"), prompt("/review"))}, "sub (fix- [31mlexer)"},
		{[]string{in(tree, prompt("/review"))}, "tree (in-tree)"},
		{[]string{in(tree, prompt("/review")), prompt("Write a parser")}, "Write a parser"},
		{[]string{in(filepath.Join(repository, "done"), prompt("/review"))}, item},
		{[]string{in(filepath.Join(repository, "loose"), prompt("/review"))}, item},
	} {
		r := newRig(t)
		for _, e := range c.events {
			r.tells(e, "")
		}
		r.agent(plan("in_progress"))
		checktest.Same(t, fmt.Sprintf("%.300q: the title is", c.events), r.all()[0].Title(), c.want)
		checktest.Check(t, r.all()[0].Check())
	}
}
