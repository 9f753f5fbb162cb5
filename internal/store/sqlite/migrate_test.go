package sqlite

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"todo-mcp/internal/todo"
)

// copyVersion1 copies a file of schema version 1 to a temporary folder and
// returns the path of the copy.
func copyVersion1(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "version1.db"))
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
	path := copyVersion1(t)
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
		titles = append(titles, l.List.Title())
		if l.List.Scope.Conversation == "" || len(l.Items) == 0 || l.Updated.IsZero() {
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
	next := lists[0]
	next.Revision++
	if _, err := s.Save(t.Context(), next); err != nil {
		t.Errorf("save: %v", err)
	}
	if err := s.Announce(t.Context(), todo.Announcement{List: next.List.ID, Revision: 2, Process: "p"}); err != nil {
		t.Errorf("announce: %v", err)
	}
}
