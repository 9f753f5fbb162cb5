// Package tools implements the todo tools that models call: TodoWrite, write_todos, SetTodoList, create_todos and
// update_todo, and tools like those that hosts have themselves (hosts.go).
//
// A tool is data: a name, a description, structs from which the schemas of its arguments and results are generated, a
// function from arguments to a change of the list, and a function from the outcome to a result. The input schema
// describes the arguments that the tool reads, a refused call reports all its problems at once and changes nothing,
// and structured results conform to the output schema. Comments cite the rules of docs/spec/variants.md by their ids.
package tools

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

const (
	maxProblems = 50  // problems that an answer lists; those of a thousand items would take 30,000 tokens
	maxChanges  = 30  // changes of others that an answer lists
	maxReady    = 5   // ready items that an answer names
	maxSubject  = 80  // characters of a description that replace a missing subject
	maxReminder = 900 // bytes of a reminder, about 250 tokens
	maxReminded = 100 // characters of an item's text in a reminder
)

// Policy says what to do with several items in progress (T4).
type Policy string

const (
	Reject Policy = "reject" // refuse the call and name these items
	Demote Policy = "demote" // keep the last one that the call begins, set the others to pending
	Allow  Policy = "allow"
)

// Statuses says which statuses TodoWrite and write_todos name in their schemas, guidance and results (T10).
type Statuses string

const (
	UsualStatuses Statuses = "usual" // the three that models know
	AllStatuses   Statuses = "all"   // all core statuses, and the reason
)

// Options are the settings of the tools.
type Options struct {
	// MaxItems and MaxContentLength (runes) are TodoWrite's own limits (T2, T3); 0 means that only the hard caps of
	// package todo apply.
	MaxItems         int
	MaxContentLength int
	InProgress       Policy
	ItemIDs          bool // TodoWrite's schema and results have item ids (T5)
	Statuses         Statuses
	Texts            *prompts.Texts // descriptions and the words of answers (P3); nil means the embedded English ones
}

// Defaults returns the default options.
func Defaults() Options {
	return Options{MaxItems: 50, MaxContentLength: 200, InProgress: Reject, Statuses: UsualStatuses}
}

// Tool is one tool, ready to be published and called.
type Tool struct {
	Name, Title string
	File        string // the name of its description in package prompts; empty means Name
	Description string
	Idempotent  bool // repeating a call changes nothing more (V2)
	ReadOnly    bool // it changes no list (V2)
	// InputSchema returns the JSON schema of the arguments, of draft 2020-12.
	InputSchema func() json.RawMessage

	words *prompts.Words // in the language of its answers
	variant
}

// variant is what distinguishes one tool from the others.
type variant struct {
	view   todo.View
	input  any  // the argument struct
	ids    bool // its results have the items' ids
	byList bool // list_id is required
	// bare is the field for an array sent in place of the arguments object; empty if a tool accepts any arguments.
	bare        string
	prune       func(in *jsonschema.Schema) // adapts the schema of the arguments to the options; nil for no change
	allStatuses bool                        // the schema lists all core statuses
	saysOutput  bool                        // results have is_error and output (K3)
	// read returns the call for args, and adds the problems of args to r.
	read func(r *reader, args value) *Call
	// list returns the list s as text.
	list func(w *prompts.Words, s todo.Snapshot) string
}

// Call is a tool call with valid arguments. It is immutable.
type Call struct {
	board.Target             // the list that the arguments name; the caller adds conversation and sub-agent
	Title        string      // one line, used if the list has no title yet; may be empty
	Change       todo.Change // nil for a call that only reads, or has an Edit
	Edit         todo.Edit   // a person's change by the tick tool; zero in other calls
	leftOut      []todo.Item // lines that are not items, in a list sent as text

	// answer returns the answer's text; "" if the call's item is missing. If answer is nil, the list is the answer.
	answer func(o board.Outcome) string
}

// readOnly is the read function of a tool that shows the list whatever its arguments are.
func readOnly(*reader, value) *Call { return &Call{} }

// Result is the answer to a call. The text says all that a model needs to know; the rest is for programs.
type Result struct {
	Text       string
	Structured any // conforms to the output schema; nil for none
	// List is a summary of the list, nil while there is none. Display is the display in Structured, nil for none.
	// Both are for clients that get no Structured (V3).
	List    *ListState
	Display any
	IsError bool
}

// Names returns the names of all tools, in the order they are published.
func Names() (names []string) {
	for _, t := range table(Options{}) {
		names = append(names, t.Name)
	}
	return names
}

// table returns all tools, without their descriptions.
func table(o Options) []*Tool {
	return append([]*Tool{
		{Name: "TodoWrite", Title: "Update todo list", Idempotent: true, variant: todoWrite(o, true)},
		{Name: "write_todos", Title: "Write todos", Idempotent: true, variant: todoWrite(o, false)},
		{Name: "SetTodoList", Title: "Set todo list", Idempotent: true, variant: setTodoList()},
		{Name: "create_todos", Title: "Add plan steps", variant: planTool("items", createTodosInput{}, readCreateTodos)},
		{Name: "update_todo", Title: "Update plan step", Idempotent: true, variant: planTool("id", updateTodoInput{}, readUpdateTodo)},
	}, hostTools(o)...)
}

// New returns all tools, in the order of [Names].
func New(o Options) []*Tool {
	list, texts := table(o), o.Texts
	if texts == nil {
		texts = prompts.English()
	}
	for _, t := range list {
		t.words, t.Description, t.InputSchema = texts.Words, texts.Text(cmp.Or(t.File, t.Name)), sync.OnceValue(t.publish)
		if t.allStatuses {
			t.Description += " " + texts.Text("statuses")
		}
	}
	return list
}

// Find returns the tool with a name; nil when there is none.
func Find(list []*Tool, name string) *Tool {
	if i := slices.IndexFunc(list, func(t *Tool) bool { return t.Name == name }); i >= 0 {
		return list[i]
	}
	return nil
}

// publish generates the input schema when it is first asked for: a client gets only a few of the tools, and generating
// all schemas would take a quarter of the program's start time.
func (t *Tool) publish() json.RawMessage {
	schema := schemaOf(t.input, t.view.Accepts())
	if t.prune != nil {
		t.prune(schema)
	}
	raw, _ := json.Marshal(schema) // a schema is always valid JSON
	return raw
}

// OutputSchema returns the JSON schema of every tool's structured content, of draft 2020-12.
var OutputSchema = sync.OnceValue(func() json.RawMessage {
	raw, _ := json.Marshal(schemaOf(content{}, nil))
	return raw
})

// statusWord is one of a tool's words for statuses.
type statusWord string

// schemaOf generates the JSON schema of a struct, inlined and without $ref, $defs, $schema and $id, which strict
// clients reject (V1). A [statusWord] becomes an enum of words.
func schemaOf(v any, words []string) *jsonschema.Schema {
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true, Mapper: func(t reflect.Type) *jsonschema.Schema {
		if t != reflect.TypeFor[statusWord]() {
			return nil
		}
		s := &jsonschema.Schema{Type: "string"}
		for _, word := range words {
			s.Enum = append(s.Enum, word)
		}
		return s
	}}
	s := r.Reflect(v)
	s.Version = ""
	return s
}

// Read parses and checks a call's arguments, which are raw JSON or empty. Its error can be passed to [Tool.Failure].
func (t *Tool) Read(raw json.RawMessage) (*Call, error) {
	args, err := parse(raw, blank)
	if err != nil {
		return nil, err
	}
	r, call := &reader{words: func() *prompts.Words { return t.words }}, &Call{}
	args, isRead := r.arguments(args, t.bare)
	list := r.id(args.optional("list_id"), "list_id", t.byList)
	if isRead {
		call = t.read(r, args)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	call.List, call.View, call.leftOut = list, t.view, r.leftOut
	return call, nil
}

// Result returns the result for the outcome of a call.
func (t *Tool) Result(c *Call, o board.Outcome) Result {
	if c.answer == nil {
		return t.Listing(o.After)
	}
	text := c.answer(o)
	if text == "" {
		return Result{Text: fmt.Sprintf(t.words.UnknownID, unquotedExcerpt(c.Item)), IsError: true}
	}
	if c.Change != nil {
		text += resultNotes(t.words, c, o, text)
	}
	return t.result(text, content{Message: text}, o.After)
}

// Listing returns a list as the tool shows it to a model, even if the tool has no call that reads.
func (t *Tool) Listing(s todo.Snapshot) Result {
	text := t.list(t.words, s)
	read := content{Message: text}
	if t.saysOutput {
		read.Message, read.Output = t.words.ListRead, &text
	}
	return t.result(text, read, s)
}

// Failure returns the result for an error that a model can act on, from [Tool.Read] or the board. The result's text has
// the problems that are sentences, then the other problems under a heading (T7). ok is false for any other error.
func (t *Tool) Failure(err error) (result Result, ok bool) {
	if errors.Is(err, ErrInvalidJSON) {
		return Result{Text: t.words.InvalidJSON, IsError: true}, true
	}
	var input *todo.InputError
	if p, known := t.refusal(err); known {
		input = &todo.InputError{Problems: []todo.Problem{p}}
	} else if !errors.As(err, &input) {
		return Result{}, false
	}
	var sentences, problems []string
	for _, p := range input.Problems {
		if p.Sentence {
			sentences = append(sentences, p.Message)
		} else {
			problems = append(problems, "- "+p.String())
		}
	}
	if len(problems) > 0 {
		problems = append([]string{t.words.Validation}, problems...)
	}
	result = Result{Text: strings.Join(append(sentences, problems...), "\n"), IsError: true}
	if t.saysOutput {
		result.Structured = content{IsError: &result.IsError, Output: new(string), Message: result.Text, Display: []display{}}
	}
	return result, true
}

// refusal turns an error by which the board refuses a write into a problem; ok is false for any other error.
func (t *Tool) refusal(err error) (p todo.Problem, ok bool) {
	w, kind := t.words, board.KindOf(err)
	var size *todo.SizeError
	var unclear *todo.UnclearError
	var taken *todo.TakenError
	switch {
	case errors.As(err, &size) && size.Items > 0:
		p.Message = fmt.Sprintf(w.ListTooLong, todo.MaxItems, size.Items)
	case errors.As(err, &size):
		p.Message = fmt.Sprintf(w.TooLarge, todo.MaxSize/1000, (size.Size+999)/1000)
	case errors.As(err, &unclear):
		p.Message = fmt.Sprintf(w.Unclear, quoted(unclear.Titles), t.view.Words[todo.Completed])
	case errors.As(err, &taken):
		p = todo.Problem{Message: fmt.Sprintf(w.Taken, taken.Item.ID, excerpt(cmp.Or(taken.By, "?"))), Sentence: true}
	case errors.Is(err, todo.ErrCycle):
		p = todo.Problem{Message: w.Cycle, Sentence: true}
	case kind == board.KindMissing:
		p = todo.Problem{Path: "list_id", Message: w.NoList}
	case kind == board.KindMirrored:
		p = todo.Problem{Path: "list", Message: w.Mirrored}
	case kind == board.KindReused:
		p = todo.Problem{Path: "_meta.todo-mcp/operation", Message: w.OperationUsed}
	case kind == board.KindFull:
		p = todo.Problem{Path: "list", Message: w.ListsFull}
		if errors.Is(err, board.ErrStoreFull) {
			p.Message = w.StoreFull
		}
		if full, ok := errors.AsType[*board.FullError](err); ok {
			p.Message += " (" + full.Detail + ")"
		}
	}
	return p, p.Message != ""
}

// content is the structured content of a result.
type content struct {
	IsError *bool     `json:"is_error,omitempty"` // only SetTodoList sets this and Output (K3)
	Output  *string   `json:"output,omitempty"`   // the list as text after a read, else empty
	Message string    `json:"message"`
	Display []display `json:"display"`
	// List is the list's id. List and Revision are left out while there is no list.
	List     string `json:"list,omitempty"`
	Revision int64  `json:"revision,omitempty"`

	Counts map[string]int `json:"counts,omitempty"` // by the tool's words for statuses; nil for an error
}

// display is the block that a host renders (V3).
type display struct {
	Type  string  `json:"type" jsonschema:"enum=todo"`
	Items []shown `json:"items"`
}

// shown is an item as a host renders it. ID and BlockedBy are empty in results without ids.
type shown struct {
	ID        string   `json:"id,omitempty"`
	Title     string   `json:"title"` // the active text if the item is shown in progress
	Status    string   `json:"status"`
	Reason    string   `json:"reason,omitempty"`
	Priority  string   `json:"priority,omitempty"`
	DueDate   string   `json:"due_date,omitempty"`
	Details   string   `json:"details,omitempty"`
	Owner     string   `json:"owner,omitempty"`
	BlockedBy []string `json:"blockedBy,omitempty"` // ids as the view shows them, only of open items
	Has       string   `json:"has,omitempty"`       // see [render.Has]
}

// ListState is a list's state for programs: counts in the tool's words, and the app page's data besides the items (V3).
type ListState struct {
	ID       string         `json:"id"`
	Revision int64          `json:"revision"`
	Counts   map[string]int `json:"counts"`
	Title    string         `json:"title"`
	// Current is the id of the item in progress that was started last, at Started; both are zero for none.
	Current string    `json:"current,omitempty"`
	Started time.Time `json:"started,omitzero"`
	Panel   string    `json:"panel,omitempty"` // the address of the list's page, if a panel is known
	// Written is the newest revision that no person wrote, Seen the newest that one of the list's agents was shown.
	// Rests is [todo.State.Rests]. Only results of the app page's tools set these three fields: any other result goes
	// to an agent at work, and shows the list to that agent.
	Written int64 `json:"written,omitempty"`
	Seen    int64 `json:"seen,omitempty"`
	Rests   bool  `json:"rests,omitempty"`
}

// show returns the items that a view shows of a list.
func (t *Tool) show(view todo.View, s todo.Snapshot) []shown {
	waiting := todo.OpenWaits(s.Items)
	items := make([]shown, 0, len(s.Items))
	for _, i := range s.Items {
		line, ok := view.Show(i)
		if !ok {
			continue
		}
		item := shown{Title: line.Title, Status: line.Status, Reason: i.Reason, Priority: i.Priority, DueDate: i.DueDate,
			Details: i.Details, Owner: i.Owner, Has: render.Has(s, i)}
		if t.ids {
			item.ID, item.BlockedBy = line.ID, view.IDs(waiting(i))
		}
		items = append(items, item)
	}
	return items
}

// countsIn counts items by the view's words for statuses; unused words have 0. Hidden items count as cancelled.
func countsIn(view todo.View, s todo.Snapshot) map[string]int {
	n := make(map[string]int)
	for _, word := range view.Accepts() {
		n[word] = 0
	}
	for _, i := range s.Items {
		line, _ := view.Show(i)
		n[cmp.Or(line.Status, string(todo.Cancelled))]++
	}
	return n
}

// result returns a result with a text. Its structured content is c plus the items, counts, id and revision of s.
func (t *Tool) result(text string, c content, s todo.Snapshot) Result {
	listed := t.view
	listed.Unlisted = false
	c.Display, c.Counts = []display{{"todo", t.show(listed, s)}}, countsIn(listed, s)
	c.List, c.Revision = s.List.ID, s.Revision
	if t.saysOutput {
		c.IsError, c.Output = new(bool), cmp.Or(c.Output, new(string))
	}
	r := Result{Text: text, Structured: c, Display: c.Display}
	if s.List.ID == "" {
		return r // there is no list
	}
	r.List = &ListState{ID: s.List.ID, Revision: s.Revision, Counts: c.Counts, Title: s.Title()}
	if item, ok := s.Current(); ok {
		r.List.Current, r.List.Started = item.ID, item.Started
	}
	return r
}

// listing returns a list as text: the parameter head, if not empty, then a line for each item that the view shows. If
// the view shows no item, listing returns the parameter none.
func listing(view todo.View, s todo.Snapshot, head, none string, line func(todo.Line, todo.Item) string) string {
	var b strings.Builder
	b.WriteString(head)
	for _, item := range s.Items {
		if shown, ok := view.Show(item); ok {
			b.WriteString("\n" + line(shown, item))
		}
	}
	if b.Len() == len(head) {
		return none
	}
	return strings.TrimPrefix(b.String(), "\n")
}
