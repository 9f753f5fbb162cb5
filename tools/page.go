package tools

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

type viewInput struct {
	ListID string `json:"list_id"`
}

type tickInput struct {
	viewInput
	ItemID string     `json:"item_id"`
	Status statusWord `json:"status"`
	// Revision is the revision that the person saw. Changes that others made after it are kept.
	Revision int64 `json:"revision,omitempty"`
}

// NewPage returns the two tools that only the app page calls. The page calls view to refresh a list, and tick when a
// person sets one item's status. Both use core statuses and are not in [Names]. Their calls have no Change; calls of
// tick have an Edit.
func NewPage() (view, tick *Tool) {
	english := *prompts.WordsIn(prompts.Languages()[0])
	english.NoList = "There is no such list"
	progress := func(_ *prompts.Words, s todo.Snapshot) string {
		n := s.Progress()
		return fmt.Sprintf("%d of %d completed", n.Done, n.Total)
	}
	v := variant{view: todo.CoreView(), input: viewInput{}, ids: true, byList: true, read: readOnly, list: progress}
	view = &Tool{Name: "todo_list_view", Title: "View todo list", ReadOnly: true, Idempotent: true, words: &english, variant: v,
		Description: "The newest state of a todo list, for the list's own page."}
	v.input, v.read = tickInput{}, (*reader).tick
	tick = &Tool{Name: "todo_list_tick", Title: "Tick todo item", Idempotent: true, words: &english, variant: v,
		Description: "Sets the status of one item for a person, from the list's own page."}
	view.InputSchema, tick.InputSchema = sync.OnceValue(view.publish), sync.OnceValue(tick.publish)
	return view, tick
}

func (r *reader) tick(args value) *Call {
	item := r.id(args.get("item_id"), "item_id", true)
	status := todo.Status(r.status(args.get("status"), "", todo.CoreView(), false))
	seen := int64(0)
	if v := args.optional("revision"); !v.missing() {
		n, err := strconv.ParseInt(wholeNumber(v.text), 10, 64)
		if seen = n; v.kind != '0' || err != nil || n < 0 {
			r.problemf("revision", r.words().WrongType, "revision number", v.name())
		}
	}
	return &Call{Edit: todo.Edit{Do: todo.EditStatus, Item: item, Status: status, Seen: seen}}
}
