//go:build e2e && linux

package faults

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// BAD-INPUT 52: a newer program makes the store one of its own version while a server has
// it open, also with other tables: agents, pages and /readyz say so, and no command that
// reads changes it.
func TestNewerBeside(t *testing.T) {
	database, _ := newPostgres(t)
	for name, store := range map[string]string{"SQLite": "sqlite:" + filepath.Join(t.TempDir(), "todo.db"), "PostgreSQL": database} {
		t.Run(name, func(t *testing.T) {
			s := mustServe(t, "--store", store)
			agent := s.session(t, "plan")
			agent.Writes("p:A")
			file, isFile := strings.CutPrefix(store, "sqlite:")
			behind := func(inSQLite, inPostgres string) {
				if isFile {
					command(t, nil, "sqlite3", file, inSQLite)
				} else {
					command(t, nil, "psql", "--quiet", "--command="+inPostgres, store)
				}
			}
			refuses := func(with string) {
				answer, err := agent.Try("TodoWrite", `{"todos":[{"content":"B","status":"pending","activeForm":"B"}]}`)
				if err != nil || answer.Refused() == nil || !strings.Contains(answer.Refused().Error(), board.ErrTooNew.Error()) || strings.Contains(answer.Refused().Error(), "SQL") {
					t.Errorf("%s: an agent is told %v, %v", with, answer.Refused(), err)
				}
				if code, _, said := servertest.Ask(t, http.MethodGet, s.url+"/readyz", ""); code != http.StatusServiceUnavailable || !strings.Contains(said, board.ErrTooNew.Error()) {
					t.Errorf("%s: /readyz %d %s", with, code, said)
				}
			}
			behind("PRAGMA user_version = 99", "UPDATE todo_mcp.store SET version = 99; ALTER TABLE todo_mcp.version_1 RENAME TO version_99")
			refuses("another version")
			behind("ALTER TABLE lists RENAME TO plans", "ALTER TABLE todo_mcp.lists RENAME TO plans")
			refuses("another version, other tables")
			for _, path := range []string{"/api/lists", "/"} {
				if code, _, said := servertest.Ask(t, http.MethodGet, s.url+path, ""); code != http.StatusServiceUnavailable || !strings.Contains(said, board.ErrTooNew.Error()) {
					t.Errorf("%s says %d %s", path, code, said)
				}
			}
			behind("ALTER TABLE plans RENAME TO lists", "ALTER TABLE todo_mcp.plans RENAME TO lists")
			if err := errors.Join(s.Terminate(), s.Wait(10*time.Second)); err != nil {
				t.Fatal(err)
			}
			content := func() string {
				if isFile {
					return string(command(t, nil, "sha256sum", file)) + fmt.Sprint(filepath.Glob(file+"*"))
				}
				return restrict.ReplaceAllString(string(command(t, nil, "pg_dump", "--schema=todo_mcp", store)), "")
			}
			before := content()
			for _, args := range []string{"lists", "show", "history plan", "today", "check", "export", "backup " + filepath.Join(t.TempDir(), "b"), "prune --dry-run", "serve --addr 127.0.0.1:0"} {
				if !isFile && strings.HasPrefix(args, "backup") {
					continue // pg_dump does it
				}
				if printed, err := onStore(store, strings.Fields(args)...); err == nil || !strings.Contains(printed, "todo-mcp") || !strings.Contains(printed, "version") {
					t.Errorf("%s: %v %s", args, err, printed)
				}
			}
			if content() != before {
				t.Error("a store of a newer program is not as it was")
			}
		})
	}
}

// restrict matches the lines of a dump that are others each time.
var restrict = regexp.MustCompile(`(?m)^\\(un)?restrict .*`)
