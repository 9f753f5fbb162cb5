package read_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/cli"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/sqlite"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// `lists` shows even the oldest of very many lists.
func TestManyLists(t *testing.T) {
	file := filepath.Join(t.TempDir(), "todo.db")
	store := checktest.Must(sqlite.Open(file, board.Keep{}))(t)
	defer store.Close()
	save := func(from, to int) {
		t.Helper()
		err := store.Update(t.Context(), board.Key{Chat: "c"}, func(tx board.Tx) error {
			for n := from; n < to; n++ {
				_, err := tx.Save(t.Context(), todo.Snapshot{List: todo.List{ID: fmt.Sprintf("list%06d", n), Workspace: "/src/app", Created: time.Now()}, Revision: 1,
					Updated: time.Now(), Items: []todo.Item{{ID: "1", Text: fmt.Sprintf("Step of %06d", n), Status: todo.Pending}}})
				if err != nil {
					return err
				}
			}
			return nil
		})
		checktest.Check(t, err)
	}
	save(0, 501)
	for _, asked := range []string{"--all=false", "--all", "--state=open", "--project=app", "--search=Step"} {
		checktest.Has(t, asked, programtest.Succeeds(t, "lists", asked, "--store", "sqlite:"+file), "Step of 000000 ")
	}
	// However far apart lists were saved, a main list has the state of its sub-agents' lists, and a replaced list names
	// the list that replaced it.
	beside := func(id, text string, status todo.Status, change func(*todo.Snapshot)) {
		t.Helper()
		s := todo.Snapshot{List: todo.List{ID: id, Workspace: "/src/other", Created: time.Now()}, Revision: 1, Updated: time.Now(),
			Items: []todo.Item{{ID: "1", Text: text, Status: status}}}
		change(&s)
		err := store.Update(t.Context(), board.Key{Chat: "c"}, func(tx board.Tx) error { _, err := tx.Save(t.Context(), s); return err })
		checktest.Check(t, err)
	}
	beside("main", "The main part", todo.Completed, func(*todo.Snapshot) {})
	beside("laid-out", "The first plan", todo.Pending, func(s *todo.Snapshot) { s.Archived, s.ReplacedBy = true, "later" })
	save(501, 801)
	beside("sub", "The other part", todo.Pending, func(s *todo.Snapshot) { s.List.Agent, s.List.Parent = "helper", "main" })
	beside("done", "The third part", todo.Completed, func(s *todo.Snapshot) { s.List.Agent, s.List.Parent = "reader", "main" })
	beside("later", "The second plan", todo.Completed, func(*todo.Snapshot) {})
	for asked, want := range map[string]string{
		"--state=open --project=other": `(?s)^TITLE[^\n]*\nThe main part +1/1 +left open [^\n]*\nhelper: The other part +0/1 +left open [^\n]*\n\nand 1 archived`,
		"--state=finished":             `(?s)^TITLE[^\n]*\nThe second plan +1/1 +finished [^\n]*\nreader: The third part [^\n]*\n\nand 1 archived`,
		"--archived":                   `(?s)^TITLE[^\n]*\nThe first plan +0/1 +archived .* The second plan +laid-out\n$`,
		"--search=part":                `(?s)^TITLE[^\n]*\n(The main part|helper: The other part|reader: The third part) [^\n]*\n(The|helper|reader)[^\n]*\n(The|helper|reader)[^\n]*\n$`,
		"--search=part --json":         `"state": "left open"`,
		"--since=yesterday --archived": `(?s)^TITLE[^\n]*\nThe first plan +0/1 +archived `,
		"--since=2100-01-01":           `^No list matches`,
	} {
		got := programtest.Succeeds(t, append(append([]string{"lists"}, strings.Fields(asked)...), "--store", "sqlite:"+file)...)
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s:\n%.1000s", asked, got)
		}
	}
}

// history shows all revisions of a long history, each with its changes.
func TestLongHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "todo.db")
	store := checktest.Must(sqlite.Open(file, board.Keep{}))(t)
	defer store.Close()
	const newest = 250
	err := store.Update(t.Context(), board.Key{Chat: "c"}, func(tx board.Tx) error {
		for n := range int64(newest) {
			_, err := tx.Save(t.Context(), todo.Snapshot{List: todo.List{ID: "list000001", Created: time.Now()}, Revision: n + 1,
				Updated: time.Now(), Items: []todo.Item{{ID: "1", Text: fmt.Sprint("Step ", n+1), Status: todo.Pending}}})
			if err != nil {
				return err
			}
		}
		return nil
	})
	checktest.Check(t, err)
	show := func(args ...string) string {
		t.Helper()
		return programtest.Succeeds(t, append([]string{"history", "list000001", "--store", "sqlite:" + file}, args...)...)
	}
	if all := show(); strings.Count(all, "\nrevision ") != newest || !strings.Contains(all, "Step 150 → Step 151") {
		t.Errorf("all: %.500s", all)
	}
	checktest.Same(t, "revisions as JSON", strings.Count(show("--json"), `"revision":`), newest)
}

func TestMain(m *testing.M) { programtest.Main(m, cli.Run, cli.ExitCode) }

// The commands show the state of a main list together with its sub-agents' lists, as the panel does.
func TestGroup(t *testing.T) {
	file := filepath.Join(t.TempDir(), "todo.db")
	store := checktest.Must(sqlite.Open(file, board.Keep{}))(t)
	b := board.NewBoard(store)
	t.Cleanup(func() { b.Close(); store.Close() })
	lists := b.As("")
	write := func(key, agent string, status todo.Status) {
		t.Helper()
		who := board.Conversation{Key: key, Workspace: "/src/app", Agent: agent}
		if agent != "" {
			who.Parent = "main"
		}
		checktest.Must(lists.Apply(t.Context(), board.Write{Target: board.Target{Conversation: who},
			Change: func(d *todo.Draft) error { d.SetStatus(d.Append("Part of " + key)[0].ID, status); return nil }}))(t)
	}
	write(todo.ChatKey("ses1"), "", todo.InProgress) // another chat in the folder
	write("main", "", todo.InProgress)
	write("main/agent:helper", "helper", todo.Blocked)
	blocked := checktest.Must(lists.Find(t.Context(), board.Query{}))(t)
	edit := todo.Edit{Do: todo.EditBlock, Item: "1", Text: "Which browser?"}
	checktest.Must(lists.Edit(t.Context(), blocked[0].List.ID, edit, todo.Writer{}))(t)
	asks := func(c *todo.Chat, at time.Time) { c.Says(todo.Asks, "run `npm publish`\x1b[31m?\u202e", at) }
	checktest.Must(lists.Hear(t.Context(), board.Conversation{Key: "main"}, asks))(t)
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
