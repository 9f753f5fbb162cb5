package tools_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
	"github.com/todo-mcp/todo-mcp/tools"
)

// P3: every tool refuses in the language that is set, also what the board refuses. (What
// answers say else: testdata/languages.txtar.)
func TestRefusalsInEveryLanguage(t *testing.T) {
	said := func(err error) error {
		return &todo.InputError{Problems: []todo.Problem{{Message: err.Error(), Err: err}}}
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

// P3, K4: every language has every guidance text, of a host's tool perhaps the English one,
// with the names that a model sends and the marks that are filled in, within the length that
// descriptions may have.
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

// T7: of more than 50 problems the first are said, and how many more.
func TestManyProblemsAreCounted(t *testing.T) {
	s := newSession(t, func(o *tools.Options) { o.Texts = textsIn(t, "vi") })
	for call, want := range map[string]string{
		`SetTodoList {"todos":[$({},*24){}]}`: "- todos[24].status: Bắt buộc", `SetTodoList {"todos":[$({},*999){}]}`: "- và 1950 mục nữa",
		`create_todos {"items":[$(" ",*49)7]}`: "Chưa tạo gì.", `create_todos {"items":[$(" ",*50)7]}`: "và 1 mục nữa",
	} {
		got := s.run(expand(call))
		if lines := strings.Split(got, "\n"); len(lines) > 52 || !strings.HasSuffix(lines[len(lines)-1], want) {
			t.Errorf("%s: %d lines, the last is %q", call, len(lines), lines[len(lines)-1])
		}
	}
}

// What a model may send to our tools in other shapes, it may send to a host's as well
// (V5); what the host refused changes nothing.
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
	} {
		b, _ := tools.FindBuiltIn("", c.tool)
		call, err := b.Read(json.RawMessage(c.input), json.RawMessage(c.response))
		got := "no call"
		if call != nil {
			draft := todo.NewDraft(todo.Snapshot{}, time.Now())
			err = call.Change(draft)
			got = ""
			for _, i := range draft.Items() {
				got += i.Text
			}
		}
		if err != nil || got != c.want {
			t.Errorf("%s %s %s: %q, %v", c.tool, c.input, c.response, got, err)
		}
	}
	for _, c := range []struct{ tool, input, response string }{
		{"TodoWrite", `{"todos":null}`, ``}, {"TodoWrite", `{`, ``}, {"TodoWrite", ``, ``}, {"TaskCreate", `{"subject":"A"}`, `{}`},
		{"TaskCreate", `{}`, `{"task":{"id":"1"}}`}, {"TaskUpdate", `{}`, `{"success":true}`}, {"TaskUpdate", `{"taskId":"1","addBlocks":["x"]}`, ``},
		{"TaskList", `{}`, `{"tasks":[` + strings.Repeat(`{"id":"1"},`, todo.MaxItems) + `{"id":"1"}]}`},
	} {
		b, _ := tools.FindBuiltIn("", c.tool)
		if _, err := b.Read(json.RawMessage(c.input), json.RawMessage(c.response)); err == nil {
			t.Errorf("%s takes %.80s %.80s", c.tool, c.input, c.response)
		}
	}
}
