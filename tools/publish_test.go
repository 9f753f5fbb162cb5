package tools_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/todo-mcp/todo-mcp/prompts"
	"github.com/todo-mcp/todo-mcp/server/servertest"
	"github.com/todo-mcp/todo-mcp/tools"
)

func newTools(t testing.TB, edit func(*tools.Options)) []*tools.Tool {
	t.Helper()
	o := tools.Defaults()
	if edit != nil {
		edit(&o)
	}
	return tools.New(o)
}

func compile(t testing.TB, name string, raw []byte) *jsonschema.Resolved {
	t.Helper()
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	s, err := schema.Resolve(nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

// V1: whatever the settings, every published schema compiles under draft
// 2020-12 and contains nothing that strict clients reject.
func TestSchemas(t *testing.T) {
	all := func(o *tools.Options) { o.Statuses = tools.AllStatuses }
	for _, edit := range []func(*tools.Options){
		nil, all, func(o *tools.Options) { o.ItemIDs = true }, func(o *tools.Options) { all(o); o.ItemIDs = true },
	} {
		for _, tool := range newTools(t, edit) {
			for kind, raw := range map[string]json.RawMessage{"input": tool.InputSchema(), "output": tool.OutputSchema()} {
				compile(t, tool.Name+kind, raw)
				for _, bad := range []string{"$ref", "$defs", "$schema", "$id", ":true", ":{}"} {
					if strings.Contains(strings.Replace(string(raw), `{"properties":{}`, "{", 1), bad) { // without arguments
						t.Errorf("%s %s schema has %s: %s", tool.Name, kind, bad, raw)
					}
				}
				checkObjects(t, tool.Name+" "+kind, raw, kind == "input")
			}
		}
	}
}

// checkObjects checks that every object in a schema is closed and that every
// property has a type, and a description if models read it.
func checkObjects(t *testing.T, where string, raw []byte, isRead bool) {
	t.Helper()
	var s struct {
		Type       any                        `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Additional *bool                      `json:"additionalProperties"`
		Items      json.RawMessage            `json:"items"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	if s.Type == nil {
		t.Errorf("%s has no type: %s", where, raw)
	}
	if s.Type == "object" && (s.Additional == nil || *s.Additional) {
		t.Errorf("%s is not closed: %s", where, raw)
	}
	for name, p := range s.Properties {
		var said struct{ Description string }
		if err := json.Unmarshal(p, &said); err != nil || isRead && said.Description == "" {
			t.Errorf("%s.%s has no description: %s", where, name, p)
		}
		checkObjects(t, where+"."+name, p, isRead)
	}
	if s.Items != nil {
		checkObjects(t, where+"[]", s.Items, isRead)
	}
}

// tokens estimates a number of tokens, in which the budgets are set, as runes / 4.
func tokens(parts ...string) int {
	n := 0
	for _, p := range parts {
		n += len([]rune(p))
	}
	return (n + 3) / 4
}

// The token budget of what a model reads of each tool: its name, description
// and input schema. docs/cost.md shows every change of it in review.
func TestTokenBudget(t *testing.T) {
	families := map[string]int{"TodoWrite write_todos SetTodoList create_todos update_todo": 1500, "TodoWrite": 400, "todo_write": 400,
		"TaskCreate TaskUpdate TaskList TaskGet": 850}
	for _, tool := range newTools(t, nil) {
		n := tokens(tool.Name, tool.Description, string(tool.InputSchema()))
		if !strings.Contains(strings.Join(slices.Collect(maps.Keys(families)), " "), tool.Name) {
			families[tool.Name] = 350
		}
		for family := range families {
			if slices.Contains(strings.Fields(family), tool.Name) {
				families[family] -= n
			}
		}
		if n := len([]rune(tool.Description)); n == 0 || n >= 700 {
			t.Errorf("%s: description has %d characters, 1 to 699 are allowed", tool.Name, n)
		}
	}
	for family, left := range families {
		if left < 0 {
			t.Errorf("%s use %d tokens too many", family, -left)
		}
	}
}

// K4: a file in the user's folder replaces a text, as editors of Windows write it, too
// (BAD-INPUT 162); prompts.New fails on a bad file and names it.
func TestReplacedPrompts(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		servertest.Check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	put("SetTodoList.md", "Mine.\n")
	texts := servertest.Must(prompts.New(dir, "en"))(t)
	list := newTools(t, func(o *tools.Options) { o.Texts = texts })
	if got := tools.Find(list, "SetTodoList").Description; got != "Mine." {
		t.Errorf("description = %q", got)
	}
	servertest.Has(t, "the embedded description", tools.Find(list, "TodoWrite").Description, "todo list")
	for text, want := range map[string]string{
		"Plan {{ goal }}, {{goal}}.": "Plan {{goal}}, {{goal}}.", "Plan it.": "Plan it.",
		"\xef\xbb\xbfMine: é.\r\n": "Mine: é.", "\xff\xfeM\x00i\x00n\x00e\x00:\x00 \x00\xe9\x00.\x00\r\x00\n\x00": "Mine: é.",
	} {
		put("plan.md", text)
		if texts, err := prompts.New(dir, "en"); err != nil || texts.Text("plan") != want {
			t.Errorf("%q, want %q: %v", text, want, err)
		}
	}
	for text, want := range map[string]string{
		"Plan {{Goal}}.": "allowed are: {{goal}}", "{{goal}} {{}}": "allowed are: {{goal}}", "": "plan.md: the file is empty", "\xef\xbb\xbf": "plan.md: the file is empty",
	} {
		put("plan.md", text)
		_, err := prompts.New(dir, "en")
		servertest.Has(t, text, fmt.Sprint(err), want)
	}
	put("plan.md", "Plan it.")
	servertest.Check(t, os.Mkdir(filepath.Join(dir, "TodoWrite.md"), 0o700))
	for folder, want := range map[string]string{dir: "TodoWrite.md", filepath.Join(dir, "none"): "none"} {
		_, err := prompts.New(folder, "en")
		servertest.Has(t, folder, fmt.Sprint(err), want)
	}
}

// Every language has every sentence, with the same formatting verbs in the same order.
func TestWords(t *testing.T) {
	verbs := func(s string) string {
		var out strings.Builder
		for i := range len(s) - 1 {
			if s[i] == '%' {
				out.WriteByte(s[i+1])
			}
		}
		return out.String()
	}
	load := func(lang string) map[string]string {
		w := servertest.Must(prompts.WordsIn(lang))(t)
		data, _ := json.Marshal(w)
		var m map[string]string
		servertest.Check(t, json.Unmarshal(data, &m))
		return m
	}
	want := load("en")
	for _, lang := range prompts.Languages() {
		for key, sentence := range load(lang) {
			if sentence == "" || verbs(sentence) != verbs(want[key]) {
				t.Errorf("%s %s: %q is empty or has other verbs than %q", lang, key, sentence, want[key])
			}
		}
	}
	if _, err := prompts.WordsIn("xx"); err == nil || !strings.Contains(err.Error(), "en, zh, vi") {
		t.Errorf("error = %v, should name the languages", err)
	}
}

// T2, T3: a model knows TodoWrite's own limits before it meets them; the hard caps are not
// said. A text that is longer may have been written by others, so the schema takes it.
func TestLimitsAreListed(t *testing.T) {
	for _, tc := range []struct {
		tool          string
		items, length int
		want, never   string
	}{
		{"TodoWrite", 50, 200, `"maxItems":50,"description":"The whole list, in working order; texts up to 200 characters"`, "maxLength"},
		{"TodoWrite", 7, 0, `"maxItems":7,"description":"The whole list, in working order"`, "at most"},
		{"TodoWrite", 0, 0, `"description":"The whole list, in working order"`, "maxItems"},
		{"write_todos", 50, 200, `"description":"The whole list, in working order"`, "maxItems"},
	} {
		list := newTools(t, func(o *tools.Options) { o.MaxItems, o.MaxContentLength = tc.items, tc.length })
		schema := string(tools.Find(list, tc.tool).InputSchema())
		if !strings.Contains(schema, tc.want) || strings.Contains(schema, tc.never) {
			t.Errorf("%s with limits %d and %d: %s", tc.tool, tc.items, tc.length, schema)
		}
	}
}
