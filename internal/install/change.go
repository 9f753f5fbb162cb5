package install

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"todo-mcp/internal/atomicfile"
)

// MaxFile is how large a file of a client may be, in bytes. Files of clients that keep
// their state beside their settings have some megabytes.
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
	}
	in, err := os.Open(f.target)
	if err != nil {
		return f, err
	}
	defer in.Close()
	f.exists = true
	if f.data, err = io.ReadAll(io.LimitReader(in, MaxFile+1)); err == nil && len(f.data) > MaxFile {
		err = fmt.Errorf("%s has more than %d MB", path, MaxFile/1_000_000)
	}
	return f, err
}

// wrong returns an error about the file's content with its path.
func (f file) wrong(err error) error {
	if err == nil {
		return nil
	}
	if at := contentError(""); errors.As(err, &at) {
		return contentError(f.path + string(at))
	}
	return fmt.Errorf("%s: %w", f.path, err)
}

// contentError says what is wrong with a file, behind its place as compilers write it,
// :LINE:COLUMN, if there is one. It quotes none of its values, which may be secret.
type contentError string

func (e contentError) Error() string { return strings.TrimPrefix(string(e), ": ") }

// isLink reports whether the file is a link to another one.
func (f file) isLink() bool {
	_, err := os.Readlink(f.path)
	return err == nil
}

// isOurs reports whether this program made the file, as far as that can be known: it
// made no copy of what was there before.
func (f file) isOurs() bool { return f.exists && !f.isLink() && !exists(backupOf(f.path)) }

// backupOf returns the path of the copy of what a file held before.
func backupOf(path string) string { return path + ".todo-mcp.bak" }

// Change is what becomes of the files of a client.
type Change struct {
	Client Client
	// File is the path of the one with the servers.
	File string
	// Notes are what a person should know besides.
	Notes []string
	// ByHand is what a person does in the file, which is not edited; empty for nothing.
	ByHand string
	edits  []*edit
}

// find returns the value at a path of keys and indices; nil when there is none.
func find(value any, path []any) any {
	for _, step := range path {
		of, _ := value.(map[string]any)
		name, _ := step.(string)
		items, _ := value.([]any)
		n, isItem := step.(int)
		switch {
		case !isItem:
			value = of[name]
		case 0 <= n && n < len(items):
			value = items[n]
		default:
			return nil
		}
	}
	return value
}

// shownPath returns a path as a.b[0]; an array for a new item of it.
func shownPath(path []any) (text string) {
	for i, step := range path {
		switch {
		case step == newItem:
		case i == 0:
			text = fmt.Sprint(step)
		default:
			form := ".%v"
			if _, isItem := step.(int); isItem {
				form = "[%v]"
			}
			text += fmt.Sprintf(form, step)
		}
	}
	return text
}

// edit is what becomes of one file.
type edit struct {
	format
	before  file
	root    map[string]any // what it says
	after   []byte
	removes bool     // the file goes
	ours    bool     // this program stands in it already
	shown   []string // what changes, as lines
}

const byteOrderMark = "\ufeff"

// cutMark returns a file without the byte order mark that it may begin with.
func cutMark(data []byte) (mark, text []byte) {
	text = bytes.TrimPrefix(data, []byte(byteOrderMark))
	return data[:len(data)-len(text)], text
}

// newEdit returns the edit of a file that stays as it is until it is edited.
func newEdit(f file) (e *edit, err error) {
	e = &edit{format: formatOf(f.path), before: f, after: f.data}
	_, text := cutMark(f.data)
	e.root, err = e.read(text)
	return e, f.wrong(err)
}

// read returns the edit of a file, which need not be there.
func (o Options) read(path string) (*edit, error) {
	f, err := file{path: path, target: path}, error(nil)
	if !o.Blank {
		f, err = readFile(path)
	}
	if err != nil {
		return &edit{before: f}, err
	}
	return newEdit(f)
}

func (e *edit) isNone() bool { return !e.removes && bytes.Equal(e.before.data, e.after) }

// isBare reports whether nothing is left but a version, objects without content and no
// comment.
func (e *edit) isBare() bool {
	left := maps.Clone(e.root)
	maps.DeleteFunc(left, func(key string, value any) bool {
		of, isObject := value.(map[string]any)
		return key == versionKey || isObject && len(of) == 0
	})
	return len(left) == 0 && !bytes.ContainsAny(e.after, "/#")
}

// object returns the object at a path; nil when there is none.
func (e *edit) object(path ...any) (map[string]any, error) {
	value := find(e.root, path)
	all, ok := value.(map[string]any)
	if !ok && value != nil {
		return nil, e.before.wrong(contentError(": " + shownPath(path) + " is not an object"))
	}
	return all, nil
}

// errNotEdited is what is said of a file that would not say what was wanted.
const errNotEdited = contentError(": this is written in a way that cannot be edited safely: " +
	"change it by hand; --print shows what install writes")

// set sets the value at a path, nil for none. People are shown as much of it as shown says.
// What comes of that is read again, and refused if it does not say so, or says
// anything else than before of what is not below the first two steps of the path.
func (e *edit) set(value, shown any, path ...any) error {
	mark, was := cutMark(e.after)
	text, err := e.write(was, value, path...)
	if err != nil {
		return e.before.wrong(err)
	}
	then, err := newEdit(file{path: e.before.path, data: slices.Concat(mark, text)})
	place, wanted := e.wanted(value, path)
	is := find(then.root, place)
	if items, isArray := is.([]any); isArray && len(items) == 0 && wanted == nil {
		is = nil // it stays where it has comments
	}
	if err != nil || !isSameRest(without(then.root, path), without(e.root, path)) || !isSame(is, wanted) {
		return e.before.wrong(errNotEdited)
	}
	if bytes.Equal(text, was) {
		return nil
	}
	e.root, e.after = then.root, then.after
	line := "- " + shownPath(path)
	if value != nil {
		text, _ := inLine(shown) // as it was written
		line = "+ " + shownPath(path) + ": " + text
	}
	e.shown = append(e.shown, line)
	return nil
}

// wanted returns which value is where when a path has a value: of an item of an array, which
// is the last step of its path, the whole array.
func (e *edit) wanted(value any, path []any) (place []any, at any) {
	place = path[:len(path)-1]
	n, isItem := path[len(place)].(int)
	items, _ := find(e.root, place).([]any)
	switch items = slices.Clone(items); {
	case !isItem:
		return path, value
	case n == newItem:
		return place, append(items, value)
	case len(items) == 1: // the array goes, too
		return place, nil
	}
	return place, slices.Delete(items, n, n+1)
}

// isSameRest reports whether a file says the same as another one. Values that are no numbers
// are not equal to themselves, but their texts are.
func isSameRest(a, b map[string]any) bool {
	return reflect.DeepEqual(a, b) || fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b)
}

// without returns what a file says of all but the first two steps of a path.
func without(root map[string]any, path []any) map[string]any {
	all := make(map[string]any)
	for key, value := range root {
		below, _ := value.(map[string]any)
		if key != path[0] {
			all[key] = value
			continue
		}
		rest := maps.Clone(below)
		maps.DeleteFunc(rest, func(name string, _ any) bool { return len(path) == 1 || name == path[1] })
		if len(rest) > 0 {
			all[key] = rest
		}
	}
	return all
}

// edit returns what becomes of a file, which is read unless the change has it.
func (c *Change) edit(o Options, path string) (*edit, error) {
	for _, e := range c.edits {
		if e.before.path == path {
			return e, nil
		}
	}
	e, err := o.read(path)
	c.edits = append(c.edits, e)
	return e, err
}

// Diff returns what changes: of each file its path, and each value that is set (+) or
// goes (-). Nothing else of a file is shown, since it may be secret.
func (c Change) Diff() string {
	var out strings.Builder
	for _, e := range c.edits {
		fmt.Fprintf(&out, "%s\n%s\n", e.before.path, strings.Join(e.shown, "\n"))
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
		paths, texts = append(paths, e.before.path), append(texts, string(e.after))
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
		backup, err := e.save()
		if err != nil {
			return backups, fmt.Errorf("%s is left as it was: %w", e.before.path, err)
		}
		if backup != "" {
			backups = append(backups, backup)
		}
	}
	return backups, nil
}

// save makes the edit, while no other process of this program changes the file, by a lock
// beside it. The path of the copy of what was there before is empty when there is none.
func (e *edit) save() (backup string, err error) {
	if err := os.MkdirAll(filepath.Dir(e.before.target), 0o700); err != nil {
		return "", fmt.Errorf("make its folder: %w", err)
	}
	unlock, err := atomicfile.TryLock(e.before.target + ".todo-mcp.lock")
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
	if backup, err = e.before.copy(e.ours || bytes.Contains(e.before.data, []byte(programName))); err != nil {
		return "", fmt.Errorf("make a copy: %w", err)
	}
	return backup, atomicfile.Write(e.before.target, e.after, e.check) // again, since a copy takes long
}

// copy writes what the file holds into its copy, whose path is empty if none is made:
// for no file, and for one in which this program stands while there is a copy, of an
// earlier time, which is what a user may want again.
func (f file) copy(ours bool) (path string, err error) {
	if !f.exists {
		return "", nil
	}
	path = backupOf(f.path)
	info, err := os.Lstat(path)
	if err == nil && info.Mode().IsRegular() && ours {
		return "", os.Chmod(path, 0o600)
	}
	return path, atomicfile.WritePrivate(path, f.data)
}

// check returns an error if the file is not any more as it was read, or is protected,
// which does not keep it from being replaced.
func (e *edit) check() error {
	now, err := readFile(e.before.path)
	if err != nil || !reflect.DeepEqual(now, e.before) {
		return cmp.Or(err, errors.New("another program changed it in the meantime: try again"))
	}
	if !now.exists {
		return nil
	}
	f, err := os.OpenFile(now.target, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
