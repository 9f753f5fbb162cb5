package sqlite

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

// TestMain runs child instead of the tests when TODO_TEST_CHILD names a store
// file, so that tests can start other processes on that file.
func TestMain(m *testing.M) {
	if path := os.Getenv("TODO_TEST_CHILD"); path != "" {
		if err := child(path, os.Getenv("TODO_TEST_MODE")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child is what a child process runs. In mode "count" it prints the number of
// revisions in the file. In mode "shared" it increments the list "shared" 50
// times. Otherwise mode is a number of lists: it adds revisions to all of them
// concurrently, and prints each that was acknowledged, until it is killed.
func child(path, mode string) error {
	if mode == "count" {
		return printCount(path)
	}
	s, err := Open(path)
	if err != nil {
		return err
	}
	defer s.Close()
	if mode == "shared" {
		for range 50 {
			if err := increment(s, "shared"); err != nil {
				return err
			}
		}
		return nil
	}
	n, err := strconv.Atoi(mode)
	if err != nil {
		return err
	}
	var out sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			id := fmt.Sprint("l", i)
			for err == nil {
				now, loadErr := s.Load(context.Background(), id, 0)
				if loadErr != nil && !errors.Is(loadErr, todo.ErrNotFound) {
					return
				}
				saved, saveErr := storetest.Save(context.Background(), s, snapshot(id, now.Revision+1))
				if saveErr != nil {
					return
				}
				out.Lock()
				fmt.Println(id, saved.Revision)
				out.Unlock()
			}
		})
	}
	all.Wait()
	return errors.New("a writer stopped")
}

// printCount prints the number of revisions, as another program would read it.
func printCount(path string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	var n int
	if err := db.QueryRow("SELECT count(*) FROM history").Scan(&n); err != nil {
		return err
	}
	fmt.Println(n)
	return db.Close()
}

// increment adds one to a list's LastID, which the tests use as a counter.
func increment(s *Store, id string) error {
	return s.Update(context.Background(), todo.Key{}, func(tx todo.Tx) error { return incrementIn(tx, id) })
}

// incrementIn is increment in a transaction.
func incrementIn(tx todo.Tx, id string) error {
	now, err := tx.Load(context.Background(), id, 0)
	if err != nil && !errors.Is(err, todo.ErrNotFound) {
		return err
	}
	next := snapshot(id, now.Revision+1)
	next.LastID = now.LastID + 1
	if now.Revision == 0 {
		next.LastID = 1
	}
	_, err = tx.Save(context.Background(), next)
	return err
}

func startChild(t *testing.T, path, mode string) (*exec.Cmd, io.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "TODO_TEST_CHILD="+path, "TODO_TEST_MODE="+mode)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

// BAD-INPUT 48: after kill -9 at any moment, several times in a row, every
// acknowledged revision is there, revisions are dense and the file is intact.
func TestKilledWhileWriting(t *testing.T) {
	rounds, acks := 8, 150
	if os.Getenv("TODO_LONG") != "" {
		rounds, acks = 60, 1000
	}
	path := filepath.Join(t.TempDir(), "todo.db")
	acknowledged := map[string]int64{}
	for range rounds {
		cmd, out := startChild(t, path, "8")
		lines := bufio.NewScanner(out)
		for n := rand.IntN(acks); lines.Scan(); n-- {
			id, revision, _ := strings.Cut(lines.Text(), " ")
			r, err := strconv.ParseInt(revision, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			acknowledged[id] = max(acknowledged[id], r)
			if n == 0 {
				cmd.Process.Kill()
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
		checkAcknowledged(t, path, acknowledged)
	}
}

func checkAcknowledged(t *testing.T, path string, acknowledged map[string]int64) {
	t.Helper()
	s := open(t, path)
	defer s.Close()
	for id, last := range acknowledged {
		revisions, err := s.History(t.Context(), id, 0, 0)
		if err != nil || int64(len(revisions)) < last {
			t.Errorf("48: %s: revision %d was acknowledged, there are %d revisions, %v", id, last, len(revisions), err)
		}
		for i, r := range revisions {
			if r.Revision != int64(i+1) {
				t.Fatalf("48: %s has revision %d at place %d", id, r.Revision, i)
			}
		}
	}
	checkIntegrity(t, path)
}

func checkIntegrity(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity: %s, %v", verdict, err)
	}
}

// BAD-INPUT 51: eight processes that write to one file lose no update and see
// no error, even while the file is being created.
func TestEightProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	var children []*exec.Cmd
	for range 8 {
		cmd, out := startChild(t, path, "shared")
		go io.Copy(io.Discard, out)
		children = append(children, cmd)
	}
	for _, cmd := range children {
		if err := cmd.Wait(); err != nil {
			t.Errorf("51: a process failed: %v", err)
		}
	}
	s := openWithCleanup(t, path)
	got, err := s.Load(t.Context(), "shared", 0)
	if err != nil || got.Revision != 400 || got.LastID != 400 {
		t.Errorf("51: revision %d, count %d, %v", got.Revision, got.LastID, err)
	}
	checkIntegrity(t, path)
}

// A save of another process is hinted within 250 ms on a quiet machine; the
// test allows a second.
func TestHintsAcrossProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s := openWithCleanup(t, path)
	if err := increment(s, "shared"); err != nil {
		t.Fatal(err)
	}
	seen := make(chan time.Time, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go s.Watch(ctx, func() {
		if now, err := s.Load(ctx, "l0", 0); err == nil && now.Revision > 0 {
			select {
			case seen <- time.Now():
			default:
			}
		}
	})
	cmd, out := startChild(t, path, "1")
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(line, err)
	}
	acknowledged := time.Now()
	delay := (<-seen).Sub(acknowledged)
	cmd.Process.Kill()
	cmd.Wait()
	if delay > time.Second {
		t.Errorf("hinted %s after the acknowledgement", delay)
	}
	t.Logf("hinted %s after the acknowledgement was read", delay)
}
