package tools_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
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

func compile(t testing.TB, raw []byte) *jsonschema.Resolved {
	t.Helper()
	var schema jsonschema.Schema
	checktest.Check(t, json.Unmarshal(raw, &schema))
	return checktest.Must(schema.Resolve(nil))(t)
}

// V1: whatever the settings, every published schema compiles under draft
// 2020-12 and contains nothing that strict clients reject.
func TestSchemas(t *testing.T) {
	all := func(o *tools.Options) { o.Statuses = tools.AllStatuses }
	for _, edit := range []func(*tools.Options){
		nil, all, func(o *tools.Options) { o.ItemIDs = true }, func(o *tools.Options) { all(o); o.ItemIDs = true },
	} {
		for _, tool := range newTools(t, edit) {
			for kind, raw := range map[string]json.RawMessage{"input": tool.InputSchema(), "output": tools.OutputSchema()} {
				compile(t, raw)
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

// checkObjects checks that objects in a schema are closed, and that properties have a type and, if models read the
// schema, a description. In a result's schema, an open object may have only integers (counts).
func checkObjects(t *testing.T, where string, raw []byte, isRead bool) {
	t.Helper()
	var s struct {
		Type       any                        `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Additional json.RawMessage            `json:"additionalProperties"`
		Items      json.RawMessage            `json:"items"`
	}
	checktest.Check(t, json.Unmarshal(raw, &s))
	if s.Type == nil {
		t.Errorf("%s has no type: %s", where, raw)
	}
	if closed := string(s.Additional); s.Type == "object" && closed != "false" && (isRead || closed != `{"type":"integer"}`) {
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

// tokens estimates the number of tokens as runes / 4. The budgets are set in these tokens.
func tokens(parts ...string) int {
	n := 0
	for _, p := range parts {
		n += len([]rune(p))
	}
	return (n + 3) / 4
}

// The name, description and input schema of each tool, which models read, stay within its token budget. docs/cost.md
// shows every change of their cost in review.
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

// K4: a file in the user's folder replaces a text, also in an encoding of Windows editors (BAD-INPUT 162). prompts.New
// fails on a bad file and names it.
func TestReplacedPrompts(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		checktest.Check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	put("SetTodoList.md", "Mine.\n")
	texts := checktest.Must(prompts.New(dir, "en"))(t)
	list := newTools(t, func(o *tools.Options) { o.Texts = texts })
	if got := tools.Find(list, "SetTodoList").Description; got != "Mine." {
		t.Errorf("description = %q", got)
	}
	checktest.Has(t, "the embedded description", tools.Find(list, "TodoWrite").Description, "todo list")
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
		checktest.Has(t, text, fmt.Sprint(err), want)
	}
	put("plan.md", "Plan it.")
	checktest.Check(t, os.Mkdir(filepath.Join(dir, "TodoWrite.md"), 0o700))
	for folder, want := range map[string]string{dir: "TodoWrite.md", filepath.Join(dir, "none"): "none"} {
		_, err := prompts.New(folder, "en")
		checktest.Has(t, folder, fmt.Sprint(err), want)
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
		data, _ := json.Marshal(prompts.WordsIn(lang))
		var m map[string]string
		checktest.Check(t, json.Unmarshal(data, &m))
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
}

// T2, T3: a schema states TodoWrite's own limits, but not the hard caps. It has no maxLength, since a model may send
// back a longer text that somebody else wrote.
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

// P3: every tool words its own refusals and the board's in the language that is set. (Other answers:
// testdata/languages.txtar.)
func TestRefusalsInEveryLanguage(t *testing.T) {
	said := func(err error) error {
		return &todo.InputError{Problems: []todo.Problem{{Message: err.Error()}}, Err: err}
	}
	refusals := []error{board.ErrNotFound, &board.FullError{Err: board.ErrTooManyLists}, &board.FullError{Err: board.ErrStoreFull},
		board.ErrOperationReused, todo.ErrMirrored, tools.ErrInvalidJSON, todo.ErrCycle, &todo.TakenError{},
		said(&todo.SizeError{Items: 1001}), said(&todo.SizeError{Size: 1}), said(&todo.UnclearError{Titles: []string{"A", "B"}})}
	refusal := func(tool *tools.Tool, err error) string {
		got, ok := tool.Failure(fmt.Errorf("apply: %w", err))
		if !ok {
			t.Errorf("%s has no words for %v", tool.Name, err)
		}
		return got.Text
	}
	english := newTools(t, nil)
	for _, language := range prompts.Languages()[1:] {
		for _, tool := range newTools(t, func(o *tools.Options) { o.Texts = textsIn(t, language) }) {
			for _, err := range refusals {
				got, inEnglish := refusal(tool, err), refusal(tools.Find(english, tool.Name), err)
				for line := range strings.Lines(inEnglish) {
					if strings.Contains(got, strings.TrimSpace(line)) {
						t.Errorf("%v from %s in %s: %s", err, tool.Name, language, got)
					}
				}
			}
		}
	}
}

// P3, K4: every language has every guidance text (for a host's tool perhaps the English one). Each text has the names
// for models and the placeholders of the English text, in less than 700 characters (TodoWrite.long: any length).
func TestGuidanceInEveryLanguage(t *testing.T) {
	names := func(text string) []string {
		found := regexp.MustCompile(`[A-Za-z]+[-_][a-z_]+|[a-z]+[A-Z]\w*|todo://\w+|\[\]|\{[^\n]*?\}|TodoWrite|\b(todos|merge|owner|next|done|completed|failed|deleted|pending|running)\b`).FindAllString(text, -1)
		slices.Sort(found)
		return slices.Compact(found)
	}
	english, err := filepath.Glob("../prompts/*.md")
	if err != nil || len(english) < 20 {
		t.Fatal(english, err)
	}
	all, own := newTools(t, nil), []string{"TodoWrite", "write_todos", "SetTodoList", "create_todos", "update_todo"}
	for _, language := range prompts.Languages() {
		texts := textsIn(t, language)
		for _, file := range english {
			name := strings.TrimSuffix(filepath.Base(file), ".md")
			got, want := texts.Text(name), prompts.English().Text(name)
			isHosts := tools.Find(all, name) != nil && !slices.Contains(own, name)
			if language != "en" && got == want && !isHosts {
				t.Errorf("%s is not in %s", name, language)
			}
			for _, n := range names(want) {
				if isWord := regexp.MustCompile(`^(done|next|failed|running|completed|TodoWrite|-?[a-z]+-[a-z]+|\{"content.*)$`); !isWord.MatchString(n) && !strings.Contains(got, n) {
					t.Errorf("%s in %s lacks %s", name, language, n)
				}
			}
			if n := len([]rune(got)); n >= 700 && name != "TodoWrite.long" {
				t.Errorf("%s in %s has %d characters", name, language, n)
			}
		}
	}
}

// T7: of more than 50 problems, an answer lists the first 50 and counts the others.
func TestManyProblemsAreCounted(t *testing.T) {
	s := newSession(t, func(o *tools.Options) { o.Texts = textsIn(t, "vi") })
	empty, blank := `SetTodoList {"todos":[%s{}]}`, `create_todos {"items":[%s7]}`
	for call, want := range map[string]string{
		fmt.Sprintf(empty, strings.Repeat("{},", 24)):  "- todos[24].status: Bắt buộc",
		fmt.Sprintf(empty, strings.Repeat("{},", 999)): "- và 1950 mục nữa",
		fmt.Sprintf(blank, strings.Repeat(`" ",`, 49)): "items[49]: Cần string, nhận được number",
		fmt.Sprintf(blank, strings.Repeat(`" ",`, 50)): "và 1 mục nữa",
	} {
		got := s.run(call)
		if lines := strings.Split(got, "\n"); len(lines) > 52 || !strings.HasSuffix(lines[len(lines)-1], want) {
			t.Errorf("%.99s: %d lines, the last is %q", call, len(lines), lines[len(lines)-1])
		}
	}
}

// Calls of a host's own tool may have any shape of arguments that our tools accept (V5). A call that the host refused
// changes nothing.
func TestBuiltInShapes(t *testing.T) {
	for _, c := range []struct{ tool, input, response, want string }{
		{"TodoWrite", `{"todos":"[{\"content\":\"A\",\"status\":\"pending\"}]"}`, ``, "A"},
		{"TodoWrite", `{"todos":{"content":"A","status":"pending","activeForm":null}}`, ``, "A"},
		{"update_plan", `{"explanation":"x","plan":[{"step":"A\nB","status":"pending"}]}`, `"Plan updated"`, "A B"},
		{"TaskCreate", `{"subject":"A"}`, `{"task":{"id":7}}`, "A"},
		{"TaskUpdate", `{"taskId":"7","status":"completed"}`, `{"success":false,"error":"Task not found"}`, "no call"},
		{"TaskUpdate", `{"taskId":"7","subject":"A"}`, `{"success":true}`, "A"},
		{"TaskUpdate", `{"taskId":"7","status":"deleted"}`, `{"success":true}`, ""},
		{"TaskList", `{}`, `{"tasks":[]}`, "no call"},
		{"TaskList", `{}`, `"No tasks"`, "no call"},
		{"TaskList", `{}`, `{"tasks":[{"id":"1","subject":"A","status":"completed"},{"id":"2","subject":"B","status":"pending","blockedBy":["1","3"]}]}`, "B"},
		{"TodoWrite", `{"todos":null}`, ``, "no call"}, {"TodoWrite", `{`, ``, "refused"}, {"TodoWrite", ``, ``, "no call"},
		{"TodoWrite", `{"entries":[]}`, ``, "refused"}, {"TodoWrite", `7`, ``, "refused"},
		{"TaskCreate", `{"subject":"A"}`, `{}`, "refused"}, {"TaskCreate", `{}`, `{"task":{"id":"1"}}`, "refused"},
		{"TaskUpdate", `{}`, `{"success":true}`, "refused"}, {"TaskUpdate", `{"taskId":"1","addBlocks":["x"]}`, ``, "refused"},
		{"TaskList", `{}`, `{"tasks":[` + strings.Repeat(`{"id":"1"},`, todo.MaxItems) + `{"id":"1"}]}`, "refused"},
	} {
		b, _ := tools.FindBuiltIn("", c.tool)
		call, err := b.Read(json.RawMessage(c.input), json.RawMessage(c.response))
		got := "no call"
		if err == nil && call != nil {
			draft := todo.NewDraft(todo.Snapshot{}, time.Now())
			err = call.Change(draft)
			got = ""
			for _, i := range draft.Items() {
				got += i.Text
			}
		}
		if err != nil {
			got = "refused"
		}
		if got != c.want {
			t.Errorf("%s %s %.300s: %q, %v", c.tool, c.input, c.response, got, err)
		}
	}
}
