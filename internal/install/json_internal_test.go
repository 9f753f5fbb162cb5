package install

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// entryPath is where the tests put an entry.
var entryPath = []any{"servers", "todo"}

// editOf returns an edit, without changes yet, of a file with a name and a text.
func editOf(name, text string) (e *edit, err error) {
	e = &edit{format: formatOf(name), before: file{path: name, data: []byte(text)}, after: []byte(text)}
	e.root, err = e.read(e.after)
	return e, err
}

// BAD-INPUT 94: A client's file, its hooks or status line: broken, not UTF-8, a folder, nested too deep, of another
// shape, with keys and passwords; another plugin by our file's name → It stays, other clients' files change; the error
// says the place, no value is shown. An edit's result is parsed before it is written
func TestRefusedJSON(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  \"a\": secret\n}":                ":2:8: this is not JSON",
		"{\"a\": ":                             ":1:7: this is not JSON",
		"[1]":                                  ":1:1: this is not a JSON object",
		"{\"a\": \"\xff\"}":                    ":1:8: this is not JSON in UTF-8",
		"{\"a\": 1,\n\"a\": 2}":                ":2:1: \"a\" is there twice",
		"{\"a\":\n" + strings.Repeat("[", 1e6): ": brackets stand in each other, more than 10000 deep",
	} {
		if _, err := readJSON([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%.30q: %v", text, err)
		}
	}
}

// said returns a digest of a document's values, each with its place. Empty objects and arrays are left out. NaN is
// equal to itself.
func said(doc any) (digest [sha256.Size]byte) {
	all := sha256.New()
	var add func(doc any, place string)
	add = func(doc any, place string) {
		switch doc := doc.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(doc)) {
				add(doc[name], place+strconv.Quote(name))
			}
		case []any:
			for i, item := range doc {
				add(item, fmt.Sprintf("%s[%d]", place, i))
			}
		default:
			fmt.Fprintf(all, "%s=%#v\n", place, doc)
		}
	}
	add(doc, "")
	return [sha256.Size]byte(all.Sum(nil))
}

// BAD-INPUT 94: whatever a file contains, an edit of JSON or TOML is refused, or changes nothing but its own value. A
// new entry in JSON keeps every byte of the file.
func FuzzDocuments(f *testing.F) {
	for _, text := range []string{
		"", `{"a":[1,{}],}`, "{ // c\n\"servers\":{\"a\":1,},\"b\":2}", "{\"servers\":null/*c*/,\n\n// d\n\"c\":[]}\n// e", "{\"a\":1//c\n}", "{\"servers\":{\"a\":1,//c\n\"todo\":1}}",
		"a = [\n[\"x\"],\n]\n[servers.todo]\n\"command\" = 'x' # c\n[[servers.todo.env]]\n", "[servers]\ntodo = {command = 1}", "[ servers . 'todo' ] # c\r\nargs = '''\n#'''",
		`{"servers":{"items":[1,//c\n[2],],}}`, `{"servers":{"items":[/*c*/]}}`, "[servers.todo.env]\nA = nan\n[servers.todo]\nurl = \"x\"\nargs.a = 1\n# c\n\n[servers.a]\n", "[servers]\n[servers.todo]",
	} {
		f.Add(text, false)
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, isTOML bool) {
		name := map[bool]string{false: "x.json", true: "x.toml"}[isTOML]
		e, err := editOf(name, text)
		if err != nil {
			return
		}
		says := func() [32]byte { return said(e.root) }
		root, before := e.root, says()
		servers, isObject := root["servers"].(map[string]any)
		_, there := root["servers"]
		isNew := servers["todo"] == nil && (isObject || !there)
		if err := e.set(object{{"command", "todo-mcp"}, {"args", []string{"#\n\"'"}}}, entryPath...); err != nil {
			return
		}
		if !isTOML && root != nil && isNew && !keepsBytes(text, e.after) {
			t.Errorf("%q becomes %q", text, e.after)
		}
		err = errors.Join(e.set([]string{}, append(entryPath, "args")...), e.set(nil, append(entryPath, "args")...), e.set(nil, entryPath...))
		if err != nil || isNew && says() != before {
			t.Errorf("%q: %v", text, err)
		}
		items, _ := servers["items"].([]any)
		if isTOML || e.set("x", "servers", "items", newItem) != nil {
			return
		}
		if err := e.set(nil, "servers", "items", len(items)); err != nil || isNew && says() != before {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// keepsBytes reports whether all bytes of a text are in other bytes, in the same order.
func keepsBytes(text string, in []byte) bool {
	for _, b := range in {
		if text != "" && text[0] == b {
			text = text[1:]
		}
	}
	return text == ""
}
