package read_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/sqlite"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

func TestMain(m *testing.M) { programtest.Main(m, cli.Run, cli.ExitCode) }

// The commands say of a main list how it stands together with its sub-agents' lists,
// as the panel does.
func TestGroup(t *testing.T) {
	file := filepath.Join(t.TempDir(), "todo.db")
	store, err := sqlite.Open(file, board.Keep{})
	if err != nil {
		t.Fatal(err)
	}
	b := board.NewBoard(store)
	t.Cleanup(func() { b.Close(); store.Close() })
	lists := b.As("")
	write := func(key, agent string, status todo.Status) {
		t.Helper()
		begin := todo.List{Workspace: "/src/app"}
		if agent != "" {
			begin.ParentConversation = "main"
		}
		_, err := lists.Apply(t.Context(), board.Write{Target: board.Target{Conversation: board.Conversation{Key: key}, Agent: agent}, Begin: begin,
			Change: func(d *todo.Draft) error { d.SetStatus(d.Append("Part of " + key)[0].ID, status); return nil }})
		if err != nil {
			t.Fatal(err)
		}
	}
	write(todo.ChatKey("ses1"), "", todo.InProgress) // another chat in the folder
	write("main", "", todo.InProgress)
	write("main/agent:helper", "helper", todo.Blocked)
	blocked, err := lists.Find(t.Context(), board.Query{})
	if err != nil {
		t.Fatal(err)
	}
	edit := todo.Edit{Do: todo.EditBlock, Item: "1", Text: "Which browser?"}
	if _, err := lists.Edit(t.Context(), blocked[0].List.ID, edit, todo.Writer{}); err != nil {
		t.Fatal(err)
	}
	asks := func(c *todo.Chat, at time.Time) { c.Says(todo.Asks, "run `npm publish`\x1b[31m?\u202e", at) }
	if _, err := lists.Hear(t.Context(), board.Conversation{Key: "main"}, asks); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"lists":                                 "(?m)^Part of main +0/1 +waiting +run `npm publish`\\\\x1b\\[31m\\?.*\nhelper: Part of main/agent:helper +0/1 +waiting +Part of main/agent:helper \\(Wh…",
		"show Part of main --format statusline": "^0/1 asks: run `npm publish`\\\\x1b",
		"lists --state waiting":                 `(?m)^Part of main +0/1 +waiting `,
		"show Part of main":                     "(?s)^Part of main.*\\nwaiting · asks: run `npm publish`\\\\x1b.*sub-agents 0 of 1",
		"history Part of main":                  `(?m)^waiting · `,
		"show Part of main --json":              "\"state\": \"waiting\",\n *\"asks\": \"run `npm publish`",
		"show Part of main/agent":               `(?m)^waiting · `,
		"show --folder /src/app --json":         `"state": "waiting"`,
		"show --chat ses1 --json":               `"title": "Part of [^"]*ses1"`,
	} {
		words := strings.Fields(strings.ReplaceAll(args, "Part of ", "Part_of_"))
		for i, word := range words {
			words[i] = strings.ReplaceAll(word, "_", " ")
		}
		if got := programtest.Succeeds(t, append(words, "--store", "sqlite:"+file)...); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s:\n%s", args, got)
		}
	}
}
