package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
)

type files map[string]string

func filesOf(t testing.TB, path string) files {
	t.Helper()
	found := must(filepath.Glob(path + "*"))(t)
	all := files{}
	for _, name := range found {
		data := must(os.ReadFile(name))(t)
		all[strings.TrimPrefix(name, path)] = string(data)
	}
	return all
}

// So does a store that was opened before they came.
//
// BAD-INPUT 52: As store: a file of a newer version, of another program, damaged, a dangling link,
// a pipe, an empty database beside a log → Refused with what to do; untouched
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
		"newer":                {files{"": version(valid, len(steps)+1)}, board.ErrTooNew, []string{"a newer todo-mcp has moved the store"}},
		"newer, in its log":    {newerLog, board.ErrTooNew, []string{"a newer todo-mcp has moved the store"}},
		"another program's":    {filesOf(t, theirs), board.ErrCorrupt, []string{"another program's database", "left as it is"}},
		"no SQLite":            {files{"": strings.Repeat("my diary\n", 100)}, board.ErrCorrupt, []string{"move the file away"}},
		"short":                {files{"": "SQLite"}, board.ErrCorrupt, []string{"move the file away"}},
		"torn":                 {files{"": valid[:100] + strings.Repeat("\xa5", 3996) + valid[4096:]}, board.ErrCorrupt, []string{"move the file away"}},
		"empty beside its log": {files{"": "", "-wal": log}, board.ErrCorrupt, []string{"is empty, but its log", "move both away"}},
	}
	for name, c := range refusals {
		path := filepath.Join(t.TempDir(), "todo.db")
		early := open(t, path)
		for suffix, content := range c.files {
			checkErr(t, os.WriteFile(path+suffix, []byte(content), 0o600))
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

// BAD-INPUT 52
func TestImpossiblePlaces(t *testing.T) {
	for name, c := range map[string]struct {
		place func(path string) error
		says  string
	}{
		"a link":           {func(path string) error { return os.Symlink(path+"-unmounted", path) }, "a link to a file that is not there"},
		"a folder":         {func(path string) error { return os.Mkdir(path, 0o700) }, "is a folder"},
		"a device":         {func(path string) error { return os.Symlink(os.DevNull, path) }, "is not a file"},
		"a pipe":           {func(path string) error { return exec.Command("mkfifo", path).Run() }, "is not a file"},
		"a file in a file": {func(path string) error { return os.WriteFile(filepath.Dir(path), nil, 0o600) }, ""},
	} {
		if runtime.GOOS == "windows" && c.says != "is a folder" {
			continue
		}
		path := filepath.Join(t.TempDir(), "folder", "todo.db")
		if c.says != "" {
			checkErr(t, os.Mkdir(filepath.Dir(path), 0o700))
		}
		late := open(t, path)
		checkErr(t, c.place(path))
		before, _ := os.Lstat(path)
		_, opening := Open(path, board.Keep{})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, saving := storetest.Save(ctx, late, snapshot("a", 1))
		cancel()
		if saving == nil || !strings.Contains(saving.Error(), c.says) || c.says != "" && (opening == nil || !strings.Contains(opening.Error(), c.says)) {
			t.Errorf("76: %s: %v, %v", name, opening, saving)
		}
		if after, _ := os.Lstat(path); before != nil && after.Mode() != before.Mode() {
			t.Errorf("76: %s was replaced", name)
		}
	}
}
