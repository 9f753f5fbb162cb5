package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"todo-mcp/internal/atomicfile"
	"todo-mcp/internal/document"
)

// MaxFile is how large a file of a client may be, in bytes. Those of clients that keep their state
// beside their settings have some megabytes.
const MaxFile = 10_000_000

// file is a configuration file as it was read.
type file struct {
	path   string // as the client names it
	target string // where links lead; the same as path without one
	data   []byte // nil when there is none
	exists bool
}

// readFile reads a file, which need not be there.
func readFile(path string) (file, error) {
	f := file{path: path, target: path}
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return f, nil
	}
	if err == nil && info.Mode()&os.ModeSymlink != 0 {
		if f.target, err = filepath.EvalSymlinks(path); err != nil {
			return f, fmt.Errorf("%s is a link to a file that is not there", path)
		}
		info, err = os.Stat(f.target)
	}
	switch {
	case err != nil:
		return f, err
	case info.IsDir():
		return f, fmt.Errorf("%s is a folder", path)
	case !info.Mode().IsRegular():
		return f, fmt.Errorf("%s is no regular file", path)
	}
	f.exists = true
	f.data, err = readBounded(f.target)
	if errors.Is(err, errLarge) {
		return f, fmt.Errorf("%s has more than %d MB", path, MaxFile/1_000_000)
	}
	return f, err
}

var errLarge = errors.New("too large")

func readBounded(path string) ([]byte, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, MaxFile+1))
	if err == nil && len(data) > MaxFile {
		err = errLarge
	}
	return data, err
}

// wrong returns an error about the file's content, with the place as compilers write
// it: FILE:LINE:COLUMN.
func (f file) wrong(err error) error {
	at := (*document.Error)(nil)
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &at) || at.Line == 0:
		return fmt.Errorf("%s: %w", f.path, err)
	case at.Column == 0:
		return fmt.Errorf("%s:%d: %w", f.path, at.Line, err)
	}
	return fmt.Errorf("%s:%d:%d: %w", f.path, at.Line, at.Column, err)
}

// isLink reports whether the file is a link to another one.
func (f file) isLink() bool { return f.path != f.target }

// isOurs reports whether this program made the file, as far as that can be known: it
// made no copy of what was there before.
func (f file) isOurs() bool { return f.exists && !f.isLink() && !isThere(backupOf(f.path)) }

// backupOf returns the path of the copy of what a file held before.
func backupOf(path string) string { return path + ".todo-mcp.bak" }

// Change is what becomes of the files of a client.
type Change struct {
	Client Client
	// File is the path of the one with the servers.
	File string
	// Notes are what a person should know besides.
	Notes []string
	edits []*edit
	// isOurs reports whether this program stands in the content of a file.
	isOurs func(data []byte) bool
}

// edit is what becomes of one file.
type edit struct {
	before  file
	after   []byte
	removes bool            // the file goes
	words   map[string]bool // what may be shown of it
}

func (e *edit) isNone() bool { return !e.removes && bytes.Equal(e.before.data, e.after) }

// show adds words that may be shown of the file.
func (e *edit) show(texts ...string) {
	for _, text := range texts {
		for _, w := range append(strings.Fields(text), text) {
			e.words[w] = true
		}
	}
}

// edit returns what becomes of a file, which is read unless the change has it.
func (c *Change) edit(path string) (*edit, error) {
	for _, e := range c.edits {
		if e.before.path == path {
			return e, nil
		}
	}
	f, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return c.add(f), nil
}

// add adds a file that stays as it is until it is edited.
func (c *Change) add(f file) *edit {
	e := &edit{before: f, after: f.data, words: make(map[string]bool)}
	c.edits = append(c.edits, e)
	return e
}

// note adds a note.
func (c *Change) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// IsNone reports whether all files stay as they are.
func (c Change) IsNone() bool {
	return !slices.ContainsFunc(c.edits, func(e *edit) bool { return !e.isNone() })
}

// Files returns the paths of the files that change; where none does, of those that are
// there, or else would be.
func (c Change) Files() (paths []string) {
	for _, e := range c.edits {
		if !e.isNone() || c.IsNone() && e.before.exists {
			paths = append(paths, e.before.path)
		}
	}
	if paths == nil {
		return []string{c.File}
	}
	return paths
}

// Write makes the change: each file is replaced as a whole, made with its folder, or
// removed. Where it is a link, what it leads to is replaced. What a file held until
// then is in one of the files backups afterwards, unless there was none, or nothing but
// what this program wrote, or there is a copy already of the time before this program
// stood in it. A file that is not any more as it was read, or that may not be written,
// is an error; the files before it are changed then.
func (c Change) Write() (backups []string, err error) {
	for _, e := range c.edits {
		if e.isNone() {
			continue
		}
		backup, err := e.write(c.isOurs)
		if err != nil {
			return backups, fmt.Errorf("%s is left as it was: %w", e.before.path, err)
		}
		if backup != "" {
			backups = append(backups, backup)
		}
	}
	return backups, nil
}

// write makes the edit, while no other process of this program changes the file. The
// path of the copy of what was there before is empty when there is none.
func (e *edit) write(isOurs func(data []byte) bool) (backup string, err error) {
	if err := os.MkdirAll(filepath.Dir(e.before.target), 0o700); err != nil {
		return "", fmt.Errorf("make its folder: %w", err)
	}
	unlock, err := lockFile(e.before.target)
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := e.check(); err != nil {
		return "", err
	}
	if e.removes {
		return "", os.Remove(e.before.path)
	}
	if backup, err = e.before.copy(isOurs); err != nil {
		return "", fmt.Errorf("make a copy: %w", err)
	}
	return backup, atomicfile.Write(e.before.target, e.after, e.check) // again, since a copy takes long
}

// copy writes what the file holds into its copy, whose path is empty if none is made:
// for no file, and for one in which this program stands while the copy that is there is
// of the time before, which is what a user may want again.
func (f file) copy(isOurs func(data []byte) bool) (path string, err error) {
	if !f.exists {
		return "", nil
	}
	path = backupOf(f.path)
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && isOurs(f.data) {
		if old, err := readBounded(path); err != nil || !isOurs(old) {
			return "", makePrivate(path, info)
		}
	}
	return path, atomicfile.WritePrivate(path, f.data)
}

// makePrivate takes a file away from all but its owner.
func makePrivate(path string, info os.FileInfo) error {
	if info.Mode().Perm() == 0o600 || runtime.GOOS == "windows" {
		return nil
	}
	return os.Chmod(path, 0o600)
}

// check returns an error if the file is not any more as it was read, or is protected.
func (e *edit) check() error {
	now, err := readFile(e.before.path)
	if err != nil {
		return err
	}
	if now.exists != e.before.exists || now.target != e.before.target || !bytes.Equal(now.data, e.before.data) {
		return errors.New("another program changed it in the meantime: try again")
	}
	if !now.exists {
		return nil
	}
	return mayWrite(now.target)
}

// mayWrite returns an error if a file is protected, which does not protect it from
// being replaced.
func mayWrite(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
