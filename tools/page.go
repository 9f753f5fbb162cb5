package tools

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

type viewInput struct {
	ListID string `json:"list_id"`
}

type tickInput struct {
	viewInput
	ItemID string `json:"item_id"`
	Status string `json:"status" jsonschema:"enum=STATUSES"`
	// Revision is what the person saw; what others changed since is kept.
	Revision int64 `json:"revision,omitempty"`
}

// viewItem is an item as the app page shows it; its fields are as in [todo.Item].
type viewItem struct {
	planItem
	Reason   string   `json:"reason,omitempty"`
	Priority string   `json:"priority,omitempty"`
	DueDate  string   `json:"due_date,omitempty"`
	Details  string   `json:"details,omitempty"`
	Owner    string   `json:"owner,omitempty"`
	WaitsFor []string `json:"waits_for,omitempty"`
	Has      string   `json:"has,omitempty"` // see [render.Has]
}

// NewPage returns the tools that only the app page calls, in core statuses: view, by which it refreshes a list, and
// tick, by which a person sets one item's status. They are not in [Names]. Their calls have a nil Change, those of
// tick an Edit. Failures of tick are worded for the person.
func NewPage() (view, tick *Tool) {
	english := prompts.English().Words
	english.NoList = "There is no such list"
	v := variant{view: todo.CoreView(), input: viewInput{}, output: result[viewItem, todo.Counts]{}, byList: true, read: readOnly, answer: viewAnswer}
	view = &Tool{Name: "todo_list_view", Title: "View todo list", ReadOnly: true, Idempotent: true, words: english, variant: v,
		Description: "The newest state of a todo list, for the list's own page."}
	v.input, v.read, v.failure = tickInput{}, (*reader).tick, tickFailure
	tick = &Tool{Name: "todo_list_tick", Title: "Tick todo item", Idempotent: true, words: english, variant: v,
		Description: "Sets the status of one item for a person, from the list's own page."}
	return view, tick
}

func viewAnswer(_ prompts.Words, _ *Call, out board.Outcome) Result {
	s, n := out.After, out.After.Progress()
	text := fmt.Sprintf("%d of %d completed", n.Done, n.Total)
	shown, counts := show(todo.CoreView(), s, func(l todo.Line, item todo.Item) viewItem {
		return viewItem{planItem{l.ID, l.Text, l.Status}, item.Reason, item.Priority, item.DueDate, item.Details, item.Owner, item.Waits(), render.Has(s, item)}
	})
	return newResult(text, text, s, shown, counts)
}

func (r *reader) tick(args value) *Call {
	item := r.id(args.get("item_id"), "item_id", true)
	status := todo.Status(r.status(args.get("status"), "status", todo.CoreView()))
	seen := r.revision(args.optional("revision"), "revision")
	return &Call{Edit: todo.Edit{Do: todo.EditStatus, Item: item, Status: status, Seen: seen}}
}

func tickFailure(_ prompts.Words, err *todo.InputError) Result {
	return Result{Text: "Error: " + strings.ReplaceAll(err.Error(), "; ", ". ")}
}

// revision reads the number of a revision, 0 when it is missing.
func (r *reader) revision(v value, path string) int64 {
	if v.missing() {
		return 0
	}
	n, err := strconv.ParseInt(wholeNumber(v.text), 10, 64)
	if v.kind != '0' || err != nil || n < 0 {
		r.problemf(path, r.words().WrongType, "revision number", v.name())
		return 0
	}
	return n
}
