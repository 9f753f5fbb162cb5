package install

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// entryPath is where the tests put an entry.
var entryPath = []any{"servers", "todo"}

// What stands around a new entry stays as it is, and the entry is laid out as the file
// is. Without it the file is as before, unless alone says that there was nothing else.
func TestSetAndRemove(t *testing.T) {
	const entry = "{\n      \"command\": \"todo-mcp\"\n    }"
	const added = "  \"servers\": {\n    \"todo\": " + entry + "\n  }\n}\n"
	windows := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	for _, c := range []struct {
		name, before, after string
		alone               bool
	}{
		{"nothing", "", "{\n" + added, true},
		{"an empty object", "{}\n", "{\n" + added, true},
		{"null", "{\n  \"servers\": null\n}\n", "{\n" + added, true},
		{"other settings", "{\n  \"theme\": \"dark\"\n}\n", "{\n  \"theme\": \"dark\",\n" + added, false},
		{"tabs", "{\n\t\"a\": 1\n}\n", strings.ReplaceAll("{\n  \"a\": 1,\n"+added, "  ", "\t"), false},
		{"comments and trailing commas", "// mine\n{\n  \"servers\": {\n    // the first\n    \"a\": {}, // behind it\n    // at the end\n  }, /* z */\n}\n// end",
			"// mine\n{\n  \"servers\": {\n    // the first\n    \"a\": {}, // behind it\n    \"todo\": " + entry + ",\n    // at the end\n  }, /* z */\n}\n// end", false},
		{"a comment behind the last member", "{\n  \"theme\": \"dark\" // as the night\n}\n", "{\n  \"theme\": \"dark\", // as the night\n" + added, false},
		{"lines of Windows", "{\r\n  \"a\": 1\r\n}\r\n", windows("{\n  \"a\": 1,\n" + added), false},
		{"one line", `{"a":1,"b":[1,2]}`, `{"a":1,"b":[1,2], "servers": {"todo": {"command": "todo-mcp"}}}`, false},
		{"servers in one line", "{\n  \"servers\": {\"a\": {}}\n}\n", "{\n  \"servers\": {\"a\": {}, \"todo\": {\"command\": \"todo-mcp\"}}\n}\n", false},
		{"numbers that a float cannot hold", "{\n  \"id\": 12345678901234567890123\n}\n", "{\n  \"id\": 12345678901234567890123,\n" + added, false},
	} {
		e := jsonEdit(t, c.before)
		for range 2 {
			if err := e.set(object{{"command", "todo-mcp"}}, entryPath...); err != nil || string(e.after) != c.after {
				t.Errorf("%s (-want +got, %v):\n%s", c.name, err, cmp.Diff(c.after, string(e.after)))
			}
		}
		if err := e.set(nil, entryPath...); err != nil || e.isBare() != c.alone {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(strings.TrimSuffix(c.before, "\n"), strings.TrimSuffix(string(e.after), "\n")); diff != "" && !c.alone {
			t.Errorf("%s without it (-want +got):\n%s", c.name, diff)
		}
	}
}

// editOf returns the edit of a file by a name, with a text.
func editOf(name, text string) (e *edit, err error) {
	e = &edit{format: formatOf(name), before: file{path: name, data: []byte(text)}, after: []byte(text)}
	e.root, err = e.read(e.after)
	return e, err
}

// jsonEdit returns the edit of a file of JSON with a text.
func jsonEdit(t *testing.T, text string) *edit {
	t.Helper()
	e, err := editOf("x.json", text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// BAD-INPUT 94: a line comment before what goes keeps its line break.
//
// BAD-INPUT 94: A client's file, its hooks or status line: broken, not UTF-8, a folder, nested
// without end, of another shape, with keys and passwords; another plugin by our file's name → Not
// touched, other clients are; the error says the place, and nothing shows a value. An edit is read
// again before it is written
func TestRemoveBehindComment(t *testing.T) {
	for before, after := range map[string]string{
		"{\"servers\":{\"a\":{}, // x\n \"todo\":{} }}":   "{\"servers\":{\"a\":{} // x\n }}",
		"{\"servers\":{\"a\":{} /* // */, \"todo\":{} }}": "{\"servers\":{\"a\":{} /* // */ }}",
		"{\"servers\":{\"a\":{}, // x\r\n \"todo\":{} }}": "{\"servers\":{\"a\":{} // x\r\n }}",
	} {
		e := jsonEdit(t, before)
		if err := e.set(nil, entryPath...); err != nil || string(e.after) != after {
			t.Errorf("%q becomes %q (%v), want %q", before, e.after, err, after)
		}
	}
}

// BAD-INPUT 94: a key in brackets is a key, not a position.
func TestKeyInBrackets(t *testing.T) {
	e := jsonEdit(t, `{"hooks": {"[0]": ["a", "b"], "[x]": 1}}`)
	err := errors.Join(e.set(2, "hooks", "[x]"), e.set("d", "hooks", "[0]", newItem), e.set(nil, "hooks", "[0]", 0))
	if want := `{"hooks": {"[0]": [ "b", "d"], "[x]": 2}}`; err != nil || string(e.after) != want {
		t.Errorf("it is %s, want %s (%v)", e.after, want, err)
	}
	if got := shownPath([]any{"hooks", "[x]", 1, "y", newItem}); got != "hooks.[x].1.y" {
		t.Errorf("it is shown as %s", got)
	}
}

// BAD-INPUT 94: what is no JSON that all programs read alike is refused, with the place
// and without a value.
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

// BAD-INPUT 94: an edit of JSON or TOML is made once and changes nothing but what it is
// about, whatever a file has, or is refused. A new entry of JSON leaves every byte.
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

// keepsBytes reports whether all bytes of a text are in another one, in their order.
func keepsBytes(text string, in []byte) bool {
	for _, b := range in {
		if text != "" && text[0] == b {
			text = text[1:]
		}
	}
	return text == ""
}
