package install

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/todo-mcp/todo-mcp/internal/atomicfile"
)

// MaxFile is how large a file of a client may be, in bytes: it is edited in memory. One client
// keeps its state beside its settings, and has files of 240 MB.
const MaxFile = 300_000_000

// file is a configuration file as it was read.
type file struct {
	path   string // as the client names it
	target string // where links lead; the same as path without one
	mark   []byte // the byte order mark, which editors of Windows write; it stays
	data   []byte // behind the mark; nil when there is no file
}

// readFile reads a file, which need not be there.
func readFile(path string) (file, error) {
	f := file{path: path, target: path}
	if !exists(path) {
		return f, nil
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return f, fmt.Errorf("%s is a link to a file that is not there", path)
	}
	info, err := os.Stat(target)
	switch f.target = target; {
	case err != nil:
		return f, err
	case info.IsDir():
		return f, fmt.Errorf("%s is a folder", path)
	case !info.Mode().IsRegular():
		return f, fmt.Errorf("%s is no regular file", path)
	case info.Size() > MaxFile:
		return f, fmt.Errorf("%s has more than %d MB: %s", path, MaxFile/1_000_000, byHand)
	}
	data, err := os.ReadFile(target)
	err = withHint(err)
	f.mark = data[:len(data)-len(bytes.TrimLeft(data, "\ufeff"))]
	f.data = data[len(f.mark):]
	return f, err
}

// byHand says what helps with a file that is not edited.
const byHand = "`install --print` shows what to write by hand"

// withHint returns an error with what helps if a file or its folder is protected.
func withHint(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: %s", err, byHand)
	}
	return err
}

// wrong returns an error about the file's content with its path. Such an error begins as
// compilers write the place, :LINE:COLUMN, or with a colon alone. It quotes no value of the
// file, which may be secret.
func (f file) wrong(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s%w", f.path, err)
}

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
	home  string // of the user
}

// at returns what a document has at a path of keys and indices; nil for nothing.
func at(doc any, path []any) any {
	for _, step := range path {
		all, _ := doc.(map[string]any)
		items, _ := doc.([]any)
		name, _ := step.(string)
		if n, isItem := step.(int); isItem && n >= 0 && n < len(items) {
			doc = items[n]
		} else {
			doc = all[name]
		}
	}
	return doc
}

// shownPath returns a path as a.b.0; that of an array for a new item of it.
func shownPath(path []any) string {
	text := strings.TrimPrefix(strings.TrimSuffix(pointer(path), "/-"), "/")
	return strings.ReplaceAll(text, "/", ".")
}

// edit is what becomes of one file.
type edit struct {
	format
	before file
	root   map[string]any // what it says
	after  []byte
	ours   bool   // this program stands in it already
	shown  []line // what changes
}

// line is what changes at one place. Of a hook it is told in brief what is called at which event.
type line struct{ text, calls, event string }

// read returns the edit of a file, which need not be there and stays as it is until it is
// edited.
func (o Options) read(path string) (e *edit, err error) {
	e = &edit{format: formatOf(path), before: file{path: path, target: path}}
	if !o.Blank {
		e.before, err = readFile(path)
	}
	if err == nil {
		e.root, err = e.read(e.before.data)
		err = e.before.wrong(err)
	}
	e.after = e.before.data
	return e, err
}

func (e *edit) isNone() bool { return bytes.Equal(e.before.data, e.after) }

// isBare reports whether nothing is left but a version, objects and arrays without content,
// and no comment.
func (e *edit) isBare() bool {
	left := maps.Clone(e.root)
	maps.DeleteFunc(left, func(key string, value any) bool {
		of, isObject := value.(map[string]any)
		items, isArray := value.([]any)
		return key == versionKey || isObject && len(of) == 0 || isArray && len(items) == 0
	})
	return len(left) == 0 && !bytes.ContainsAny(e.after, "/#")
}

// removes reports whether the file goes: nothing is left in it, and this program made it, as
// far as that can be known: it made no copy of what was there before.
func (e *edit) removes() bool {
	f := e.before
	_, isNoLink := os.Readlink(f.path)
	return f.data != nil && !e.isNone() && e.isBare() && isNoLink != nil && (len(e.after) == 0 || !exists(backupOf(f.path)))
}

// object returns the object with a key; nil when there is none.
func (e *edit) object(key string) (map[string]any, error) {
	all, ok := e.root[key].(map[string]any)
	if !ok && e.root[key] != nil {
		return nil, e.before.wrong(fmt.Errorf(": %s is not an object", key))
	}
	return all, nil
}

// errNotEdited is what is said of a file that would not say what was wanted.
var errNotEdited = errors.New(": this is written in a way that cannot be edited safely: " +
	"change it by hand; --print shows what install writes")

// set sets the value at a path, or removes the one there if it is nil. What comes of that is
// read again, and refused where it does not say so.
func (e *edit) set(value any, path ...any) error {
	old := at(e.root, path)
	if value == nil && old == nil || value != nil && reflect.DeepEqual(old, plainJSON(value)) {
		return nil
	}
	text, err := e.write(e.after, value, path)
	root := e.root
	if err == nil {
		root, err = e.read(text)
	}
	if now := at(root, path); err == nil && value != nil && path[len(path)-1] != newItem && !reflect.DeepEqual(now, plainJSON(value)) {
		err = errNotEdited
	}
	if err != nil {
		return e.before.wrong(err)
	}
	e.root, e.after = root, text
	shown := "- " + shownPath(path)
	if value != nil {
		text, _ := inLine(value, asShown) // as it was written
		shown = "+ " + shownPath(path) + ": " + text
	}
	e.shown = append(e.shown, line{text: shown})
	return nil
}

// plainJSON returns a value as it is read again.
func plainJSON(value any) (read any) {
	text, _ := json.Marshal(value)
	_ = json.Unmarshal(text, &read)
	return read
}

// edit returns what becomes of a file, which is read unless the change has it.
func (c *Change) edit(o Options, path string) (*edit, error) {
	for _, e := range c.edits {
		if e.before.path == path {
			return e, nil
		}
	}
	e, err := o.read(path)
	if err == nil {
		c.edits = append(c.edits, e)
	}
	return e, err
}

// Diff returns what changes: of each file its path, and each value that is set (+) or
// goes (-). Nothing else of a file is shown, since it may be secret. Unless it is the whole,
// hooks that call the same one after another are one line, which has their events.
func (c Change) Diff(whole bool) string {
	var out strings.Builder
	for _, e := range c.edits {
		out.WriteString(e.before.path)
		for i, l := range e.shown {
			switch before := e.shown[max(i-1, 0)]; {
			case whole || l.calls == "":
				out.WriteString("\n" + l.text)
			case i > 0 && before.calls == l.calls && before.text[0] == l.text[0]:
				out.WriteString(", " + l.event)
			default:
				out.WriteString("\n" + l.text[:2] + l.calls + " at " + l.event)
			}
		}
		out.WriteString("\n")
	}
	return out.String()
}

// note adds a note.
func (c *Change) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// IsNone reports whether all files stay as they are.
func (c Change) IsNone() bool { return len(c.edits) == 0 }

// Files returns the paths of the files that change, and their texts then.
func (c Change) Files() (paths, texts []string) {
	for _, e := range c.edits {
		text := string(e.after)
		if filepath.Ext(e.before.path) == ".yaml" {
			text = yamlOf(e.root, "")
		}
		paths, texts = append(paths, e.before.path), append(texts, text)
	}
	return paths, texts
}

// Write makes the change: each file is replaced as a whole, made with its folder, or
// removed. Where it is a link, what it leads to is replaced. What a file held until
// then is in one of the files backups afterwards, unless there was none, or this program
// stood in it and there is a copy already. A file that is not any more as it was read, or
// that may not be written, is an error; the files before it are changed then.
func (c Change) Write() (backups []string, err error) {
	for _, e := range c.edits {
		backup, err := e.save(c.home)
		if err != nil {
			return backups, fmt.Errorf("%s is left as it was: %w", e.before.path, withHint(err))
		}
		if backup != "" {
			backups = append(backups, backup)
		}
	}
	return backups, nil
}

// Copies returns the paths of the copies that stay beside the files of a change that was made.
func (c Change) Copies() (paths []string) {
	for _, e := range c.edits {
		if path := backupOf(e.before.path); exists(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// save makes the edit. The path of the copy of what was there before is empty when there is
// none. A file that comes to be what its copy has, but for line ends behind it, is that to the
// byte, and the copy goes. With a file that goes, folders below home go that have nothing else.
func (e *edit) save(home string) (backup string, err error) {
	if err := e.check(); err != nil {
		return "", err
	}
	if e.removes() {
		err := os.Remove(e.before.path)
		for dir := filepath.Dir(e.before.path); err == nil && dir != home && os.Remove(dir) == nil; {
			dir = filepath.Dir(dir)
		}
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(e.before.target), 0o700); err != nil {
		return "", fmt.Errorf("make its folder: %w", err)
	}
	after, copied := slices.Concat(e.before.mark, e.after), backupOf(e.before.path)
	if old, err := os.ReadFile(copied); err == nil && bytes.Equal(bytes.TrimRight(old, "\r\n"), bytes.TrimRight(after, "\r\n")) {
		if err = atomicfile.Write(e.before.target, old, e.check); err == nil {
			err = os.Remove(copied)
		}
		return "", err
	}
	// Where this program stands in a file, there is a copy of an earlier time, which is what a
	// user may want again.
	isOurs := e.ours || bytes.Contains(e.before.data, []byte(programName))
	if e.before.data != nil && !(isOurs && exists(copied)) {
		_ = os.Remove(copied) // a new one is for its owner alone, whoever could read the one before
		if err := atomicfile.Write(copied, slices.Concat(e.before.mark, e.before.data), nil); err != nil {
			return "", fmt.Errorf("make a copy: %w", err)
		}
		backup = copied
	}
	return backup, atomicfile.Write(e.before.target, after, e.check) // again, since a copy takes long
}

// check returns an error if the file is not any more as it was read, or is protected,
// which does not keep it from being replaced.
func (e *edit) check() error {
	now, err := readFile(e.before.path)
	if err != nil || !reflect.DeepEqual(now, e.before) {
		return cmp.Or(err, errors.New("another program changed it in the meantime: try again"))
	}
	if now.data == nil {
		return nil
	}
	f, err := os.OpenFile(now.target, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
