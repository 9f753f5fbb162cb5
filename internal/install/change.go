package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

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

// Change is what becomes of one file of a client.
type Change struct {
	Client Client
	File   string // its path
	before file
	after  []byte
	words  map[string]bool // what may be shown of the file
}

// IsNone reports whether the file stays as it is.
func (c Change) IsNone() bool { return bytes.Equal(c.before.data, c.after) }

// Write makes the change: the file is replaced as a whole, or made with its folder.
// Where it is a link, what it leads to is replaced. What the file held until then is
// in the file backup afterwards; backup is empty where there was no file. A file that
// is not any more as it was read, or that may not be written, is an error.
func (c Change) Write() (backup string, err error) {
	if err := os.MkdirAll(filepath.Dir(c.before.target), 0o700); err != nil {
		return "", fmt.Errorf("make folder for %s: %w", c.File, err)
	}
	err = atomicfile.Write(c.before.target, c.after, func() error {
		now, err := readFile(c.File)
		if err != nil {
			return err
		}
		if now.exists != c.before.exists || now.target != c.before.target || !bytes.Equal(now.data, c.before.data) {
			return errors.New("another program changed it in the meantime: try again")
		}
		if !now.exists {
			return nil
		}
		if err := mayWrite(now.target); err != nil {
			return err
		}
		backup = c.File + ".todo-mcp.bak"
		return atomicfile.Write(backup, now.data, nil)
	})
	if err != nil {
		return "", fmt.Errorf("%s is left as it was: %w", c.File, err)
	}
	return backup, nil
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
