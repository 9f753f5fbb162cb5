package sqlite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"modernc.org/sqlite"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

func large(id string) todo.Snapshot {
	s := snapshot(id, 1)
	s.Items = nil
	for n := range todo.MaxSize / todo.MaxText {
		s.Items = append(s.Items, todo.Item{ID: fmt.Sprint(n + 1), Text: fmt.Sprintf("%02d %s", n, strings.Repeat("x", todo.MaxText-3)), Status: todo.Pending})
	}
	return s
}

// BAD-INPUT 65
func TestLargeRevisions(t *testing.T) {
	path, s := newStore(t)
	next := large("a")
	const changes = 100
	var want [][]todo.Item
	for n := range changes {
		next.Items = slices.Clone(next.Items)
		next.Items[n%len(next.Items)].Text = fmt.Sprintf("%0200d", n)
		must(storetest.Save(t.Context(), s, next))(t)
		want = append(want, next.Items)
		next.Revision++
	}
	for suffix, most := range map[string]int64{"": changes * todo.MaxSize * 5 / 4, "-wal": 2 * maxLog} {
		if info, err := os.Stat(path + suffix); err != nil || info.Size() > most {
			t.Errorf("66: after %d revisions of a list of 256 kB the file %q has %d bytes, %v", changes, suffix, info.Size(), err)
		}
	}
	for n, items := range want {
		if got, err := s.Load(t.Context(), "a", int64(n+1)); err != nil || !reflect.DeepEqual(items, got.Items) {
			t.Fatalf("66: revision %d is not as it was written, %v", n+1, err)
		}
	}
}

func contents(t testing.TB, s *Store) (text string, err error) {
	t.Helper()
	found, err := s.Find(t.Context(), board.Query{Deleted: true})
	for _, f := range found {
		revisions, err1 := s.History(t.Context(), f.List.ID, 0, 0)
		seen, err2 := s.Seen(t.Context(), board.Key{Principal: f.List.Principal, Chat: f.List.Conversation})
		if err = errors.Join(err, err1, err2); err == nil && (len(revisions) == 0 || !reflect.DeepEqual(revisions[len(revisions)-1], f)) {
			err = errors.New("the newest revision is not the newest")
		}
		if err != nil {
			break
		}
		text += fmt.Sprintf("%+v %+v\n", revisions, seen)
	}
	return text, err
}

// BAD-INPUT 130
func TestFlippedBits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s := filled(t, path, 60) // as many as the steps look for
	for n := range 40 {
		storetest.Steps()[1].Do(t, s, n) // writes a list
	}
	s.Close()
	s = open(t, path) // to read what is on the disk
	want := must(contents(t, s))(t)
	checkErr(t, s.Close())
	data := must(os.ReadFile(path))(t)
	random := rand.New(rand.NewPCG(1, 2))
	read, checked, harmless := 0, 0, 0
	for range 40 {
		bit := random.IntN(8 * len(data))
		damaged := slices.Clone(data)
		damaged[bit/8] ^= 1 << (bit % 8)
		copied := filepath.Join(t.TempDir(), "todo.db")
		checkErr(t, os.WriteFile(copied, damaged, 0o600))
		s, err := Open(copied, board.Keep{})
		if err != nil {
			read++
			continue
		}
		got, readErr := contents(t, s)
		problems := 0
		_, checkErr := s.Check(t.Context(), func(string) { problems++ })
		switch {
		case readErr != nil || len(s.Damaged()) > 0:
			read++
		case problems > 0 || checkErr != nil:
			checked++
		case got == want:
			harmless++
		default:
			t.Errorf("78: bit %d of byte %d: nobody noticed\n%s", bit%8, bit/8, cmp.Diff(want, got))
		}
		s.Close()
	}
	t.Logf("40 bits: %d noticed when read, %d when checked, %d in nobody's bytes", read, checked, harmless)
	if read < 13 { // a third
		t.Errorf("78: only %d of 40 were noticed when read", read)
	}
}

// A write of many rows makes no file in the system's folder for temporary files: the
// container image has none, and its root file system may be read-only.
func TestWritesMakeNoTemporaryFiles(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "todo.db"))
	save := func(tx board.Tx) error {
		for range 20 {
			first := snapshot(board.NewID(), 1)
			first.List.Conversation, first.List.Workspace, first.Operation.ID = board.NewID(), board.NewID(), board.NewID()
			saved, err := tx.Save(t.Context(), first)
			if err == nil {
				key := board.Key{Chat: first.List.Conversation}
				err = tx.See(t.Context(), board.Seen{Key: key, List: saved.List.ID, Current: true})
			}
			if err != nil {
				return err
			}
		}
		open, err := filepath.Glob("/proc/self/fd/*")
		for _, fd := range open {
			if to, _ := os.Readlink(fd); strings.Contains(to, "etilqs") { // as SQLite names them
				t.Errorf("it wrote %s", to)
			}
		}
		return err
	}
	for range 20 {
		checkErr(t, s.Update(t.Context(), board.Key{}, save))
	}
}

// A full store makes room for the list of a new chat, and so for its chat.
func TestAFullStoreTakesNewChats(t *testing.T) {
	_, s := newStore(t, board.Keep{Bytes: 400_000, Abandoned: time.Nanosecond})
	b := board.NewBoard(s)
	defer b.Close()
	var lines []todo.Line
	for i := range 30 {
		lines = append(lines, todo.Line{Text: fmt.Sprint("a finished item with a long text, which fills the store ", i), Status: "completed"})
	}
	for n := range 150 {
		who := board.Conversation{Key: "session:" + fmt.Sprint(n), Lasts: time.Nanosecond}
		must(b.As("").Apply(t.Context(), board.Write{Target: board.Target{Conversation: who},
			Change: func(d *todo.Draft) error { d.Replace(todo.CoreView(), lines); return nil }}))(t)
	}
}

// filled returns a store with as many lists of storetest.Crowd as asked for, and with
// limits.
func filled(t testing.TB, path string, lists int) *Store {
	t.Helper()
	s := open(t, path, board.Keep{Revisions: 1000, Lists: 1_000_000, Begun: 1000, Bytes: 4_000_000_000, Abandoned: time.Hour})
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

// looks count the pages at which SQLite looks.
var looks = []sqlite.DBStatusOp{sqlite.DBStatusCacheHit, sqlite.DBStatusCacheMiss}

// counted returns a function that returns by how much counters of SQLite grew since it was last
// called, for the file at path, by connections that are opened from now on.
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

// A query without the index that it needs looks at ten times as much in ten times as many lists.
//
// BAD-INPUT 69: A small write beside 73 large lists, or to a list edited hundreds of times → It
// takes no longer. No other list is read where the key is proof or an item is named, else up to
// 200
func TestWorkDoesNotGrowWithLists(t *testing.T) {
	looked := make(map[string][]int)
	for _, lists := range []int{100, 1000} {
		path := filepath.Join(t.TempDir(), "todo.db")
		pages := counted(t, path, looks...)
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
