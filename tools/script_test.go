package tools_test

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
	"github.com/todo-mcp/todo-mcp/tools"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata")

// TestScripts plays the conversations in testdata ([chattest.Scene]). Each begins with the rules of
// docs/spec/variants.md that it checks. A scene's settings are flags of the command line. Commands:
//
//	TOOL ARGUMENTS  calls a tool; with op=ID before ARGUMENTS, as that operation
//	person EDIT     edits the list as the panel does
//	structured      the structured content of the last answer
//	items           the stored list
//	title           the list's title
//
// Arguments of TodoWrite may be "50 steps", or a short plan such as "p:Text c:Text", in which "|" begins a reason.
func TestScripts(t *testing.T) {
	chattest.Scenes(t, "testdata/*.txtar", *update, func(t *testing.T, scene chattest.Scene) {
		s := newSession(t, func(o *tools.Options) {
			o.MaxItems, _ = strconv.Atoi(cmp.Or(scene.Setting("max-items"), strconv.Itoa(o.MaxItems)))
			o.MaxContentLength, _ = strconv.Atoi(cmp.Or(scene.Setting("max-content-length"), strconv.Itoa(o.MaxContentLength)))
			o.InProgress = cmp.Or(tools.Policy(scene.Setting("in-progress")), o.InProgress)
			o.ItemIDs = o.ItemIDs || scene.Setting("item-ids") == "true"
			o.Statuses = cmp.Or(tools.Statuses(scene.Setting("statuses")), o.Statuses)
			o.Texts = textsIn(t, cmp.Or(scene.Setting("lang"), "en"))
		})
		scene.Play(t, nil, func(command string, _ bool) (string, error) { return s.run(command), nil })
	})
}

func textsIn(t testing.TB, language string) *prompts.Texts {
	t.Helper()
	return checktest.Must(prompts.New("", language))(t)
}

type session struct {
	t       testing.TB
	board   *board.Board
	tools   []*tools.Tool
	outputs map[string]*jsonschema.Resolved
	last    tools.Result
}

func newSession(t testing.TB, edit func(*tools.Options)) *session {
	t.Helper()
	store := storetest.NewMemory()
	b := board.NewBoard(store)
	t.Cleanup(func() { b.Close(); store.Close() })
	s := &session{t: t, board: b, tools: newTools(t, edit), outputs: map[string]*jsonschema.Resolved{}}
	for _, tool := range s.tools {
		s.outputs[tool.Name] = compile(t, tools.OutputSchema())
	}
	return s
}

func (s *session) run(command string) string {
	s.t.Helper()
	name, args, _ := strings.Cut(command, " ")
	switch name {
	case "person":
		var e todo.Edit
		checktest.Check(s.t, json.Unmarshal([]byte(args), &e))
		checktest.Must(s.board.As("").Edit(context.Background(), s.list().List.ID, e, todo.Writer{Client: "panel"}))(s.t)
		return ""
	case "structured":
		raw := checktest.Must(json.Marshal(s.last.Structured))(s.t)
		return strings.ReplaceAll(string(raw), strconv.Quote(s.list().List.ID), `"ID"`)
	case "items":
		return s.items()
	case "title":
		return s.list().Title()
	}
	operation := ""
	if rest, ok := strings.CutPrefix(args, "op="); ok {
		operation, args, _ = strings.Cut(rest, " ")
	}
	s.last = s.call(name, arguments(args), operation)
	return s.last.Text
}

func (s *session) items() string {
	l := s.list()
	lines := []string{fmt.Sprint("revision ", l.Revision)}
	for _, i := range l.Items {
		line := fmt.Sprintf("#%s [%s] %s", i.ID, i.Status, i.Text)
		if i.Reason != "" {
			line += fmt.Sprintf(" (%s)", i.Reason)
		}
		if i.Priority+i.DueDate != "" {
			line += fmt.Sprintf(" (%s,%s)", i.Priority, i.DueDate)
		}
		if i.Overridden() {
			line += " overridden"
		}
		lines = append(lines, line)
	}
	if l.OrderOverridden() {
		lines = append(lines, "order overridden")
	}
	return strings.Join(lines, "\n")
}

func arguments(args string) string {
	var n int
	switch {
	case strings.HasSuffix(args, " steps"):
		fmt.Sscanf(args, "%d steps", &n)
		plan := ""
		for i := range n {
			plan += fmt.Sprintf(" p:Step %d", i+1)
		}
		return todos(plan)
	case regexp.MustCompile(`^[a-z]:`).MatchString(args):
		return todos(args)
	}
	return args
}

// todos returns the arguments of TodoWrite for a short plan ([chattest.ParsePlan]), in which "|" begins a reason.
func todos(plan string) string {
	items := []string{}
	for _, i := range chattest.ParsePlan(plan) {
		text, reason, hasReason := strings.Cut(i.Text, "|")
		item := fmt.Sprintf(`{"content":%q,"activeForm":%q,"status":%q`, text, "Doing "+text, i.Status)
		if hasReason {
			item += fmt.Sprintf(`,"reason":%q`, reason)
		}
		items = append(items, item+"}")
	}
	return `{"todos":[` + strings.Join(items, ",") + `]}`
}

// call calls a tool and checks that structured content conforms to the output schema. The text of a failed call must
// begin with "Error" in its language, and the call must change nothing.
func (s *session) call(name, args, operation string) tools.Result {
	s.t.Helper()
	before := s.list()
	result := s.answer(tools.Find(s.tools, name), args, operation)
	if result.Structured != nil {
		raw := checktest.Must(json.Marshal(result.Structured))(s.t)
		var doc any
		checktest.Check(s.t, json.Unmarshal(raw, &doc))
		if err := s.outputs[name].Validate(doc); err != nil {
			s.t.Errorf("V3: %s: structured content does not conform: %v\n%s", name, err, raw)
		}
		s.checkText(name, result, raw)
	}
	if result.IsError != regexp.MustCompile(`^(Error|错误|Lỗi)`).MatchString(result.Text) {
		s.t.Errorf("V3: isError is %v: %s", result.IsError, result.Text)
	}
	if result.IsError && s.list().Revision != before.Revision {
		s.t.Errorf("V3: a failed call changed the list: %s", result.Text)
	}
	return result
}

// noChange matches the words, in every language, by which an answer says that a write changed nothing (V4).
var noChange = regexp.MustCompile(`(?m)[ \n]\((no change|无变化|không thay đổi)\)$`)

// checkText checks that the text, List and Display of a result together have all of its structured content, which some
// clients do not get (V3, K3). raw is the structured content as JSON.
func (s *session) checkText(name string, result tools.Result, raw []byte) {
	s.t.Helper()
	var c struct {
		Message, Output, List string
		Revision              int64
		Counts, Display       json.RawMessage
	}
	checktest.Check(s.t, json.Unmarshal(raw, &c))
	for line := range strings.SplitSeq(c.Message, "\n") {
		if line = noChange.ReplaceAllString(line, ""); c.Output == "" && !strings.Contains(result.Text, line) {
			s.t.Errorf("V3: %s: the text lacks %q:\n%s", name, line, result.Text)
		}
	}
	if noChange.MatchString(c.Message) != noChange.MatchString(result.Text) {
		s.t.Errorf("V4: %s: text and message differ:\n%s\n%s", name, result.Text, c.Message)
	}
	if !strings.Contains(result.Text, c.Output) {
		s.t.Errorf("K3: %s: the text lacks the output %q:\n%s", name, c.Output, result.Text)
	}
	list, display := "null", string(c.Display)
	if c.List != "" {
		list = fmt.Sprintf(`{"id":%q,"revision":%d,"counts":%s,%s}`, c.List, c.Revision, c.Counts, s.about(c.List, c.Revision))
	}
	if result.IsError {
		display = "null"
	}
	for got, want := range map[any]string{result.List: list, &result.Display: display} {
		if got, err := json.Marshal(got); err != nil || string(got) != want {
			s.t.Errorf("V3: %s: %s, want %s", name, got, want)
		}
	}
}

func (s *session) about(list string, revision int64) string {
	s.t.Helper()
	l := checktest.Must(s.board.As("").Load(context.Background(), list, revision))(s.t)
	title := checktest.Must(json.Marshal(l.Title()))(s.t)
	text := `"title":` + string(title)
	if item, ok := l.Current(); ok {
		text += fmt.Sprintf(`,"current":%q,"started":%q`, item.ID, item.Started.Format(time.RFC3339Nano))
	}
	return text
}

func who() board.Conversation { return board.Conversation{Key: "test"} }

func (s *session) answer(tool *tools.Tool, args, operation string) tools.Result {
	s.t.Helper()
	call, err := tool.Read([]byte(args))
	var out board.Outcome
	switch {
	case err != nil:
	case call.Change == nil:
		out.After = s.list()
	default:
		w := board.Write{Target: call.Target, Writer: todo.Writer{Variant: tool.Name}, Change: call.Change, Title: call.Title}
		w.Conversation = who()
		if operation != "" {
			w.Operation = todo.Operation{ID: operation, Digest: tool.Name + args}
		}
		out, err = s.board.As("").Apply(context.Background(), w)
	}
	if err == nil {
		return tool.Result(call, out)
	}
	result, ok := tool.Failure(err)
	if !ok {
		s.t.Fatalf("%s: %v", tool.Name, err)
	}
	return result
}

func (s *session) list() todo.Snapshot {
	snapshot, err := s.board.As("").Current(context.Background(), board.Target{Conversation: who()})
	if err != nil {
		return todo.Snapshot{}
	}
	return snapshot
}
