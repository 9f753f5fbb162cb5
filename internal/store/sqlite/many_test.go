package sqlite

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// filled returns a store with as many lists of storetest.Crowd as asked for, and with
// limits.
func filled(t testing.TB, path string, lists int) *Store {
	t.Helper()
	s := openWithCleanup(t, path, board.Keep{Revisions: 1000, Lists: 1_000_000, Begun: 1000, Bytes: 4_000_000_000, Abandoned: time.Hour})
	for n := 0; n < lists; {
		err := s.Update(t.Context(), board.Key{}, func(tx board.Tx) error {
			for most := min(lists, n+1000); n < most; n++ {
				next, current := storetest.Crowd(n)
				if _, err := tx.Save(t.Context(), next); err != nil {
					return err
				}
				if err := tx.See(t.Context(), current); err != nil {
					return err
				}
				chat := todo.Chat{ID: current.Chat, Client: "tester", Used: time.Now().AddDate(0, 0, -1)}
				if _, err := tx.SaveChat(t.Context(), chat); err != nil {
					return err
				}
			}
			return nil
		})
		checkErr(t, err)
	}
	return s
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
				checkErr(t, err)
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
//
// BAD-INPUT 69: A small write beside 73 large lists, or to a list edited hundreds of times → It
// takes no longer. No other list is read where the key is proof or an item is named, else up to
// 200
func TestWorkDoesNotGrowWithLists(t *testing.T) {
	looked := make(map[string][]int)
	for _, lists := range []int{100, 1000} {
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
