package sqlite

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"todo-mcp/internal/todo"
)

// copyVersion copies a file of an earlier schema version to a temporary folder
// and returns the path of the copy.
func copyVersion(t *testing.T, version string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", version+".db"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "todo.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The first read of a version 1 file upgrades it: its lists get the titles they
// began with, and nothing else in them changes.
func TestVersion1IsUpgraded(t *testing.T) {
	path := copyVersion(t, "version1")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	lists, err := s.Find(t.Context(), todo.Query{OldestFirst: true})
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, l := range lists {
		titles = append(titles, l.Title())
		if l.List.Conversation == "" || len(l.Items) == 0 || l.Updated.IsZero() {
			t.Errorf("list %s lost something: %+v", l.List.ID, l)
		}
	}
	want := []string{"List callers", "Find the cause", "为发布写说明", "A shared plan", "release"}
	if !slices.Equal(titles, want) {
		t.Errorf("titles %q, want %q", titles, want)
	}
	history, err := s.History(t.Context(), lists[4].List.ID, 0, 0)
	if err != nil || len(history) != 3 || history[1].Operation.ID != "caller:op-1" || !history[2].Writer.Person {
		t.Errorf("history %+v, %v", history, err)
	}
	if last, err := s.LastBy(t.Context(), lists[4].List.ID, false, 3); err != nil || last.Revision != 2 {
		t.Errorf("70: the last revision of an agent is %d, %v", last.Revision, err)
	}
	next := lists[0]
	next.Revision++
	if _, err := s.Save(t.Context(), next); err != nil {
		t.Errorf("save: %v", err)
	}
	if err := s.Announce(t.Context(), todo.Announcement{List: next.List.ID, Revision: 2, Process: "p"}); err != nil {
		t.Errorf("announce: %v", err)
	}
}

// In a file of version 2 a list belonged to a scope. Afterwards the scope's
// conversation holds the list and has seen the newest revision that no person
// wrote, a name leads to its list, and a sub-agent's list keeps its parent.
func TestVersion2IsUpgraded(t *testing.T) {
	s, err := Open(copyVersion(t, "version2"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	titles := map[string]string{}
	lists, err := s.Find(t.Context(), todo.Query{OldestFirst: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lists {
		titles[l.List.ID] = l.Title()
	}
	for _, c := range []struct {
		conversation, title string
		seen                int64
	}{
		{"conversation:threadId:t1", "Find the cause", 1},
		{"stdio:claude-code:/tmp", "Write code", 1},
		{"name:release", "release", 1}, // a person wrote revision 2
		{"conversation:todo-mcp/conversation:c", "Main step", 1},
		{"conversation:todo-mcp/conversation:c/agent:searcher", "Search docs", 1},
		{"dir:/tmp", "From the shell", 1},
	} {
		t.Run(c.conversation, func(t *testing.T) {
			got, err := s.Bindings(t.Context(), "", c.conversation)
			if err != nil || len(got) != 1 {
				t.Fatalf("%v, %v", got, err)
			}
			if titles[got[0].List] != c.title || got[0].Seen != c.seen {
				t.Errorf("%q at revision %d, want %q at %d", titles[got[0].List], got[0].Seen, c.title, c.seen)
			}
		})
	}
	tmp := "/tmp"
	found, err := s.Find(t.Context(), todo.Query{Client: "claude-code", Workspace: &tmp})
	if err != nil || len(found) != 1 || found[0].List.Client != "claude-code" {
		t.Errorf("by client and workspace: %+v, %v", found, err)
	}
	main, err := s.Bindings(t.Context(), "", "conversation:todo-mcp/conversation:c")
	if err != nil {
		t.Fatal(err)
	}
	subs, err := s.Find(t.Context(), todo.Query{Parent: main[0].List})
	if err != nil || len(subs) != 1 || subs[0].List.Agent != "reader" {
		t.Errorf("sub-lists: %+v, %v", subs, err)
	}
}
