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

// MaxFile is the maximum size of a client's file, in bytes. Claude Code's file also has its state: 240 MB were seen.
const MaxFile = 300_000_000

// file is a configuration file as it was read.
type file struct {
	path   string // as the client names it
	target string // the file that path links to; path if it is no link
	mark   []byte // the byte order mark, which editors of Windows write
	data   []byte // the content after the mark; nil if there is no file
}

// readFile reads a file, which need not exist.
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
		return f, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > MaxFile:
		return f, fmt.Errorf("%s has more than %d MB: %s", path, MaxFile/1_000_000, byHand)
	}
	data, err := os.ReadFile(target)
	err = withHint(err)
	f.mark = data[:len(data)-len(bytes.TrimLeft(data, "\ufeff"))]
	f.data = data[len(f.mark):]
	return f, err
}

const byHand = "`install --print` shows what to write by hand"

// withHint adds the hint byHand to an error about permissions.
func withHint(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: %s", err, byHand)
	}
	return err
}

// wrong puts the file's path before an error, whose text begins with :LINE:COLUMN: or a colon and must quote no value.
func (f file) wrong(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s%w", f.path, err)
}

// backupOf returns the path of the copy of a file's earlier content.
func backupOf(path string) string { return path + ".todo-mcp.bak" }

// Change is a change of a client's files.
type Change struct {
	File  string   // the path of the file with the servers
	Notes []string // what else a person should know
	edits []*edit
	home  string // the user's folder
}

// at returns the value at a path of keys and indices in a document; nil for none.
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

// shownPath returns a path as a.b.0, without a newItem at its end.
func shownPath(path []any) string {
	text := strings.TrimPrefix(strings.TrimSuffix(pointer(path), "/-"), "/")
	return strings.ReplaceAll(text, "/", ".")
}

type edit struct {
	format
	before file
	root   map[string]any // the parsed content of after
	after  []byte
	ours   bool     // the file already named this program
	shown  []string // a line for each change
}

// read reads a file, which need not exist, and returns an edit of it that has no changes yet.
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

// removes reports whether to remove the file. The edit must leave no comment, and only a version, empty objects and
// arrays. The file must be no link, and probably made by this program: its new content is empty, or it has no copy.
func (e *edit) removes() bool {
	f, left := e.before, maps.Clone(e.root)
	maps.DeleteFunc(left, func(key string, value any) bool {
		of, isObject := value.(map[string]any)
		items, isArray := value.([]any)
		return key == versionKey || isObject && len(of) == 0 || isArray && len(items) == 0
	})
	_, isNoLink := os.Readlink(f.path)
	return f.data != nil && !e.isNone() && len(left) == 0 && !bytes.ContainsAny(e.after, "/#") &&
		isNoLink != nil && (len(e.after) == 0 || !exists(backupOf(f.path)))
}

// object returns the object with a key; nil for none.
func (e *edit) object(key string) (map[string]any, error) {
	all, ok := e.root[key].(map[string]any)
	if !ok && e.root[key] != nil {
		return nil, e.before.wrong(fmt.Errorf(": %s is not an object", key))
	}
	return all, nil
}

// errNotEdited is the error for an edit whose result, parsed again, would not have the wanted value.
var errNotEdited = errors.New(": this is written in a way that cannot be edited safely: change it by hand; --print shows what install writes")

// set sets the value at a path, and shows it in the diff.
func (e *edit) set(value any, path ...any) error { return e.setShown(value, value, path...) }

// setShown sets the value at a path; nil removes the old value. For the diff it takes another value, without secrets,
// given as shown. It returns an error if the parsed result does not have the value.
func (e *edit) setShown(value, shown any, path ...any) error {
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
	line := "- " + shownPath(path)
	if value != nil {
		line = "+ " + shownPath(path) + ": " + inLine(shown)
	}
	e.shown = append(e.shown, line)
	return nil
}

// plainJSON encodes a value as JSON and decodes it again.
func plainJSON(value any) (read any) {
	text, _ := json.Marshal(value)
	_ = json.Unmarshal(text, &read)
	return read
}

// edit returns the change's edit of a file. If there is none yet, it reads the file and adds one.
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

// Diff returns the path of each file, and each value that is set (+) or removed (-). It shows nothing else of a file,
// which may be secret. Hooks with the same command share a line.
func (c Change) Diff() (text string) {
	for _, e := range c.edits {
		text += e.before.path + "\n" + strings.Join(e.shown, "\n") + "\n"
	}
	return text
}

func (c *Change) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// IsNone reports whether all files stay as they are.
func (c Change) IsNone() bool { return len(c.edits) == 0 }

// Files returns the paths of the files that change, and their new texts.
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

// Write makes the change. It replaces each file, or the target of a link, as a whole, or removes it. Before it replaces
// a file it makes a copy, unless the file names this program and has a copy. It stops with an error at a file that was
// changed meanwhile or is protected; the files that it wrote before stay changed.
func (c Change) Write() error {
	for _, e := range c.edits {
		if err := e.save(c.home); err != nil {
			return fmt.Errorf("%s is left as it was: %w", e.before.path, withHint(err))
		}
	}
	return nil
}

// Copies returns the paths of the existing copies of the change's files.
func (c Change) Copies() (paths []string) {
	for _, e := range c.edits {
		if path := backupOf(e.before.path); exists(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// save makes the edit. If the new content equals an old copy, apart from newlines at the end, save writes the copy's
// bytes and removes the copy. When save removes a file, it also removes the folders below home that become empty.
func (e *edit) save(home string) error {
	if err := e.check(); err != nil {
		return err
	}
	if e.removes() {
		err := os.Remove(e.before.path)
		for dir := filepath.Dir(e.before.path); err == nil && dir != home && os.Remove(dir) == nil; {
			dir = filepath.Dir(dir)
		}
		return err
	}
	if err := os.MkdirAll(filepath.Dir(e.before.target), 0o700); err != nil {
		return fmt.Errorf("make its folder: %w", err)
	}
	after, copied := slices.Concat(e.before.mark, e.after), backupOf(e.before.path)
	if old, err := os.ReadFile(copied); err == nil && bytes.Equal(bytes.TrimRight(old, "\r\n"), bytes.TrimRight(after, "\r\n")) {
		if err = atomicfile.Write(e.before.target, old, e.check); err == nil {
			err = os.Remove(copied)
		}
		return err
	}
	// If the file names this program, an existing copy stays: it has the earlier content, which a user may want back.
	isOurs := e.ours || bytes.Contains(e.before.data, []byte(programName))
	if e.before.data != nil && !(isOurs && exists(copied)) {
		_ = os.Remove(copied) // so that the new copy gets the mode of a new file, readable by its owner alone
		if err := atomicfile.Write(copied, slices.Concat(e.before.mark, e.before.data), nil); err != nil {
			return fmt.Errorf("make a copy: %w", err)
		}
	}
	return atomicfile.Write(e.before.target, after, e.check) // checks again, since making a copy takes long
}

// check returns an error if the file changed since it was read, or is write-protected, which a rename would ignore.
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
