package document_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/document"
)

// path returns where the tests of a format put their object.
func path(f document.Format) document.Path {
	switch f {
	case document.TOML:
		return document.Path{"mcp_servers", "todo"}
	case document.YAML:
		return document.Path{"extensions", "todo"}
	default:
		return document.Path{"mcpServers", "todo"}
	}
}

// fields are what they put into it.
func fields() []document.Field {
	return []document.Field{{"command", "todo-mcp"}, {"args", []string{"stdio", "--panel"}}, {"url", nil}, {"enabled", true}, {"timeout", 300}}
}

// cases are documents before and after an object is set. What an object that was not
// there adds is taken away by removing it, unless notBack says so.
func cases() []struct {
	name    string
	format  document.Format
	before  string
	after   string
	notBack bool
} {
	type c = struct {
		name    string
		format  document.Format
		before  string
		after   string
		notBack bool
	}
	const entry = `{
      "command": "todo-mcp",
      "args": ["stdio", "--panel"],
      "enabled": true,
      "timeout": 300
    }`
	const flat = `{"command":"todo-mcp","args":["stdio","--panel"],"enabled":true,"timeout":300}`
	const table = "[mcp_servers.todo]\ncommand = \"todo-mcp\"\nargs = [\"stdio\", \"--panel\"]\nenabled = true\ntimeout = 300\n"
	const mapping = "  todo:\n    command: todo-mcp\n    args: [\"stdio\", \"--panel\"]\n    enabled: true\n    timeout: 300\n"
	windows := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	return []c{
		{"nothing", document.JSON, "", "{\n  \"mcpServers\": {\n    \"todo\": " + entry + "\n  }\n}\n", true},
		{"an empty object", document.JSON, "{}\n", "{\n  \"mcpServers\": {\n    \"todo\": " + entry + "\n  }\n}\n", true},
		{"an empty object of servers", document.JSON, "{\n  \"mcpServers\": {}\n}", "{\n  \"mcpServers\": {\n    \"todo\": " + entry + "\n  }\n}", false},
		{"null", document.JSON, "{\n  \"mcpServers\": null\n}", "{\n  \"mcpServers\": {\n    \"todo\": " + entry + "\n  }\n}", true},
		{"other settings", document.JSON, "{\n  \"theme\": \"dark\"\n}\n", "{\n  \"theme\": \"dark\",\n  \"mcpServers\": {\n    \"todo\": " + entry + "\n  }\n}\n", false},
		{"another server", document.JSON, "{\n  \"mcpServers\": {\n    \"a\": {\"env\": {\"T\": \"secret\"}}\n  },\n  \"z\": 1\n}\n",
			"{\n  \"mcpServers\": {\n    \"a\": {\"env\": {\"T\": \"secret\"}},\n    \"todo\": " + entry + "\n  },\n  \"z\": 1\n}\n", false},
		{"comments and trailing commas", document.JSON, "// mine\n{\n  \"mcpServers\": {\n    // the first\n    \"a\": {}, // behind it\n    // at the end\n  }, /* z */\n}\n// end",
			"// mine\n{\n  \"mcpServers\": {\n    // the first\n    \"a\": {}, // behind it\n    // at the end\n    \"todo\": " + entry + ",\n  }, /* z */\n}\n// end", false},
		{"a comment behind the last member", document.JSON, "{\n  \"theme\": \"dark\" // as the night  \n}\n",
			"{\n  \"theme\": \"dark\", // as the night  \n  \"mcpServers\": {\n    \"todo\": " + entry + "\n  }\n}\n", false},
		{"tabs", document.JSON, "{\n\t\"a\": 1\n}\n", strings.ReplaceAll("{\n  \"a\": 1,\n  \"mcpServers\": {\n    \"todo\": "+entry+"\n  }\n}\n", "  ", "\t"), false},
		{"four spaces", document.JSON, "{\n    \"a\": 1\n}\n", strings.ReplaceAll("{\n  \"a\": 1,\n  \"mcpServers\": {\n    \"todo\": "+entry+"\n  }\n}\n", "  ", "    "), false},
		{"lines of Windows and a byte order mark", document.JSON, "\ufeff{\r\n  \"a\": 1 // one\r\n}\r\n",
			"\ufeff" + windows("{\n  \"a\": 1, // one\n  \"mcpServers\": {\n    \"todo\": "+entry+"\n  }\n}\n"), false},
		{"one line", document.JSON, `{"a":1,"b":[1,2]}`, `{"a":1,"b":[1,2],"mcpServers":{"todo":` + flat + `}}`, false},
		{"one line with spaces", document.JSON, `{"a": 1}`, `{"a": 1, "mcpServers": {"todo": {"command": "todo-mcp", "args": ["stdio", "--panel"], "enabled": true, "timeout": 300}}}`, false},
		{"servers in one line", document.JSON, "{\n  \"mcpServers\": {\"a\": {}}\n}\n",
			"{\n  \"mcpServers\": {\"a\": {}, \"todo\": {\"command\": \"todo-mcp\", \"args\": [\"stdio\", \"--panel\"], \"enabled\": true, \"timeout\": 300}}\n}\n", false},
		{"an object that differs", document.JSON, "{\n  \"mcpServers\": {\n    \"todo\": {\n      // mine\n      \"command\": \"/old/todo-mcp\", // old\n      \"url\": \"http://x\",\n      \"env\": {\"A\": \"b\"},\n      \"enabled\": true,\n      \"timeout\": 300\n    },\n    \"z\": {}\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"todo\": {\n      // mine\n      \"command\": \"todo-mcp\", // old\n      \"env\": {\"A\": \"b\"},\n      \"enabled\": true,\n      \"timeout\": 300,\n      \"args\": [\"stdio\", \"--panel\"]\n    },\n    \"z\": {}\n  }\n}\n", true},
		{"numbers that a float cannot hold", document.JSON, "{\n  \"id\": 12345678901234567890123\n}\n", "{\n  \"id\": 12345678901234567890123,\n  \"mcpServers\": {\n    \"todo\": " + entry + "\n  }\n}\n", false},

		{"nothing", document.TOML, "", table, false},
		{"other settings", document.TOML, "# mine\nmodel = \"x\" # best\n", "# mine\nmodel = \"x\" # best\n\n" + table, false},
		{"other tables", document.TOML, "[mcp_servers.a]\ncommand = 'a'\n[mcp_servers.a.env]\nT = \"secret\"\n\n[[b]]\nc = [\n  1, # one\n]\n\n\n",
			"[mcp_servers.a]\ncommand = 'a'\n[mcp_servers.a.env]\nT = \"secret\"\n\n[[b]]\nc = [\n  1, # one\n]\n\n\n\n" + table, false},
		{"a last line that does not end", document.TOML, "a = 1", "a = 1\n\n" + strings.TrimSuffix(table, "\n"), false},
		{"lines of Windows and a byte order mark", document.TOML, "\ufeffa = 1\r\n", "\ufeffa = 1\r\n\r\n" + windows(table), false},
		{"a table that differs", document.TOML, "[mcp_servers.todo]\n# mine\ncommand   = '/old' # old\nurl = \"http://x\"\nenabled = true\n\n[mcp_servers.todo.env]\nA = \"b\"\n\n[z]\n",
			"[mcp_servers.todo]\n# mine\ncommand = \"todo-mcp\" # old\nenabled = true\nargs = [\"stdio\", \"--panel\"]\ntimeout = 300\n\n[mcp_servers.todo.env]\nA = \"b\"\n\n[z]\n", true},
		{"a table at the end", document.TOML, "[mcp_servers.todo]", strings.TrimSuffix(table, "\n"), true},

		{"nothing", document.YAML, "", "extensions:\n" + mapping, false},
		{"comments alone", document.YAML, "# mine\n", "# mine\nextensions:\n" + mapping, false},
		{"no mapping of extensions", document.YAML, "MODEL: x # best\n\n# end\n", "MODEL: x # best\n\n# end\nextensions:\n" + mapping, false},
		{"an empty mapping", document.YAML, "extensions: {}\nz: 1\n", "extensions:\n" + mapping + "z: 1\n", true},
		{"an empty value", document.YAML, "extensions: # none\nz: 1\n", "extensions: # none\n" + mapping + "z: 1\n", false},
		{"another extension", document.YAML, "extensions:\n  a:\n    envs: {T: secret}\n    text: |\n      # no comment\n\n  # about b\n  b: {}\n  # last\n\n# about z\nz: 1\n",
			"extensions:\n  a:\n    envs: {T: secret}\n    text: |\n      # no comment\n\n  # about b\n  b: {}\n  # last\n" + mapping + "\n# about z\nz: 1\n", false},
		{"four spaces", document.YAML, "extensions:\n    a:\n        b: 1\n", "extensions:\n    a:\n        b: 1\n" + strings.ReplaceAll(mapping, "  ", "    "), false},
		{"a last line that does not end", document.YAML, "extensions:\n  a: 1", "extensions:\n  a: 1\n" + strings.TrimSuffix(mapping, "\n"), false},
		{"lines of Windows and a byte order mark", document.YAML, "\ufeffa: 1\r\n", "\ufeffa: 1\r\nextensions:\r\n" + windows(mapping), false},
		{"a mapping that differs", document.YAML, "extensions:\n  todo:\n    # mine\n    command: /old # old\n    url: http://x\n    envs:\n      A: b\n    enabled: true\n    timeout: 300\n  z: {}\n",
			"extensions:\n  todo:\n    # mine\n    command: todo-mcp # old\n    envs:\n      A: b\n    enabled: true\n    timeout: 300\n    args: [\"stdio\", \"--panel\"]\n  z: {}\n", true},
		{"one document with its mark", document.YAML, "---\na: 1\n", "---\na: 1\nextensions:\n" + mapping, false},
	}
}

// Setting an object changes nothing else, twice is as once, and removing it takes it
// away again.
func TestSetAndRemove(t *testing.T) {
	for _, c := range cases() {
		t.Run(string(c.format)+"/"+c.name, func(t *testing.T) {
			got, err := c.format.Set([]byte(c.before), path(c.format), fields())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.after, string(got)); diff != "" {
				t.Errorf("after setting (-want +got):\n%s\n%s", diff, got)
			}
			again, err := c.format.Set(got, path(c.format), fields())
			if err != nil || string(again) != string(got) {
				t.Errorf("setting twice (%v) gives\n%s", err, again)
			}
			back, err := c.format.Remove(got, path(c.format))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.before, string(back)); diff != "" && !c.notBack {
				t.Errorf("after removing (-want +got):\n%s", diff)
			}
			if o, err := c.format.Object(back, path(c.format)...); o != nil || err != nil {
				t.Errorf("after removing there is %v (%v) in\n%s", o, err, back)
			}
		})
	}
}

// itemCases are documents before and after the item at a position of the array Stop is
// given a command, and then a hook in it. Where back is empty, removing it makes it as
// it was before.
func itemCases() []struct {
	before, after string
	at            int
	back          string
} {
	const item = `{
        "command": "x",
        "hooks": [
          {
            "timeout": 5
          }
        ]
      }`
	deeper := func(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }
	return []struct {
		before, after string
		at            int
		back          string
	}{
		{"", "{\n  \"hooks\": {\n    \"Stop\": [\n      " + item + "\n    ]\n  }\n}\n", 0, "{\n  \"hooks\": {}\n}\n"},
		{"{\n  \"a\": 1\n}", "{\n  \"a\": 1,\n  \"hooks\": {\n    \"Stop\": [\n      " + item + "\n    ]\n  }\n}", 0, ""},
		{"{\n  \"hooks\": {\n    \"Stop\": []\n  },\n  \"z\": 1\n}", "{\n  \"hooks\": {\n    \"Stop\": [\n      " + item + "\n    ]\n  },\n  \"z\": 1\n}", 0, "{\n  \"z\": 1\n}"},
		{"{\n  \"hooks\": {\n    \"Stop\": null, \"A\": []\n  }\n}", "{\n  \"hooks\": {\n    \"Stop\": [\n      " + item + "\n    ], \"A\": []\n  }\n}", 0, "{\n  \"hooks\": {\n    \"A\": []\n  }\n}"},
		{`{"hooks":{"Stop":[{"command":"y"}]}}`, `{"hooks":{"Stop":[{"command":"y"},{"command":"x","hooks":[{"timeout":5}]}]}}`, 1, ""},
		{
			"{\n  \"hooks\": {\n    \"Stop\": [{\"command\": \"y\"}]\n  }\n}",
			"{\n  \"hooks\": {\n    \"Stop\": [{\"command\": \"y\"}, {\"command\": \"x\", \"hooks\": [{\"timeout\": 5}]}]\n  }\n}", 1, "",
		},
		{
			"{\n  \"hooks\": {\n    \"Stop\": [\n      // mine\n      {\"command\": \"y\"}, // behind it\n      1,\n      // at the end\n    ],\n  }, // z\n}",
			"{\n  \"hooks\": {\n    \"Stop\": [\n      // mine\n      {\"command\": \"y\"}, // behind it\n      1,\n      // at the end\n      " + item + ",\n    ],\n  }, // z\n}", 2, "",
		},
		{
			"{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"command\": \"old\", // old\n        \"own\": 1\n      } /* z */\n    ]\n  }\n}",
			"{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"command\": \"x\", // old\n        \"own\": 1,\n        \"hooks\": [\n          {\n            \"timeout\": 5\n          }\n        ]\n      } /* z */\n    ]\n  }\n}", 0,
			"{\n  \"hooks\": {\n    \"Stop\": [ /* z */\n    ]\n  }\n}",
		},
		{
			"{\n    \"hooks\": {\n        \"Stop\": [\n            {\"command\": \"y\"},\n            {}\n        ]\n    }\n}",
			"{\n    \"hooks\": {\n        \"Stop\": [\n            {\"command\": \"y\"},\n            {}," +
				strings.ReplaceAll("\n      "+item, "  ", "    ") + "\n        ]\n    }\n}", 2, "",
		},
		{"{\r\n  \"hooks\": {\r\n    \"Stop\": [\r\n      1\r\n    ]\r\n  }\r\n}", strings.ReplaceAll("{\n  \"hooks\": {\n    \"Stop\": [\n      1,\n      "+item+"\n    ]\n  }\n}", "\n", "\r\n"), 1, ""},
		{"{\n  \"z\": {\n  },\n  \"hooks\": {\n\n      \"Stop\": [\n        1 ]\n  }\n}", "{\n  \"z\": {\n  },\n  \"hooks\": {\n\n      \"Stop\": [\n        1,\n        " + deeper(item) + "\n      ]\n  }\n}", 1, "{\n  \"z\": {\n  },\n  \"hooks\": {\n\n      \"Stop\": [\n        1\n      ]\n  }\n}"},
	}
}

// Setting an item of an array, and an item of an array in it, changes nothing else,
// twice is as once, and removing it takes it away again.
func TestItems(t *testing.T) {
	for _, c := range itemCases() {
		item := document.Path{"hooks", "Stop", c.at}
		text := []byte(c.before)
		for range 2 {
			var err error
			if text, err = document.JSON.Set(text, item, []document.Field{{"command", "x"}}); err != nil {
				t.Fatalf("%v in %s", err, c.before)
			}
			if text, err = document.JSON.Set(text, append(item, "hooks", 0), []document.Field{{"timeout", 5}}); err != nil {
				t.Fatalf("%v in %s", err, c.before)
			}
			if diff := cmp.Diff(c.after, string(text)); diff != "" {
				t.Errorf("after setting (-want +got):\n%s\n%s", diff, text)
			}
		}
		want := c.back
		if want == "" {
			want = c.before
		}
		text, err := document.JSON.Remove(text, item)
		if err != nil || string(text) != want {
			t.Errorf("after removing (%v) it is\n%s\nwant\n%s", err, text, want)
		}
	}
}

// What leads to an object is made with it, also items of arrays.
func TestSetInNewItems(t *testing.T) {
	for before, after := range map[string]string{
		`{"z":1}`:                   `{"z":1,"hooks":{"Stop":[{"hooks":[{"timeout":5}]}]}}`,
		`{"hooks":{"Stop":[{}]}}`:   `{"hooks":{"Stop":[{"hooks":[{"timeout":5}]}]}}`,
		`{"hooks":{"Stop":[null]}}`: `{"hooks":{"Stop":[{"hooks":[{"timeout":5}]}]}}`,
	} {
		got, err := document.JSON.Set([]byte(before), document.Path{"hooks", "Stop", 0, "hooks", 0}, []document.Field{{"timeout", 5}})
		if err != nil || string(got) != after {
			t.Errorf("%s becomes (%v) %s", before, err, got)
		}
	}
}

// An item goes by itself: what holds it stays if it is an item, too, and the others
// keep their order.
func TestRemoveItem(t *testing.T) {
	for _, c := range []struct {
		before, after string
		path          document.Path
	}{
		{`{"a": [{"b": [{}]}, {"c": 1}]}`, `{"a": [{}, {"c": 1}]}`, document.Path{"a", 0, "b", 0}},
		{`{"a": [{"b": [{"x": 1}, {"x": 2}, {"x": 3}]}]}`, `{"a": [{"b": [{"x": 1}, {"x": 3}]}]}`, document.Path{"a", 0, "b", 1}},
		{"{\"a\": [\n  {\"x\": 1}, // one\n  // two\n  {\"x\": 2}, // 2\n  {\"x\": 3},\n]}", "{\"a\": [\n  {\"x\": 1}, // one\n  // two\n // 2\n  {\"x\": 3},\n]}", document.Path{"a", 1}},
		{`{"a": [{"x": 1}, {"x": 2}], "b": 1}`, `{"a": [{"x": 1}], "b": 1}`, document.Path{"a", 1}},
		{`{"a": [{"x": 1}], "b": 1}`, `{"b": 1}`, document.Path{"a", 0}},
		{`{"a": [{"x": 1}, null]}`, `{"a": [null]}`, document.Path{"a", 0}},
		{`{"a": [{"x": 1}, {"x": 1}]}`, `{"a": [{"x": 1}]}`, document.Path{"a", 0}},
		{`{"a": [{}]}`, `{"a": [{}]}`, document.Path{"a", 1}},
		{`{"a": [{}]}`, `{"a": [{}]}`, document.Path{"b", 0}},
	} {
		got, err := document.JSON.Remove([]byte(c.before), c.path)
		if err != nil || string(got) != c.after {
			t.Errorf("%s\nbecomes (%v)\n%s\nwant\n%s", c.before, err, got, c.after)
		}
	}
}

// BAD-INPUT 94: an array where an object should be and the other way round, a position
// far behind the last item, and a position in another format are refused.
func TestRefusedItems(t *testing.T) {
	for _, c := range []struct {
		format document.Format
		data   string
		path   document.Path
		text   string
	}{
		{document.JSON, `{"hooks": "sk-secret"}`, document.Path{"hooks", "Stop", 0}, "hooks is not an object"},
		{document.JSON, `{"hooks": []}`, document.Path{"hooks", "Stop", 0}, "hooks is not an object"},
		{document.JSON, `{"hooks": {"Stop": {}}}`, document.Path{"hooks", "Stop", 0}, "hooks.Stop is not an array"},
		{document.JSON, `{"hooks": {"Stop": ["sk-secret"]}}`, document.Path{"hooks", "Stop", 0}, "hooks.Stop[0] is not an object"},
		{document.JSON, `{"hooks": {"Stop": [{"hooks": 1}]}}`, document.Path{"hooks", "Stop", 0, "hooks", 0}, "hooks.Stop[0].hooks is not an array"},
		{document.JSON, `{"hooks": {"Stop": []}}`, document.Path{"hooks", "Stop", 1}, "edited safely"},
		{document.TOML, "", document.Path{"hooks", 0}, "edited safely"},
		{document.TOML, "[[hooks]]\na = 1\n", document.Path{"hooks", 0}, "edited safely"},
		{document.YAML, "hooks:\n- a: 1\n", document.Path{"hooks", 0}, "edited safely"},
	} {
		set, err := c.format.Set([]byte(c.data), c.path, fields())
		if err == nil || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %s; it becomes\n%s", c.data, err, c.text, set)
		}
	}
}

// What is between and around is kept when an object is removed.
func TestRemove(t *testing.T) {
	for _, c := range []struct {
		format        document.Format
		before, after string
	}{
		{document.JSON, `{"mcpServers":{"todo":{},"b":{}}}`, `{"mcpServers":{"b":{}}}`},
		{document.JSON, `{"mcpServers":{"a":{}, "todo":{}, "b":{}}}`, `{"mcpServers":{"a":{}, "b":{}}}`},
		{document.JSON, "{\n  \"mcpServers\": {\n    \"a\": {}, // a\n    // todo\n    \"todo\": {},\n    // b\n    \"b\": {}\n  }\n}", "{\n  \"mcpServers\": {\n    \"a\": {}, // a\n    // todo\n    // b\n    \"b\": {}\n  }\n}"},
		{document.JSON, "{\n  \"mcpServers\": {\n    \"todo\": {}, // todo\n    \"b\": {},\n  }\n}", "{\n  \"mcpServers\": { // todo\n    \"b\": {},\n  }\n}"},
		{document.JSON, "{\n  \"mcpServers\": {\n    // todo\n    \"todo\": {}\n  }\n}", "{\n  \"mcpServers\": {\n    // todo\n  }\n}"},
		{document.JSON, "{\n  \"mcpServers\": { /* todo */ \"todo\": {} }\n}", "{\n  \"mcpServers\": { /* todo */\n }\n}"},
		{document.JSON, `{"mcpServers":{"todo":{}}}`, `{"mcpServers":{}}`},
		{document.JSON, `{"a":1,"mcpServers":{"todo":{}}}`, `{"a":1}`},
		{document.JSON, "{\n  \"a\": 1 /* one */ , \"mcpServers\": {\"todo\": {}}\n}", "{\n  \"a\": 1 /* one */ \n}"},
		{document.TOML, "[mcp_servers]\na.command = \"a\"\ntodo.command = \"t\" # t\ntodo.args = []\n", "[mcp_servers]\na.command = \"a\"\n"},
		{document.TOML, "[mcp_servers.todo]\na = 1\n\n[b]\n\n[mcp_servers.todo.env]\nc = 1\n[d]\n", "\n[b]\n\n[d]\n"},
		{document.TOML, "[mcp_servers]\ntodo = { command = \"t\" }\n", "[mcp_servers]\n"},
		{document.YAML, "extensions:\n  todo: {cmd: x}\n", ""},
		{document.YAML, "extensions:\n  # todo\n  todo:\n    cmd: x\n  # b\n  b: 1", "extensions:\n  # todo\n  # b\n  b: 1"},
		{document.YAML, "extensions:\n  # todo\n  todo:\n    cmd: x\nz: 1\n", "extensions:\n  # todo\nz: 1\n"},
		{document.YAML, "a: 1\nextensions:\n  todo:\n    cmd: x", "a: 1"},
	} {
		got, err := c.format.Remove([]byte(c.before), path(c.format))
		if err != nil || string(got) != c.after {
			t.Errorf("%s\nbecomes (%v)\n%s\nwant\n%s", c.before, err, got, c.after)
		}
	}
}

// BAD-INPUT 94: a document that is broken, or that an edit would break, is refused with
// the place, and without a value that it holds.
func TestRefused(t *testing.T) {
	deep := strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	for _, c := range []struct {
		format       document.Format
		data         string
		line, column int
		text         string
	}{
		{document.JSON, "{\n  \"a\": sk-secret\n}", 2, 8, "invalid literal"},
		{document.JSON, "{\n  \"a\": \"sk-secret\\q\"\n}", 2, 8, "invalid literal"},
		{document.JSON, `{"a": 1`, 1, 8, "unexpected EOF"},
		{document.JSON, "{\"a\": 1}\n}", 2, 1, "after top-level value"},
		{document.JSON, " [1]", 1, 2, "not a JSON object"},
		{document.JSON, "// a comment alone", 1, 19, "not JSON"},
		{document.JSON, `{"a": ` + deep + `}`, 1, 1006, "more than 1000 levels"},
		{document.JSON, strings.Repeat("[", 10<<20), 1, 1001, "more than 1000 levels"},
		{document.JSON, "{\"a\": \"\xff\"}", 1, 8, "not UTF-8"},
		{document.JSON, "\xff\xfe{\x00}\x00", 1, 1, "not UTF-8"},
		{document.JSON, `{"mcpServers": []}`, 0, 0, "mcpServers is not an object"},
		{document.JSON, `{"mcpServers": {"todo": "sk-secret"}}`, 0, 0, "mcpServers.todo is not an object"},
		{document.JSON, "{\"mcpServers\": {},\n\"mcpServers\": {}}", 2, 1, "there twice"},
		{document.JSON, "{\"mcpServers\": {\"todo\": {}, \"todo\": {}}}", 1, 29, "there twice"},
		{document.TOML, "a = sk-secret", 1, 5, "unexpected character"},
		{document.TOML, "a = 1\na = 2", 2, 1, "already defined"},
		{document.TOML, "a = " + deep + deep, 1, 4005, "not TOML"},
		{document.TOML, "mcp_servers = {}", 0, 0, "edited safely"},
		{document.TOML, "mcp_servers = 1", 0, 0, "mcp_servers is not an object"},
		{document.TOML, "[mcp_servers]\ntodo = { command = \"a\" }", 0, 0, "edited safely"},
		{document.TOML, "[mcp_servers]\ntodo.command = \"a\"", 0, 0, "edited safely"},
		{document.YAML, "a: b: sk-secret", 1, 5, "mapping values are not allowed"},
		{document.YAML, "a: !!int sk-secret", 0, 0, "not YAML"},
		{document.YAML, "- a", 0, 0, "not a YAML mapping"},
		{document.YAML, "1: a", 0, 0, "not a YAML mapping"},
		{document.YAML, "a: 1\n---\nb: 1", 0, 0, "more than one YAML document"},
		{document.YAML, "a: 1\n...\n", 0, 0, "edited safely"},
		{document.YAML, "{a: 1}", 0, 0, "edited safely"},
		{document.YAML, "extensions: {a: {}}", 0, 0, "edited safely"},
		{document.YAML, "extensions: null", 0, 0, "edited safely"},
		{document.YAML, "b: &b\n  c: {}\nextensions: *b", 0, 0, "edited safely"},
		{document.YAML, "extensions:\n  todo: {command: a}", 0, 0, "edited safely"},
		{document.YAML, "a: |+\n  text\n\n", 0, 0, "edited safely"},
	} {
		got, err := c.format.Set([]byte(c.data), path(c.format), fields())
		if err == nil {
			t.Errorf("%.60q becomes\n%.200s", c.data, got)
			continue
		}
		var at document.Error
		if e := (*document.Error)(nil); errors.As(err, &e) {
			at = *e
		}
		if at.Line != c.line || at.Column != c.column || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.60q: %d:%d: %v, want %d:%d: %s", c.data, at.Line, at.Column, err, c.line, c.column, c.text)
		}
	}
}

// What is no number equals nothing, not even itself, and yet stays as it was.
func TestNaNStays(t *testing.T) {
	path, fields := document.Path{"servers", "todo"}, []document.Field{{Key: "command", Value: "todo-mcp"}}
	for format, data := range map[document.Format]string{
		document.TOML: "a = nan\nb = [1.5, {c = -nan}]\n\n[[d]]\ne = nan\n\n[servers.todo]\nx = nan\n",
		document.YAML: "a: .nan\nb: [1.5, {c: .NaN}]\nservers:\n  todo:\n    x: .nan\n",
	} {
		set, err := format.Set([]byte(data), path, fields)
		if err != nil || !strings.Contains(string(set), "todo-mcp") {
			t.Errorf("%s becomes %s (%v)", data, set, err)
		}
		if without, err := format.Remove(set, path); err != nil || strings.Contains(string(without), "todo") || !strings.Contains(string(without), "1.5") {
			t.Errorf("%s is afterwards %s (%v)", set, without, err)
		}
	}
}
