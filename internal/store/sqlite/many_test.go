package sqlite

import (
	"database/sql/driver"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"modernc.org/sqlite"

	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

// filled returns a store with as many lists of storetest.Crowd as asked for, and with
// limits. One project is saved, and the others are copied from it.
func filled(t testing.TB, path string, lists int) *Store {
	t.Helper()
	s, err := Open(path, WithKeep(todo.Keep{Revisions: 1000, Lists: 1_000_000, Begun: 1000, Bytes: 4_000_000_000, Abandoned: time.Hour}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for n := range storetest.ProjectSize {
		next, holder := storetest.Crowd(n)
		if _, err := storetest.Save(t.Context(), s, next, holder); err != nil {
			t.Fatal(err)
		}
	}
	db := openRaw(t, path)
	if _, err := db.Exec(`CREATE TEMP TABLE copies AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
		SELECT i * ?2 AS seqs, ?3 AS name, printf('project%07d', i) AS copy FROM n`,
		lists/storetest.ProjectSize, storetest.ProjectSize, storetest.ProjectName(0)); err != nil {
		t.Fatal(err)
	}
	execSQL(t, db, `BEGIN`,
		`INSERT INTO history (seq, list, revision, operation, person, updated, body, sum)
			SELECT seq + seqs, replace(list, name, copy), revision, operation, person, updated, body, 0 FROM copies, history`,
		`INSERT INTO lists (id, principal, client, workspace, parent, parent_conversation, conversation, begun, meta, sum, revision, seq, updated, deleted)
			SELECT replace(id, name, copy), principal, client, replace(workspace, name, copy), parent, replace(parent_conversation, name, copy),
				replace(conversation, name, copy), begun, replace(meta, name, copy), 0, revision, seq + seqs, updated, deleted FROM copies, lists`,
		`INSERT INTO cursors (principal, conversation, list, seen, process, until, moved, current, at, sum)
			SELECT principal, replace(conversation, name, copy), replace(list, name, copy), seen, process, until, moved, current, at, 0 FROM copies, cursors`,
		`UPDATE history SET sum = todo_sum(list, revision, operation, person, updated, body)`,
		`UPDATE lists SET sum = todo_sum(id, principal, client, workspace, parent, parent_conversation, conversation, begun, meta)`,
		`UPDATE cursors SET sum = todo_sum(principal, conversation, list, seen, process, until, moved, current, at)`,
		`COMMIT`)
	return s
}

// todo_sum is the checksum of rows in SQL.
func init() {
	sqlite.MustRegisterDeterministicScalarFunction("todo_sum", -1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		columns := make([]any, len(args))
		for i, arg := range args {
			columns[i] = arg
		}
		return sumOf(columns...), nil
	})
}

// work returns a function that counts the pages of the file at path at which SQLite
// has looked since it was last called, by connections that are opened from now on.
func work(t testing.TB, path string) (pages func() int) {
	return counted(t, path, sqlite.DBStatusCacheHit, sqlite.DBStatusCacheMiss)
}

// missed is work for the pages that SQLite has read from the disk.
func missed(t testing.TB, path string) (pages func() int) {
	return counted(t, path, sqlite.DBStatusCacheMiss)
}

func counted(t testing.TB, path string, counters ...sqlite.DBStatusOp) (pages func() int) {
	var mu sync.Mutex
	var all []sqlite.DBStatus
	before := 0
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, dsn string) error {
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(dsn, path) {
			all = append(all, conn.(sqlite.DBStatus))
		}
		return nil
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		now := 0
		for _, conn := range all {
			for _, counter := range counters {
				looked, _, err := conn.Status(counter, false)
				if err != nil {
					t.Fatal(err)
				}
				now += looked
			}
		}
		n := now - before
		before = now
		return n
	}
}

// BAD-INPUT 69: no call and no front end makes SQLite look at more of the file the
// more lists there are, but for the depth of its trees: a query without the index that
// it needs looks at ten times as much in ten times as many.
func TestWorkDoesNotGrowWithLists(t *testing.T) {
	looked := make(map[string][]int)
	for _, lists := range []int{200, 2000} {
		path := filepath.Join(t.TempDir(), "todo.db")
		pages := work(t, path)
		s := filled(t, path, lists)
		for _, step := range storetest.Steps() {
			step.Do(t, s, 0) // so that its statements are prepared
			pages()
			for n := range 10 {
				step.Do(t, s, 1+n)
			}
			looked[step.Name] = append(looked[step.Name], pages())
		}
	}
	for what, n := range looked {
		if n[0] == 0 || n[1] > 2*n[0] {
			t.Errorf("%s: SQLite looks at %d pages, and at %d with ten times as many lists", what, n[0], n[1])
		}
	}
}
