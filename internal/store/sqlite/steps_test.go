package sqlite

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
)

var laterSteps = []string{
	`ALTER TABLE lists ADD COLUMN colour TEXT NOT NULL DEFAULT 'red'`,
	`CREATE TABLE colours (name TEXT); INSERT INTO colours SELECT colour FROM lists`,
}

// setSteps has the programs of this process be those of a version with other steps.
func setSteps(t testing.TB, all ...string) {
	before := steps
	steps = all
	t.Cleanup(func() { steps = before })
}

func versions(version int) []string {
	return append(append([]string{}, steps...), laterSteps...)[:version]
}

// movingChild runs in a child process: it opens a store as a program of the later version, and prints
// what it says. In mode "stuck" it stops before the last step.
func movingChild(path, mode string) error {
	all := versions(len(steps) + 2)
	steps = all
	s, err := Open(path, board.Keep{Moving: func(text string) {
		fmt.Println(text)
		if mode == "stuck" && strings.Contains(text, fmt.Sprintf("schema %d of", len(all))) {
			time.Sleep(time.Hour) // until it is killed; with nothing to wake it Go would end it on Windows
		}
	}})
	if err != nil {
		return err
	}
	return s.Close()
}

// makeVersion makes a store of a version with some lists, and returns its path and its lists.
// Of a version of before this one it is a copy of what a program of it wrote.
func makeVersion(t testing.TB, version int) (path string, lists []string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "todo.db")
	if version < len(steps) {
		made, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("schema%03d.db", version)))
		if err != nil {
			t.Fatalf("a store with the list \"a\" that the program of version %d wrote: %v", version, err)
		}
		checkErr(t, os.WriteFile(path, made, 0o600))
		return path, []string{"a"}
	}
	s := open(t, path)
	mustSave(t, s, "a", 1)
	mustSave(t, s, "b", 1)
	s.Close()
	return path, []string{"a", "b"}
}

// A store of every earlier version is moved as it is opened, step by step, which is said, and
// has all its lists then.
func TestEveryVersion(t *testing.T) {
	for version := 1; version <= len(steps); version++ {
		path, lists := makeVersion(t, version)
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			newest := len(steps) + len(laterSteps)
			setSteps(t, versions(newest)...)
			var want, said []string
			for n := version + 1; n <= newest; n++ {
				want = append(want, fmt.Sprintf("moving the store to schema %d of %d…", n, newest))
			}
			s := open(t, path, board.Keep{Moving: func(text string) { said = append(said, text) }})
			if fmt.Sprint(said) != fmt.Sprint(want) {
				t.Errorf("said %q", said)
			}
			for _, list := range lists {
				checkRevision(t, s, list, 1)
				mustSave(t, s, list, 2)
			}
		})
	}
	fresh := versions(len(steps) + len(laterSteps))
	setSteps(t, fresh...)
	_, s := newStore(t)
	mustSave(t, s, "new", 1)
}

// A step that fails changes nothing, and the error says which file it is of. Who has no time for
// the move changes nothing either, and says what does it. The program of before goes on.
func TestMoveFails(t *testing.T) {
	path, _ := makeVersion(t, len(steps))
	before := filesOf(t, path)[""]
	file, nothing := fmt.Sprintf("schema%03d.sql", len(steps)+2), append(versions(len(steps)+1), `INSERT INTO nothing VALUES (1)`)
	for says, moving := range map[string]func(string){"todo-mcp lists --store sqlite:" + path: nil, file: func(string) {}, "nothing was changed": func(string) {}} {
		t.Run("newer", func(t *testing.T) {
			setSteps(t, nothing...)
			_, err := Open(path, board.Keep{Moving: moving})
			if err == nil || errors.Is(err, board.ErrTooNew) || errors.Is(err, board.ErrEarlier) != (moving == nil) || !strings.Contains(err.Error(), says) {
				t.Errorf("%v, without %s", err, says)
			}
		})
		if filesOf(t, path)[""] != before {
			t.Error("the file was changed")
		}
	}
	mustSave(t, open(t, path), "a", 2)
}

// BAD-INPUT 52: a program that had the store open while a newer one moved it is told so with
// its next read and its next write, also when the tables that it uses are as they were.
func TestMovedBeside(t *testing.T) {
	path, _ := makeVersion(t, len(steps))
	reads, writes := open(t, path), open(t, path)
	checkRevision(t, reads, "a", 1)
	mustSave(t, writes, "a", 2)
	t.Run("newer", func(t *testing.T) {
		old := steps
		setSteps(t, versions(len(steps)+2)...)
		open(t, path, board.Keep{Moving: func(string) {
			newer := steps
			steps = old
			checkRevision(t, reads, "a", 2) // the last that it may read
			steps = newer
		}})
	})
	_, reading := reads.Load(t.Context(), "a", 0)
	_, writing := storetest.Save(t.Context(), writes, snapshot("a", 3))
	for what, err := range map[string]error{"reading": reading, "writing": writing} {
		if !errors.Is(err, board.ErrTooNew) || !strings.Contains(err.Error(), "restart your client") {
			t.Errorf("52: %s: %v", what, err)
		}
	}
	setSteps(t, versions(len(steps)+2)...)
	checkRevision(t, open(t, path), "a", 2)
}

// A program that is killed while it moves a store leaves it as it was; of several that start
// then one moves it.
func TestMovingProcesses(t *testing.T) {
	path, _ := makeVersion(t, len(steps))
	beside := open(t, path)
	stuck, out := startChild(t, path, "stuck")
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), fmt.Sprintf("schema %d of", len(steps)+2)) {
		continue
	}
	checkRevision(t, beside, "a", 1) // others read meanwhile
	checkErr(t, stuck.Process.Kill())
	_ = stuck.Wait()
	mustSave(t, beside, "a", 2)

	var moving []*exec.Cmd
	var outs []io.Reader
	for range 4 {
		cmd, out := startChild(t, path, "moving")
		moving, outs = append(moving, cmd), append(outs, out)
	}
	said := ""
	for i, cmd := range moving {
		all, _ := io.ReadAll(outs[i])
		said += string(all)
		if err := cmd.Wait(); err != nil {
			t.Errorf("a process failed: %v", err)
		}
	}
	if said != fmt.Sprintf("moving the store to schema %d of %d…\nmoving the store to schema %[2]d of %[2]d…\n", len(steps)+1, len(steps)+2) {
		t.Errorf("they said %q", said)
	}
	checkIntegrity(t, path)
	setSteps(t, versions(len(steps)+2)...)
	checkRevision(t, open(t, path), "a", 2)
}
