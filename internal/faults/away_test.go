//go:build e2e && linux

package faults

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"todo-mcp/internal/store/postgrestest"
)

// BAD-INPUT 132: a server starts before its database, and serves as soon as that is there;
// while it is away an agent is told that, and no host and no user.
//
// BAD-INPUT 132: PostgreSQL is away when `serve` starts, or stops later → `serve` waits, and
// says so in its log; an agent is told that the database does not answer, with no name of a
// host or a user
func TestDatabaseIsAway(t *testing.T) {
	t.Parallel()
	database, err := postgrestest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(database.Close)
	address, err := database.NewDatabase()
	if err != nil {
		t.Fatal(err)
	}
	if err := database.Stop("fast"); err != nil {
		t.Fatal(err)
	}
	served := make(chan *serving)
	go func() {
		s, err := newServing(t, "--store", address)
		if err != nil {
			t.Error(err)
		}
		served <- s
	}()
	if printed, err := onStore(address, "lists"); err == nil || !strings.Contains(printed, "does not answer") {
		t.Errorf("a command does not give up: %v %s", err, printed)
	}
	if err := database.Start(); err != nil {
		t.Fatal(err)
	}
	s := <-served
	chat := s.session(t, "")
	chat.Writes("p:A p:B")
	if err := database.Stop("immediate"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // of the first one the connection broke, the second one finds nobody
		a, err := chat.Try("TodoWrite", `{"todos":[{"content":"C","status":"pending","activeForm":"c"}]}`)
		if err != nil {
			t.Fatal(err)
		}
		told := a.Refused()
		if told == nil || strings.Contains(told.Error(), database.Socket()) || strings.Contains(told.Error(), "user=") {
			t.Errorf("an agent is told %v", told)
		}
	}
	if err := database.Start(); err != nil {
		t.Fatal(err)
	}
	chat.Writes("p:A p:B p:C")
}

// BAD-INPUT 133: a file that is emptied while it is in use takes no write any more.
//
// BAD-INPUT 133: The store file is truncated to nothing while it is in use → The next write
// is refused, and says what to do; nothing is acknowledged
func TestTruncatedStore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "todo.db")
	s := mustServe(t, "--store", "sqlite:"+file)
	chat := s.session(t, "")
	chat.Writes("p:A p:B")
	if err := os.Truncate(file, 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		a, err := chat.Try("TodoWrite", `{"todos":[{"content":"C","status":"pending","activeForm":"c"}]}`)
		if err != nil {
			t.Fatal(err)
		}
		if told := a.Refused(); told == nil || !strings.Contains(told.Error(), "restore a copy") {
			t.Errorf("a write is answered with %v", told)
		}
	}
	if status, _ := get(s.url + "/readyz"); status == 200 {
		t.Error("it is ready")
	}
}
