package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/sse"
	"github.com/todo-mcp/todo-mcp/tools"
)

// streams are the two event streams, with the events being sent.
type streams struct{ sse.Events[eventKey] }

// eventKey identifies the events of a list at a Seq, or of a call by block id and number on its stream. It has the
// list's parent, which may be found later without a new revision, and how often the list was sent again because its
// agent's state changed.
type eventKey struct {
	call, parent  string
	number, stood int64
}

// Event names of /api/events. A sub-agent's list has its own, so that readers of the others see main lists only (T8).
const (
	itemsUpdate = "todos:update" // data is TodoItem[] alone
	listUpdate  = "list:update"  // data is an update
	agentUpdate = "agent:update" // data is an update
	chatUpdate  = "chat:update"  // data is a [render.ListDocument] of a chat without a list
)

// update is a list whose items are also in the form of TodoWrite's TodoItem[].
type update struct {
	render.ListDocument
	Todos []todoItem `json:"todos"`
}

// todoItem is an item in the words of TodoWrite, and of write_todos.
type todoItem struct {
	ID         string `json:"id,omitempty"`
	Content    string `json:"content"`
	ActiveForm string `json:"activeForm"`
	Status     string `json:"status"`
}

// todosOf returns the items of a list, with ids if ids is true; not nil.
func todosOf(l todo.Snapshot, ids bool) []todoItem {
	out := []todoItem{}
	for _, line := range tools.TodoWriteView().Lines(l.Items) {
		item := todoItem{Content: line.Text, Status: line.Status, ActiveForm: line.Active}
		if ids {
			item.ID = line.ID
		}
		out = append(out, item)
	}
	return out
}

// events streams changes, from now on or after Last-Event-ID or ?after=. The id of a snapshot's last event is its
// Seq, since a stream of many lists cannot resume by a revision; events that only say that an agent's state changed
// have none. A slow reader skips to the newest revision of each list. ?list= restricts the stream to one list, those
// with which its conversation goes on, and their sub-agents' lists.
func (s *streams) events(w http.ResponseWriter, r *edge.Request) error {
	after, resumes, err := r.ResumeAfter()
	if err != nil {
		return err
	}
	chain, err := chainOf(r)
	if err != nil {
		return err
	}
	wanted := func(l todo.Snapshot) bool { return chain.Has(l.List) || chain.HasParent(l.List) }
	watch := r.Lists.Watch(wanted)
	defer watch.Close()
	return r.Stream(w, func(stream *sse.Stream) error {
		look(stream.Context(), r)
		if err := stream.Begin(); err != nil {
			return err
		}
		sent := int64(0) // the Seq up to which everything is sent
		if resumes {
			if sent, err = s.catchUp(stream, r, after, wanted); err != nil {
				return fmt.Errorf("catch up: %w", err)
			}
		}
		for {
			changed, err := watch.Next(stream.Context())
			if err != nil {
				return err
			}
			for _, l := range changed {
				if l.Seq <= sent && l.Stood == 0 {
					continue
				}
				if err := s.send(stream, l); err != nil {
					return err
				}
			}
		}
	})
}

// look notes that a person sees the list ?list=.
func look(ctx context.Context, r *edge.Request) {
	ctx, cancel := context.WithTimeout(ctx, r.ReadTimeout())
	defer cancel()
	if l, err := r.Lists.Load(ctx, r.URL.Query().Get("list"), 0); err == nil {
		r.Lists.Look(ctx, l)
	}
}

// chainOf returns the lists that a stream with ?list= follows.
func chainOf(r *edge.Request) (*board.Chain, error) {
	ctx, cancel := context.WithTimeout(r.Context(), r.ReadTimeout())
	defer cancel()
	return r.Lists.Chain(ctx, r.URL.Query().Get("list"))
}

// catchUpPage is how many snapshots catching up reads at a time and holds for a slow reader.
const catchUpPage = 4

// catchUp sends the lists that changed after a Seq, and returns the Seq up to which it has sent everything. A Seq
// above the store's newest comes from another store; then it sends all lists.
func (s *streams) catchUp(stream *sse.Stream, r *edge.Request, after int64, wanted func(todo.Snapshot) bool) (int64, error) {
	newest, err := find(stream.Context(), r, board.Query{Limit: 1})
	if err != nil {
		return 0, err
	}
	if len(newest) > 0 && newest[0].Seq < after {
		after = 0
	}
	for l, err := range inOrder(stream.Context(), r, board.Query{AfterSeq: after, OldestFirst: true, Limit: catchUpPage}) {
		if err == nil && wanted(l) {
			err = s.send(stream, l)
		}
		if err != nil {
			return 0, err
		}
		after = l.Seq
	}
	return after, nil
}

func (s *streams) send(stream *sse.Stream, l todo.Snapshot) error {
	return s.Send(stream, eventKey{"", l.List.Parent, l.Seq, l.Stood}, func() []sse.Event { return updates(l) })
}

// updates returns the events of a list: one for a sub-agent's, for a main list one with the list and one with its
// items alone. Only the last has the id, so that a reader whose stream breaks between them gets both again.
func updates(l todo.Snapshot) []sse.Event {
	id := l.Seq
	if l.Stood > 0 {
		id = 0
	}
	if l.IsChat() {
		return []sse.Event{{Name: chatUpdate, Data: render.Document(l)}}
	}
	u := update{ListDocument: render.Document(l), Todos: todosOf(l, true)}
	if l.List.Agent != "" {
		return []sse.Event{{ID: id, Name: agentUpdate, Data: u}}
	}
	return []sse.Event{{Name: listUpdate, Data: u}, {ID: id, Name: itemsUpdate, Data: u.Todos}}
}
