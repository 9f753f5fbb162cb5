// Package tools implements the todo tools that models call: TodoWrite, write_todos,
// SetTodoList, create_todos and update_todo, and those that hosts have themselves (hosts.go).
//
// A tool is data: a name, structs from which the schemas of its arguments and
// results are generated, a description, a function from arguments to a change
// of the list, and a function from the outcome to a result. The package
// promises that the input schema describes the arguments that a tool reads,
// that a refused call reports all its problems at once and changes nothing, and
// that structured results conform to the output schema. Comments name the rules in
// docs/spec/variants.md by their ids.
package tools

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

// Policy is what to do with several items in progress (docs/spec/variants.md
// T4).
type Policy string

// The policies for several items in progress.
const (
	Reject Policy = "reject" // refuse the call, naming them
	Demote Policy = "demote" // keep the last one, set the others to pending
	Allow  Policy = "allow"
)

// Statuses says which statuses the schemas, guidance and results of TodoWrite and
// write_todos list (docs/spec/variants.md T10).
type Statuses string

// The settings of [Options.Statuses].
const (
	UsualStatuses Statuses = "usual" // the three that models know
	AllStatuses   Statuses = "all"   // all core statuses, and the reason
)

// Options are the settings of the tools. The ids are rules of
// docs/spec/variants.md.
type Options struct {
	// MaxItems and MaxContentLength (runes) are TodoWrite's own limits (T2,
	// T3); 0 means that only the hard caps of package todo apply.
	MaxItems         int
	MaxContentLength int
	InProgress       Policy
	// ItemIDs includes item ids in TodoWrite's schema and results (T5).
	ItemIDs bool
	// Statuses says which statuses TodoWrite and write_todos list; they accept all (T10).
	Statuses Statuses
	// Texts are the tool descriptions and the words of answers (P3); nil means the embedded
	// ones in English.
	Texts *prompts.Texts
}

// Defaults returns the default options.
func Defaults() Options {
	return Options{MaxItems: 50, MaxContentLength: 200, InProgress: Reject, Statuses: UsualStatuses}
}

// Tool is one tool, ready to be published and called.
type Tool struct {
	Name  string
	Title string
	// File names its description in package prompts; empty is Name.
	File        string
	Description string
	// Idempotent is true when repeating a call changes nothing more (V2).
	Idempotent bool
	// ReadOnly is true for a tool that changes no list (V2).
	ReadOnly bool

	words prompts.Words // in which it answers
	variant
	schemas sync.Once
	in, out json.RawMessage
}

// variant is what distinguishes one tool from the others.
type variant struct {
	view   todo.View
	input  any  // the argument struct
	output any  // the result struct
	byList bool // list_id is required
	// bare is the field for which an array may stand in place of the arguments; empty for a
	// tool that takes any arguments.
	bare string
	// prune changes the schemas of arguments and results as the options have it; nil leaves them.
	prune func(in, out *jsonschema.Schema)
	// allStatuses is true when the schema lists all core statuses.
	allStatuses bool
	// read returns the call for some arguments and adds their problems to r.
	read   func(r *reader, args value) *Call
	answer func(w prompts.Words, c *Call, o board.Outcome) Result
	// list returns the list as text; nil is [listing].
	list func(w prompts.Words, s todo.Snapshot) string
	// failure words the refusal of a call; nil is validationFailed.
	failure func(w prompts.Words, err *todo.InputError) Result
}

// Call is a tool call with valid arguments. It is immutable: the result of
// applying it is a [board.Outcome].
type Call struct {
	// Target is what the call says about its list; of whose conversation it is, and of
	// which sub-agent, its caller knows.
	board.Target
	// Title is what the list is called unless it was given a title, as [todo.OneLine] has it;
	// empty for none.
	Title string
	// Change is the change to apply; nil for a call that only reads, or is an Edit.
	Change todo.Change
	// Edit is what a person does by the tick tool; zero in other calls.
	Edit todo.Edit

	created int      // how many items create_todos adds
	fields  []string // what TaskUpdate changes
}

// readOnly reads the arguments of a tool that shows the list, whatever they are.
func readOnly(*reader, value) *Call { return &Call{} }

// Result is the answer to a call. The text says all that a model needs to know;
// the rest is for programs.
type Result struct {
	Text       string
	Structured any // conforms to the output schema; nil for none
	// List is the list in short, nil while there is none. Display is the
	// display of Structured by itself, nil when Structured has none. Both are
	// for clients that get no Structured (docs/spec/variants.md V3).
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
		{Name: "create_todos", Title: "Add plan steps", variant: createTodos()},
		{Name: "update_todo", Title: "Update plan step", Idempotent: true, variant: updateTodo()},
	}, hostTools(o)...)
}

// New returns all tools, in the order of [Names].
func New(o Options) []*Tool {
	if o.Texts == nil {
		o.Texts = prompts.English()
	}
	list := table(o)
	for _, t := range list {
		t.words, t.Description = o.Texts.Words, o.Texts.Text(cmp.Or(t.File, t.Name))
		if t.allStatuses {
			t.Description += " " + o.Texts.Text("statuses")
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

// InputSchema returns the JSON schema of the arguments, of draft 2020-12.
func (t *Tool) InputSchema() json.RawMessage {
	t.schemas.Do(t.publish)
	return t.in
}

// OutputSchema returns the JSON schema of the structured content, of draft 2020-12.
func (t *Tool) OutputSchema() json.RawMessage {
	t.schemas.Do(t.publish)
	return t.out
}

// publish generates the schemas when they are first asked for: a client is listed few of the
// tools, and they would take a quarter of the program's start.
func (t *Tool) publish() {
	in, out := schemaOf(t.input), schemaOf(t.output)
	for _, s := range []*jsonschema.Schema{in, out} {
		fillStatuses(s, t.view.Accepts())
	}
	if t.prune != nil {
		t.prune(in, out)
	}
	t.in, t.out = encode(in), encode(out)
}

// schemaOf generates the JSON schema of a struct. It is inlined, without $ref, $defs, $schema
// and $id, since strict clients reject these (docs/spec/variants.md V1).
func schemaOf(v any) *jsonschema.Schema {
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true}
	s := r.Reflect(v)
	s.Version = ""
	return s
}

// fillStatuses puts words in the place of STATUSES, by which the tag of a field stands for the
// statuses that the tool lists.
func fillStatuses(s *jsonschema.Schema, words []string) {
	if s == nil {
		return
	}
	if at := slices.Index(s.Enum, any("STATUSES")); at >= 0 {
		all := make([]any, len(words))
		for i, word := range words {
			all[i] = word
		}
		s.Enum = slices.Replace(s.Enum, at, at+1, all...)
	}
	fillStatuses(s.Items, words)
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		fillStatuses(p.Value, words)
	}
}

func encode(s *jsonschema.Schema) json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("schema: %v", err)) // the program was built wrong
	}
	return raw
}

// Read parses and checks a call's arguments, which are raw JSON; empty means no
// arguments. The error, if any, can be passed to [Tool.Failure].
func (t *Tool) Read(raw json.RawMessage) (*Call, error) {
	args, err := parse(raw, blank)
	if err != nil {
		return nil, err
	}
	r, isRead := &reader{words: func() prompts.Words { return t.words }}, true
	if args.kind != '{' {
		args, isRead = r.arguments(args, t.bare)
	}
	list, call := r.id(args.optional("list_id"), "list_id", t.byList), &Call{}
	if isRead {
		call = t.read(r, args)
	}
	if err := r.err(); err != nil {
		if r.leftOutList {
			err = fmt.Errorf("%w: %w", ErrListLeftOut, err)
		}
		return nil, err
	}
	call.List, call.View = list, t.view
	return call, nil
}

// Result returns the result for the outcome of a call.
func (t *Tool) Result(c *Call, o board.Outcome) Result { return t.answer(t.words, c, o) }

// Listing returns a list as the tool's model reads it, also of a tool that has no such call.
func (t *Tool) Listing(s todo.Snapshot) Result {
	text := t.list
	if text == nil {
		text = func(w prompts.Words, s todo.Snapshot) string { return listing(w, t.view, s) }
	}
	shown, n := show(t.view, s, func(l todo.Line, _ todo.Item) listShown { return listShown{ID: l.ID, Title: l.Text, Status: l.Status} })
	said := text(t.words, s)
	return newResult(said, said, s, shown, countsOf(n))
}

// Failure returns the result for an error of [Tool.Read] or of the board on
// which a model can act. ok is false for any other error, which is the server's
// failure.
func (t *Tool) Failure(err error) (result Result, ok bool) {
	if errors.Is(err, ErrInvalidJSON) {
		return Result{Text: t.words.InvalidJSON, IsError: true}, true
	}
	var input *todo.InputError
	if errors.As(err, &input) {
		input = &todo.InputError{Problems: slices.Clone(input.Problems)}
		for i, p := range input.Problems {
			if said, known := t.refusal(p.Err); known {
				input.Problems[i].Message = said.Message
			}
		}
	} else if p, known := t.refusal(err); known {
		input = &todo.InputError{Problems: []todo.Problem{p}}
	} else {
		return Result{}, false
	}
	if t.failure == nil {
		result = Result{Text: validationFailed(t.words, input)}
	} else {
		result = t.failure(t.words, input)
	}
	result.IsError = true
	return result, true
}

// refusal returns what an error by which the board refuses a write is to a model; ok is false
// for any other.
func (t *Tool) refusal(err error) (p todo.Problem, ok bool) {
	var size *todo.SizeError
	var unclear *todo.UnclearError
	var taken *todo.TakenError
	var full *board.FullError
	w, kind := t.words, board.KindOf(err)
	switch {
	case errors.As(err, &size) && size.Items > 0:
		p.Message = fmt.Sprintf(w.ListTooLong, todo.MaxItems, size.Items)
	case errors.As(err, &size):
		p.Message = fmt.Sprintf(w.TooLarge, todo.MaxSize/1000, (size.Size+999)/1000)
	case errors.As(err, &unclear):
		p.Message = fmt.Sprintf(w.Unclear, quoted(unclear.Titles, quote), t.view.Words[todo.Completed])
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
		if errors.As(err, &full) {
			p.Message += " (" + full.Detail + ")"
		}
	}
	return p, p.Message != ""
}

// validationFailed returns the error text of the whole-list tools and the view
// tool (docs/spec/variants.md T7).
func validationFailed(w prompts.Words, err *todo.InputError) string {
	var b strings.Builder
	b.WriteString(w.Validation)
	for _, p := range err.Problems {
		fmt.Fprintf(&b, "\n- %s", p)
	}
	return b.String()
}

// result is the structured content of most tools: message, display, which list
// at which revision, and counts. I is an item, C the counts, both in the
// variant's words.
type result[I, C any] struct {
	Message string       `json:"message"`
	Display []display[I] `json:"display"`
	listRef
	Counts C `json:"counts"`
}

// display is the block that a host renders (docs/spec/variants.md V3).
type display[I any] struct {
	Type  string `json:"type" jsonschema:"enum=todo"`
	Items []I    `json:"items"`
}

// ListState is a list in short: its id, its revision, and its counts in the
// tool's words, and what a page shows of it beyond the display
// (docs/spec/variants.md V3).
type ListState struct {
	ID       string `json:"id"`
	Revision int64  `json:"revision"`
	Counts   any    `json:"counts"`
	Title    string `json:"title"`
	// Current is the id of the item in progress that was started last, Started
	// when; empty while there is none.
	Current string    `json:"current,omitempty"`
	Started time.Time `json:"started,omitzero"`
	// Panel is the address of the list's page; empty when no panel is known.
	Panel string `json:"panel,omitempty"`
	// Written is the newest revision that no person wrote, Seen the newest that one of
	// the list's agents was shown, and Rests is true when no agent works on the list.
	// Only the answers of the page's own tools have them: to other callers they say
	// nothing, who have just written.
	Written int64 `json:"written,omitempty"`
	Seen    int64 `json:"seen,omitempty"`
	Rests   bool  `json:"rests,omitempty"`
}

// listRef is the list that a result is about and its revision; both are left
// out while there is no list.
type listRef struct {
	List     string `json:"list,omitempty"`
	Revision int64  `json:"revision,omitempty"`
}

// show returns a snapshot in the words of a view, and how many items it shows with each status;
// those that the view leaves out count as cancelled. item converts an item, and its line with
// the title that people are shown as its text, to the variant's item.
func show[I any](view todo.View, s todo.Snapshot, item func(todo.Line, todo.Item) I) ([]display[I], todo.Counts) {
	items, n := make([]I, 0, len(s.Items)), make(todo.Counts)
	for _, i := range s.Items {
		line, ok := view.Show(i)
		if !ok {
			n[todo.Cancelled]++
			continue
		}
		status, _ := view.Core(line.Status)
		n[status]++
		line.Text = line.Title
		items = append(items, item(line, i))
	}
	return []display[I]{{Type: "todo", Items: items}}, n
}

// newResult returns a result of a text and, as structured content, a message with
// what is shown of a snapshot.
func newResult[I, C any](text, message string, s todo.Snapshot, shown []display[I], counts C) Result {
	r := Result{Text: text, Structured: result[I, C]{message, shown, listRef{s.List.ID, s.Revision}, counts}, Display: shown}
	if s.List.ID == "" {
		return r // there is no list
	}
	r.List = &ListState{ID: s.List.ID, Revision: s.Revision, Counts: counts, Title: s.Title()}
	if item, ok := s.Current(); ok {
		r.List.Current, r.List.Started = item.ID, item.Started
	}
	return r
}

// planLines returns the items that the view shows, one per line, each with a
// marker, its id and its text.
func planLines(view todo.View, s todo.Snapshot, marker func(word string) string) string {
	var b strings.Builder
	for _, item := range s.Items {
		if line, ok := view.Show(item); ok {
			fmt.Fprintf(&b, "\n  %s #%s %s", marker(line.Status), item.ID, item.Text)
		}
	}
	return b.String()
}
