package sqlite

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/todo"
)

// A released migration never changes: files that went through it and files that go
// through it later are to be the same. Each new one has its line here.
func TestMigrationsStayAsReleased(t *testing.T) {
	released := []string{
		"26d597e9955d1330401d8e078cc17a9b5d076c8fa828e2cc744eb14a742c2932",
		"26bdf12ea6420a3c2264657882f9b9748899232ecba0d4571f88217410a6c50a",
		"01afaa24b12065be6e630a34ce269a6a89bc92f243e91f280007f959753dc6d9",
		"5b01436a8cd9fbc71da632e2cdb0a22367e3b2dbefa8657aab5f72f94fb01817",
		"31dea0bdc491906244e53d2b8bb0e628fa7cec9f935c4e681f44e5176543fb42",
	}
	files, err := migrations.ReadDir("migrations")
	if err != nil || len(files) != newestVersion || len(released) != newestVersion {
		t.Fatalf("%d files and %d lines here for version %d, %v", len(files), len(released), newestVersion, err)
	}
	for i, want := range released {
		text, err := migrations.ReadFile(fmt.Sprintf("migrations/%d.sql", i+1))
		if got := fmt.Sprintf("%x", sha256.Sum256(text)); err != nil || got != want {
			t.Errorf("migration %d has the sum %s, %v", i+1, got, err)
		}
	}
}

// Files of earlier versions have the schema of a new file when they are upgraded,
// but for white space.
func TestUpgradedFilesHaveTheSchemaOfNewOnes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	mustSave(t, openWithCleanup(t, path), "a", 1)
	fresh := schemaOf(t, path)
	for _, version := range []string{"version1", "version2"} {
		path := copyVersion(t, version)
		if _, err := openWithCleanup(t, path).Position(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fresh, schemaOf(t, path)); diff != "" {
			t.Errorf("%s (-new file +upgraded)\n%s", version, diff)
		}
	}
}

// schemaOf returns the SQL that made what is in a file, by type and name.
func schemaOf(t *testing.T, path string) map[string]string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), `SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	schema := map[string]string{}
	for rows.Next() {
		var what, text string
		if err := rows.Scan(&what, &text); err != nil {
			t.Fatal(err)
		}
		schema[what] = strings.Join(strings.Fields(text), " ")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return schema
}

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
