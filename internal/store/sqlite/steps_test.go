package sqlite

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
)

var laterSteps = []string{
	`ALTER TABLE lists ADD COLUMN colour TEXT NOT NULL DEFAULT 'red'`,
	`CREATE TABLE colours (name TEXT); INSERT INTO colours SELECT colour FROM lists`,
}

// setSteps replaces steps until the test ends: this process then acts as another version of the program.
func setSteps(t testing.TB, all ...string) {
	before := steps
	steps = all
	t.Cleanup(func() { steps = before })
}

func versions(version int) []string {
	return append(append([]string{}, steps...), laterSteps...)[:version]
}

// movingChild runs in a child process: it opens a store as a program two versions later, and prints each text that
// Keep.Moving gets. In mode "stuck" it stops before the last step.
func movingChild(path, mode string) error {
	all := versions(len(steps) + 2)
	steps = all
	s, err := Open(path, board.Keep{Moving: func(text string) {
		fmt.Println(text)
		if mode == "stuck" && strings.Contains(text, fmt.Sprintf("schema %d of", len(all))) {
			time.Sleep(time.Hour) // until it is killed; on Windows, Go would end a process that waits forever
		}
	}})
	if err != nil {
		return err
	}
	return s.Close()
}

// makeVersion makes a store of a schema version with some lists, and returns its path and its lists. For a version
// before this program's, it copies a file that a program of that version wrote.
func makeVersion(t testing.TB, version int) (path string, lists []string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "todo.db")
	if version < len(steps) {
		made, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("schema%03d.db", version)))
		if err != nil {
			t.Fatalf("a store with the list \"a\" that the program of version %d wrote: %v", version, err)
		}
		checktest.Check(t, os.WriteFile(path, made, 0o600))
		return path, []string{"a"}
	}
	s := open(t, path)
	mustSave(t, s, "a", 1)
	mustSave(t, s, "b", 1)
	s.Close()
	return path, []string{"a", "b"}
}

// Opening a store of any earlier version upgrades it step by step, announces each step, and keeps all its lists.
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

// A step that fails changes nothing, and the error names the step's file. Without Keep.Moving nothing changes either,
// and the error names a command that upgrades the store. The earlier program can use the store afterwards.
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

// BAD-INPUT 52: if a newer program upgrades a store that an earlier one has open, the next read and the next write of
// the earlier one fail with ErrTooNew, even if the tables that it uses did not change.
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
			checkRevision(t, reads, "a", 2) // its last read that succeeds
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

// A program that is killed during an upgrade leaves the store as it was. If several programs start afterwards, only one
// of them upgrades it.
func TestMovingProcesses(t *testing.T) {
	path, _ := makeVersion(t, len(steps))
	beside := open(t, path)
	stuck, out := startChild(t, path, "stuck")
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), fmt.Sprintf("schema %d of", len(steps)+2)) {
		continue
	}
	checkRevision(t, beside, "a", 1) // other programs can read meanwhile
	checktest.Check(t, stuck.Process.Kill())
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

type files map[string]string

func filesOf(t testing.TB, path string) files {
	t.Helper()
	found := checktest.Must(filepath.Glob(path + "*"))(t)
	all := files{}
	for _, name := range found {
		data := checktest.Must(os.ReadFile(name))(t)
		all[strings.TrimPrefix(name, path)] = string(data)
	}
	return all
}

// A store refuses an unusable file at its path, even if it was opened before the file came there.
//
// BAD-INPUT 52: The store is a newer version's or another program's file, damaged, a dangling link, a pipe, or an
// empty file beside its log → Refused with advice; untouched
func TestRefusesFilesItCannotUse(t *testing.T) {
	source := filepath.Join(t.TempDir(), "source.db")
	s := open(t, source)
	for n := range int64(200) {
		mustSave(t, s, "a", n+1)
	}
	log := filesOf(t, source)["-wal"]
	s.Close()
	valid := filesOf(t, source)[""]
	// version returns a database with another user_version in its header.
	version := func(database string, n int) string {
		return database[:60] + string(binary.BigEndian.AppendUint32(nil, uint32(n))) + database[64:]
	}
	db := openRaw(t, source)
	execSQL(t, db, "PRAGMA journal_mode = WAL", "PRAGMA wal_autocheckpoint = 0", "PRAGMA user_version = 99")
	newerLog := filesOf(t, source)
	delete(newerLog, "-shm")
	theirs := filepath.Join(t.TempDir(), "theirs.db")
	execSQL(t, openRaw(t, theirs), "CREATE TABLE theirs (x)")
	type refusal struct {
		files files
		want  error
		says  []string
	}
	refusals := map[string]refusal{
		"newer":                {files{"": version(valid, len(steps)+1)}, board.ErrTooNew, []string{"a newer todo-mcp has upgraded the store"}},
		"newer, in its log":    {newerLog, board.ErrTooNew, []string{"a newer todo-mcp has upgraded the store"}},
		"another program's":    {filesOf(t, theirs), board.ErrCorrupt, []string{"another program's database", "left as it is"}},
		"no SQLite":            {files{"": strings.Repeat("my diary\n", 100)}, board.ErrCorrupt, []string{"move the file away"}},
		"torn":                 {files{"": valid[:100] + strings.Repeat("\xa5", 3996) + valid[4096:]}, board.ErrCorrupt, []string{"move the file away"}},
		"empty beside its log": {files{"": "", "-wal": log}, board.ErrCorrupt, []string{"is empty, but its log", "move both away"}},
	}
	for name, c := range refusals {
		path, early := newStore(t)
		for suffix, content := range c.files {
			checktest.Check(t, os.WriteFile(path+suffix, []byte(content), 0o600))
		}
		_, opening := Open(path, board.Keep{})
		if now := filesOf(t, path); cmp.Diff(c.files[""], now[""]) != "" || now["-wal"] != c.files["-wal"] {
			t.Errorf("52: %s: opening changed the files", name)
		}
		_, reading := early.Find(t.Context(), board.Query{})
		_, saving := storetest.Save(t.Context(), early, snapshot("a", 1))
		for what, err := range map[string]error{"opening": opening, "reading": reading, "saving": saving} {
			if !errors.Is(err, c.want) || errors.Is(err, board.ErrUnknownOutcome) {
				t.Errorf("52: %s, %s: %v", name, what, err)
			}
			for _, words := range append(c.says, path) {
				if err != nil && !strings.Contains(err.Error(), words) {
					t.Errorf("52: %s, %s, no %q: %v", name, what, words, err)
				}
			}
		}
		early.Close()
		switch now := filesOf(t, path); {
		case name == "another program's" && cmp.Diff(c.files, now) != "",
			name == "empty beside its log" && now["-wal"] != log:
			t.Errorf("52: %s: the files were changed", name)
		}
	}
}

// BAD-INPUT 52: a store is refused if its path is a dangling link, a folder or a pipe, or lies below a file.
func TestImpossiblePlaces(t *testing.T) {
	for name, c := range map[string]struct {
		place func(path string) error
		says  string
	}{
		"a link":           {func(path string) error { return os.Symlink(path+"-unmounted", path) }, "a link to a file that is not there"},
		"a folder":         {func(path string) error { return os.Mkdir(path, 0o700) }, "is a folder"},
		"a pipe":           {func(path string) error { return exec.Command("mkfifo", path).Run() }, "is not a file"},
		"a file in a file": {func(path string) error { return os.WriteFile(filepath.Dir(path), nil, 0o600) }, ""},
	} {
		if runtime.GOOS == "windows" && c.says != "is a folder" {
			continue
		}
		path := filepath.Join(t.TempDir(), "folder", "todo.db")
		if c.says != "" {
			checktest.Check(t, os.Mkdir(filepath.Dir(path), 0o700))
		}
		late := open(t, path)
		checktest.Check(t, c.place(path))
		before, _ := os.Lstat(path)
		_, opening := Open(path, board.Keep{})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, saving := storetest.Save(ctx, late, snapshot("a", 1))
		cancel()
		if saving == nil || !strings.Contains(saving.Error(), c.says) || c.says != "" && (opening == nil || !strings.Contains(opening.Error(), c.says)) {
			t.Errorf("52: %s: %v, %v", name, opening, saving)
		}
		if after, _ := os.Lstat(path); before != nil && after.Mode() != before.Mode() {
			t.Errorf("52: %s was replaced", name)
		}
	}
}
