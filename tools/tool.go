package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
)

// Policy says what to do with several items in progress (VARIANTS.md T4).
type Policy string

// The policies.
const (
	Reject Policy = "reject" // an error that names them
	Demote Policy = "demote" // keep the last, set the others to pending
	Allow  Policy = "allow"
)

// Options are the settings of the tools.
type Options struct {
	// MaxItems and MaxContentLength (runes) are TodoWrite's own limits (T2,
	// T3); 0 leaves the hard caps of package todo.
	MaxItems         int
	MaxContentLength int
	InProgress       Policy
	// ItemIDs shows item ids in TodoWrite's schema and results (T5).
	ItemIDs bool
	// RejectDuplicates refuses repeated titles in SetTodoList (K2).
	RejectDuplicates bool
	// FreeTransitions lets update_todo move backwards (P4).
	FreeTransitions bool
	// Language is one of [prompts.Languages] (P3).
	Language string
	// ListArgument shows list_id in every schema.
	ListArgument bool
	// Texts are the descriptions; nil is the short embedded ones.
	Texts *prompts.Texts
}

// Defaults are the options in force when nothing is set.
func Defaults() Options {
	return Options{MaxItems: 50, MaxContentLength: 200, InProgress: Reject, Language: prompts.Languages()[0]}
}

// Tool is one tool, ready to be published and called.
type Tool struct {
	Name        string
	Title       string
	Description string
	// InputSchema and OutputSchema are JSON schemas of draft 2020-12.
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage
	// Idempotent says that a repeated call changes nothing more (V2).
	Idempotent bool

	variant
}

// variant is what a file of this package says about its tool.
type variant struct {
	view   todo.View
	input  any // the argument struct
	output any // the result struct
	// read turns arguments into a call; problems go to the reader.
	read func(r *reader, args value) *Call
	// result says what became of a call, as text and as the output struct.
	result func(c *Call, o todo.Outcome) (text string, structured any)
	// failure words a refused call; the structured part may be nil.
	failure func(err *todo.InputError) (text string, structured any)
}

// Call is a tool call understood.
type Call struct {
	// List is the list_id argument; empty when it was not sent.
	List string
	// Change is what to do; nil for a call that only reads.
	Change todo.Change
	// Lines is the whole list that a whole-list write asks for, and nil in
	// other calls.
	Lines []todo.Line
	// Item is the id of the one item the call is about; empty for others.
	Item string

	count int // how many items create_todos adds
	// Notes are lines that end the result's text: what was done beyond what was
	// asked, or where.
	Notes []string
}

// Result is the answer to a call.
type Result struct {
	Text       string
	Structured any // marshals to the output schema; nil for none
	IsError    bool
}

// noChange ends the text of a call that made no revision (VARIANTS.md V4).
const noChange = " (no change)"

// Names lists the tools there are, in the order they are published.
func Names() []string {
	return []string{"TodoWrite", "write_todos", "SetTodoList", "create_todos", "update_todo"}
}

// New builds all tools.
func New(o Options) ([]*Tool, error) {
	words, err := prompts.WordsIn(o.Language)
	if err != nil {
		return nil, err
	}
	if o.Texts == nil {
		o.Texts, _ = prompts.New(prompts.Short, "")
	}
	list := []*Tool{
		{Name: "TodoWrite", Title: "Update todo list", Idempotent: true, variant: todoWrite(o)},
		{Name: "write_todos", Title: "Write todos", Idempotent: true, variant: writeTodos(o)},
		{Name: "SetTodoList", Title: "Set todo list", Idempotent: true, variant: setTodoList(o)},
		{Name: "create_todos", Title: "Add plan steps", variant: createTodos(words)},
		{Name: "update_todo", Title: "Update plan step", Idempotent: true, variant: updateTodo(o, words)},
	}
	for _, t := range list {
		if err := t.publish(o); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Find returns the tool with a name; nil when there is none.
func Find(list []*Tool, name string) *Tool {
	if i := slices.IndexFunc(list, func(t *Tool) bool { return t.Name == name }); i >= 0 {
		return list[i]
	}
	return nil
}

// publish fills in what a client sees of the tool.
func (t *Tool) publish(o Options) (err error) {
	if t.Description, err = o.Texts.Tool(t.Name); err != nil {
		return err
	}
	in := schemaOf(t.input)
	if o.ListArgument {
		withListArgument(in)
	}
	for _, s := range []struct {
		to   *json.RawMessage
		from *jsonschema.Schema
	}{{&t.InputSchema, in}, {&t.OutputSchema, schemaOf(t.output)}} {
		if *s.to, err = marshalSchema(t.Name, s.from); err != nil {
			return err
		}
	}
	return nil
}

// InvalidJSON is what arguments that are no JSON at all are answered with
// (VARIANTS.md T7).
const InvalidJSON = "Error: Invalid JSON format"

var errInvalidJSON = errors.New("invalid JSON")

// Read understands a call's arguments, raw JSON. The error, if any, is for
// [Tool.Failure].
func (t *Tool) Read(raw json.RawMessage) (*Call, error) {
	args := value{kind: '{'}
	if len(raw) > 0 {
		var err error
		if args, err = parse(raw); err != nil {
			return nil, errInvalidJSON
		}
	}
	r := &reader{}
	list := ""
	if inner, ok := args.unquote(); ok {
		args = inner
	}
	if v := args.get("list_id"); !v.missing() {
		list = r.id(v, "list_id")
	}
	call := t.read(r, args)
	if err := r.err(); err != nil {
		return nil, err
	}
	call.List = list
	return call, nil
}

// Result words the outcome of a call.
func (t *Tool) Result(c *Call, o todo.Outcome) Result {
	text, structured := t.result(c, o)
	return Result{Text: text, Structured: structured}
}

// Failure words an error of [Tool.Read] or of the board that a model can act
// on. ok is false for any other: that is our failure, not the model's.
func (t *Tool) Failure(err error) (result Result, ok bool) {
	var input *todo.InputError
	switch {
	case errors.As(err, &input):
	case errors.Is(err, errInvalidJSON):
		return Result{Text: InvalidJSON, IsError: true}, true
	case errors.Is(err, todo.ErrNotFound):
		input = &todo.InputError{Problems: []todo.Problem{{Path: "list_id",
			Message: "There is no such list here. Leave list_id out to use this conversation's own list, or read todo://list for the id it has"}}}
	case errors.Is(err, todo.ErrTooManyLists):
		input = &todo.InputError{Problems: []todo.Problem{{Path: "list",
			Message: "No further list can begin, there are as many as allowed. Go on with an existing list, or ask the user to raise max-lists"}}}
	case errors.Is(err, todo.ErrOperationReused):
		input = &todo.InputError{Problems: []todo.Problem{{Path: "_meta.todo-mcp/operation",
			Message: "This operation id was used for a different call. Use a new id for a new call"}}}
	default:
		return Result{}, false
	}
	text, structured := t.failure(input)
	return Result{Text: text, Structured: structured, IsError: true}, true
}

// validationFailed is the error text of the whole-list tools (VARIANTS.md T7).
func validationFailed(err *todo.InputError) string {
	var b strings.Builder
	b.WriteString("Error: Validation failed")
	for _, p := range err.Problems {
		fmt.Fprintf(&b, "\n- %s", p)
	}
	return b.String()
}

// ending is what a result's text ends in: what a whole-list write left out
// though it was open, notes, and whether it changed anything.
func (c *Call) ending(o todo.Outcome) string {
	text := ""
	if dropped := c.dropped(o); len(dropped) > 0 {
		text = "\nDropped while open: " + fewOf(dropped)
	}
	if unseen := personDid(o.Unseen); unseen != "" {
		text += "\nThe user changed the list: " + unseen
	}
	for _, note := range c.Notes {
		text += "\n" + note
	}
	if !o.Changed && !o.Repeated {
		text += noChange
	}
	return text
}

// dropped are the open items that a whole-list write left out.
func (c *Call) dropped(o todo.Outcome) (items []todo.Item) {
	if c.Lines == nil || !o.Changed {
		return nil
	}
	for _, item := range o.Before.Items {
		if _, stays := o.After.Item(item.ID); !stays && !item.Status.Settled() {
			items = append(items, item)
		}
	}
	return items
}

// fewOf names the first few of many items.
func fewOf(items []todo.Item) string {
	const most = 3
	names := texts(items)
	if len(names) > most+1 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// personDid tells a model in a line what a person changed while it was not
// looking.
func personDid(changes []todo.Difference) string {
	var parts []string
	for _, d := range changes {
		switch {
		case d.Kind == todo.Added:
			parts = append(parts, "added "+excerpt(d.After.Text))
		case d.Kind == todo.Removed:
			parts = append(parts, "removed "+excerpt(d.Before.Text))
		case d.Kind == todo.Changed && d.Before.Status != d.After.Status:
			parts = append(parts, "set "+excerpt(d.After.Text)+" to "+string(d.After.Status)+because(d.After))
		case d.Kind == todo.Changed && d.Before.Reason != d.After.Reason:
			parts = append(parts, excerpt(d.After.Text)+" is blocked"+because(d.After))
		case d.Kind == todo.Changed:
			parts = append(parts, "reworded "+excerpt(d.Before.Text)+" to "+excerpt(d.After.Text))
		}
	}
	const most = 6
	if len(parts) > most {
		return strings.Join(parts[:most], ", ") + fmt.Sprintf(" and %d more", len(parts)-most)
	}
	return strings.Join(parts, ", ")
}

// because is a blocked item's reason behind what is told of it.
func because(i todo.Item) string {
	if i.Reason == "" {
		return ""
	}
	return " (" + excerpt(i.Reason) + ")"
}
