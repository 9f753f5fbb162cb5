package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// BAD-INPUT 50: a process that opens a store merges the log that others left, before its own first write.
func TestLogOfOthers(t *testing.T) {
	path, a := newStore(t)
	for n := range int64(5) {
		mustSave(t, a, "a", n+1)
	}
	before := checktest.Must(os.Stat(path + "-wal"))(t)
	mustSave(t, open(t, path), "b", 1)
	if now, err := os.Stat(path + "-wal"); err != nil || now.Size() >= before.Size() {
		t.Errorf("50: the log had %d bytes and now has %d, %v", before.Size(), now.Size(), err)
	}
}

func checkGone(t *testing.T, path string, stores ...*Store) {
	t.Helper()
	for range 2 {
		for _, s := range stores {
			_, reading := s.Find(t.Context(), board.Query{})
			_, writing := storetest.Save(t.Context(), s, snapshot("new", 1))
			for _, err := range []error{reading, writing} {
				if err == nil || !strings.Contains(err.Error(), path+" was moved, removed or emptied") || !strings.Contains(err.Error(), "put it back") || errors.Is(err, board.ErrUnknownOutcome) {
					t.Errorf("50: %v", err)
				}
			}
		}
	}
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		t.Error("50: another file was made")
	}
}

// BAD-INPUT 50: if a file is removed while stores have it open, they do not silently make a new, empty one. They refuse
// calls until a process that never had the file open, as after a restart, makes another file. The old -wal and -shm are
// not applied to the new file, and all stores go on with the new file.
func TestMainFileDeleted(t *testing.T) {
	for name, gone := range map[string]func(path string) error{
		"the file": os.Remove,
		"all of it": func(path string) error {
			return errors.Join(os.Remove(path), os.Remove(path+"-wal"), os.Remove(path+"-shm"))
		},
		"its folder":  func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"its content": func(path string) error { return errors.Join(os.Truncate(path, 0), os.Truncate(path+"-wal", 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "folder", "todo.db")
			a, b := open(t, path), open(t, path)
			for n := range int64(20) {
				mustSave(t, a, "a", n+1)
			}
			checktest.Must(b.Load(t.Context(), "a", 0))(t) // b only reads so far
			checktest.Check(t, gone(path))
			checkGone(t, path, a, b)
			if name == "its content" {
				return // the inode is the same: SQLite begins anew only when all stores have closed the file
			}
			c := open(t, path)
			for n := range int64(20) {
				mustSave(t, c, "new", n+1)
				mustSave(t, a, "one", n+1)
				mustSave(t, b, "other", n+1)
			}
			for _, s := range []*Store{a, b, c} {
				if got, err := s.Find(t.Context(), board.Query{}); err != nil || len(got) != 3 {
					t.Errorf("50: found %d lists, %v", len(got), err)
				}
			}
			checkIntegrity(t, path)
		})
	}
}

// BAD-INPUT 75: The log (`-wal`) is deleted, or log or store truncated, while in use → Only saves in the file are
// acknowledged; the next write merges a deleted log, or is refused after truncation
func TestLogDeleted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	a, b := open(t, path), open(t, path)
	revisions := int64(0)
	for range 3 {
		revisions++
		mustSave(t, a, "a", revisions)
		mustSave(t, b, "b", revisions)
		for _, s := range []*Store{a, b} {
			checktest.Must(s.Load(t.Context(), "a", 0))(t)
		}
		checktest.Check(t, os.Remove(path+"-wal"))
		for range 3 {
			revisions++
			mustSave(t, a, "a", revisions)
			mustSave(t, b, "b", revisions)
			for _, s := range []*Store{b, a} {
				for _, id := range []string{"a", "b"} {
					checkRevision(t, s, id, revisions)
				}
			}
		}
		if got := countInChild(t, path); got != fmt.Sprintln(2*revisions) {
			t.Fatalf("75: acknowledged %d, another process reads %s", 2*revisions, got)
		}
	}
	checkIntegrity(t, path)
}

// BAD-INPUT 75: a save whose log is deleted before its commit is not acknowledged. Repeated with its operation id, it
// is saved once.
func TestLogDeletedInASave(t *testing.T) {
	path, s := newStore(t)
	mustSave(t, s, "a", 1)
	next := snapshot("a", 2)
	next.Operation = todo.Operation{ID: "op", Digest: "d"}
	err := s.Update(t.Context(), board.Key{}, func(tx board.Tx) error {
		_, err := tx.Save(t.Context(), next)
		return errors.Join(err, os.Remove(path+"-wal"))
	})
	if !errors.Is(err, board.ErrUnknownOutcome) {
		t.Errorf("75: the save was acknowledged, or %v", err)
	}
	checktest.Check(t, s.Update(t.Context(), board.Key{}, func(tx board.Tx) error {
		found, err := tx.Find(t.Context(), board.Query{Operation: "op"})
		if err == nil && len(found) == 0 {
			_, err = tx.Save(t.Context(), next)
		}
		return err
	}))
	if got := countInChild(t, path); got != fmt.Sprintln(2) {
		t.Errorf("75: another process reads %s", got)
	}
}

// BAD-INPUT 75: after the log is cut, writes are refused, since no later read would find them. A log that another
// process merged and emptied does not count as cut.
func TestLogCut(t *testing.T) {
	for name, part := range map[string]int64{"all of it": 0, "the last half": 2} {
		path, s := newStore(t)
		mustSave(t, s, "a", 1)
		theirs := openRaw(t, path)
		for n := int64(2); n < 10; n++ {
			execSQL(t, theirs, "PRAGMA wal_checkpoint(TRUNCATE)")
			mustSave(t, s, "a", n)
		}
		theirs.Close()
		log, err := os.Stat(path + "-wal")
		if err == nil && part > 0 {
			part = log.Size() / part
		}
		checktest.Check(t, errors.Join(err, os.Truncate(path+"-wal", part)))
		for range 2 {
			if _, err := storetest.Save(t.Context(), s, snapshot("b", 1)); err == nil || !strings.Contains(err.Error(), path+"-wal was cut") {
				t.Errorf("75: %s was cut: %v", name, err)
			}
		}
		s.Close()
		again := open(t, path)
		mustSave(t, again, "c", 1)
		checkIntegrity(t, path)
	}
}

// If one of a chat's rows of seen is damaged, the chat keeps its other rows. Once the chat stores another row, the
// damaged row is gone.
func TestDamagedSeen(t *testing.T) {
	path, s := newStore(t)
	key := board.Key{Chat: "c"}
	for n, id := range []string{"a", "b", "a", "b"} {
		if n < 2 {
			mustSave(t, s, id, 1)
		}
		checktest.Check(t, move(t.Context(), s, "c", id))
	}
	execSQL(t, openRaw(t, path), `UPDATE seen SET revision = 77 WHERE list = 'b'`)
	var known []board.Seen
	read := func(tx board.Tx) (err error) { known, err = tx.Seen(t.Context(), key); return err }
	for range 2 {
		if err := s.Update(t.Context(), key, read); err != nil || len(known) != 1 || known[0].List != "a" || known[0].Current {
			t.Errorf("130: beside a damaged row: %+v, %v", known, err)
		}
	}
	mustSave(t, s, "c", 1)
	checktest.Check(t, move(t.Context(), s, "c", "c"))
	mustSave(t, open(t, path), "d", 1) // saves as another process does, so that s must read again
	if err := s.Update(t.Context(), key, read); err != nil || len(known) != 2 || known[0].List != "c" || !known[0].Current || known[1].List != "a" || known[1].Current {
		t.Errorf("130: after a move: %+v, %v", known, err)
	}
	if outside, err := s.Seen(t.Context(), key); err != nil || !cmp.Equal(outside, known) {
		t.Errorf("130: read after a move: %+v, %v", outside, err)
	}
	if problems := problemsOf(t, s); len(problems) > 0 {
		t.Error(problems)
	}
}

// A process that makes the store file does not remove the log of a file that another process made meanwhile.
//
// BAD-INPUT 74: A process that sleeps or is killed while it makes the store file → Others wait for its system lock,
// which ends with it
func TestCreatorThatSleeps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	a, b := open(t, path), open(t, path)
	acknowledged := int64(0)
	var asleep atomic.Bool
	really := removeLeftover
	defer func() { removeLeftover = really }()
	removeLeftover = func(name string) error {
		if asleep.CompareAndSwap(false, true) { // store a sleeps here; its files look old to b
			for _, suffix := range []string{"-new", "-lock"} {
				_ = os.Chtimes(path+suffix, time.Time{}, time.Now().Add(-time.Hour))
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			for acknowledged < 83 {
				if _, err := storetest.Save(ctx, b, snapshot("b", acknowledged+1)); err != nil {
					break
				}
				acknowledged++
			}
		}
		return really(name)
	}
	mustSave(t, a, "a", 1)
	found, err := open(t, path).History(t.Context(), "b", 0, 0)
	if err != nil || int64(len(found)) != acknowledged {
		t.Errorf("74: %d saves were acknowledged, %d are there, %v", acknowledged, len(found), err)
	}
	mustSave(t, b, "b", acknowledged+1)
	for _, suffix := range []string{"-new", "-lock"} {
		if _, err := os.Stat(path + suffix); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("74: %s is left, %v", suffix, err)
		}
	}
}

// BAD-INPUT 49: before the first save is acknowledged, every folder above the file is synced, so that the file's name
// survives, also in a folder that another program made. Later processes sync no folder.
func TestFoldersSurvivePowerLoss(t *testing.T) {
	synced := map[string]bool{}
	really := syncFolder
	defer func() { syncFolder = really }()
	syncFolder = func(path string) { synced[path] = true; really(path) }
	root := t.TempDir()
	checktest.Check(t, os.Mkdir(filepath.Join(root, "other's"), 0o700))
	path := filepath.Join(root, "other's", "new", "er", "todo.db")
	mustSave(t, open(t, path), "a", 1)
	for dir := filepath.Dir(path); len(dir) >= len(root); dir = filepath.Dir(dir) {
		if !synced[dir] {
			t.Errorf("49: the names in %s are not synced", strings.TrimPrefix(dir, filepath.Dir(root)))
		}
	}
	clear(synced)
	mustSave(t, open(t, path), "a", 2)
	if len(synced) > 0 {
		t.Errorf("the next process synced %v", synced)
	}
}

// BAD-INPUT 74: a process that looks for the store while another makes it does not take the new file for an empty
// database beside a full log. Files that a killed process left (-new, -lock) hinder neither process.
func TestLooksWhileAnotherMakes(t *testing.T) {
	for n := range 10 {
		path := filepath.Join(t.TempDir(), "todo.db")
		if n%2 == 0 {
			checktest.Check(t, errors.Join(os.WriteFile(path+"-new", nil, 0o600), os.WriteFile(path+"-lock", nil, 0o600)))
		}
		var lookers sync.WaitGroup
		for range 4 {
			lookers.Go(func() {
				for {
					info, err := look(path)
					if err != nil {
						t.Error(err)
					}
					if err != nil || info != nil && info.Size() > 0 {
						return
					}
				}
			})
		}
		mustSave(t, open(t, path), "a", 1)
		lookers.Wait()
	}
}

// A check finds an excerpt (the line of a list on pages with many lists) that differs from its list. A list can be
// purged even if its column lists.deleted is damaged, and saved even if a revision is damaged.
func TestDamageOfAList(t *testing.T) {
	path, s := newStore(t, board.Keep{Revisions: 5})
	mustSave(t, s, "a", 1)
	mustSave(t, s, "b", 1)
	execSQL(t, openRaw(t, path), `UPDATE lists SET excerpt = (SELECT excerpt FROM lists WHERE id = 'b') || ' ' WHERE id = 'a'`)
	if problems := problemsOf(t, s); len(problems) != 1 || !strings.Contains(problems[0], "list a:") {
		t.Errorf("130: found %q", problems)
	}
	execSQL(t, openRaw(t, path), `UPDATE lists SET deleted = x'00' WHERE id = 'a'`)
	if purged, err := storetest.Purge(t.Context(), s, todo.Writer{}, time.Now(), "a"); err != nil || len(purged) != 1 {
		t.Errorf("130: purged %v, %v", purged, err)
	}
	mustSave(t, s, "b", 2)
	execSQL(t, openRaw(t, path), `UPDATE history SET body = 'damaged' WHERE list = 'b' AND revision = 1`)
	if problems := problemsOf(t, s); len(problems) != 1 {
		t.Errorf("130: found %q", problems)
	}
	for n := int64(3); n <= 10; n++ {
		mustSave(t, s, "b", n)
	}
	checkRevision(t, s, "b", 10)
}

func problemsOf(t *testing.T, s *Store) (problems []string) {
	t.Helper()
	checktest.Must(s.Check(t.Context(), func(problem string) { problems = append(problems, problem) }))(t)
	return problems
}

// A damaged chat counts as missing, is found by a check, and does not hinder other chats. It can be saved again,
// whichever column is damaged. A key with a damaged time is read and set without an error.
func TestDamagedChat(t *testing.T) {
	for column, value := range map[string]string{"principal": "'x'", "member": "'x'", "used": "7", "ended": "'x'", "body": "'{'", "sum": "7"} {
		path, s := newStore(t)
		c := todo.Chat{ID: "c", User: "u", Client: "client", Used: time.Now().Round(0).UTC()}
		save := func(id string) {
			t.Helper()
			c.ID = id
			checktest.Must(storetest.SaveChat(t.Context(), s, c))(t)
		}
		save("c")
		save("other")
		execSQL(t, openRaw(t, path), `UPDATE chats SET `+column+` = `+value+` WHERE id = 'c'`)
		if got, err := s.Chat(t.Context(), "c"); err != nil || got != (todo.Chat{}) {
			t.Errorf("130: %s: %+v, %v", column, got, err)
		}
		if all, err := s.Chats(t.Context(), board.ChatQuery{}); err != nil || len(all) != 1 || all[0].ID != "other" {
			t.Errorf("130: %s: %+v, %v", column, all, err)
		}
		if problems := problemsOf(t, s); len(problems) != 1 {
			t.Errorf("130: %s: found %q", column, problems)
		}
		save("c")
		if got, err := s.Chat(t.Context(), "c"); err != nil || got.User != "u" || got.Client != "client" {
			t.Errorf("130: %s: saved over: %+v, %v", column, got, err)
		}
		checkIntegrity(t, path)
	}
	path, s := newStore(t)
	key := board.ChatKey{Kind: board.NoticeKey, Text: "x"}
	set := func() {
		t.Helper()
		err := s.Update(t.Context(), board.Key{}, func(tx board.Tx) error {
			_, err := tx.Keyed(t.Context(), key)
			return errors.Join(err, tx.SetKey(t.Context(), key, "c", time.Now().Add(time.Hour)))
		})
		if err != nil {
			t.Error(err)
		}
	}
	set()
	for _, value := range []string{"'x'", "x'00'", "7", "9e99"} {
		execSQL(t, openRaw(t, path), `UPDATE keys SET until = `+value)
		set()
		if to, err := s.Keyed(t.Context(), key); err != nil || to != "c" {
			t.Errorf("130: %s: the key leads to %q, %v", value, to, err)
		}
	}
}

// BAD-INPUT 130: a check finds damaged revisions.
func TestCheck(t *testing.T) {
	path, s := newStore(t)
	storetest.RunCheck(t, s, "", func(sql string) { execSQL(t, openRaw(t, path), sql) })
}
