package api

import (
	"errors"
	"net/http"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
	"todo-mcp/server/sse"
	"todo-mcp/tools"
)

// streams are the two event streams, with what they are sending.
type streams struct {
	updates sse.Shared[updateKey]
	calls   sse.Shared[callKey]
}

type updateKey struct {
	seq    int64
	parent string
}

// callKey is a call as the block with a number on a stream.
type callKey struct {
	call   string
	parent string
	index  int
}

// Event names of /api/events. A sub-agent's list has a name of its own, so that
// a reader of the others sees main lists only (docs/spec/variants.md T8).
const (
	itemsUpdate = "todos:update" // data is TodoItem[] alone
	listUpdate  = "list:update"  // data is an update
	agentUpdate = "agent:update" // data is an update
)

// update is a whole list, with its items also in the form of TodoWrite's
// TodoItem[].
type update struct {
	render.ListDocument
	Todos []todoItem `json:"todos"`
}

type todoItem struct {
	ID         string `json:"id"`
	Content    string `json:"content"`
	Status     string `json:"status"`
	ActiveForm string `json:"activeForm"`
}

// events streams changes as server-sent events, from now on or after
// Last-Event-ID or ?after=. The id of the last event of a snapshot is its Seq,
// because a stream of many lists cannot be resumed by a revision. A slow reader
// skips to the newest revision of each list. ?list= restricts the stream to one
// list, those with which its conversation goes on, and their sub-agents' lists.
func (s *streams) events(w http.ResponseWriter, r *edge.Request) error {
	f, err := sse.FollowRequest(r.Request, r.Lists, r.ReadTimeout())
	if errors.Is(err, sse.ErrPlace) {
		return edge.BadRequest("%s", err)
	}
	if err != nil {
		return err
	}
	watch := r.Lists.Watch(f.Want)
	defer watch.Close()
	return r.Stream(w, func(stream *sse.Stream) error {
		f.Send = func(changed []todo.Snapshot) error {
			for _, l := range changed {
				// The parent is no part of a revision, and may be found later.
				key := updateKey{l.Seq, l.List.Parent}
				if err := s.updates.Send(stream, key, func() []sse.Event { return updates(l) }); err != nil {
					return err
				}
			}
			return nil
		}
		if err := stream.Begin(); err != nil {
			return err
		}
		return stream.Follow(f, watch)
	})
}

// updates returns the events of a list: one for a sub-agent's; for a main list
// one with the list and then one with its items alone. Only the last has the id,
// so that a reader whose stream breaks between the two gets both again.
func updates(l todo.Snapshot) []sse.Event {
	u := updateOf(l)
	if l.List.Agent != "" {
		return []sse.Event{{ID: l.Seq, Name: agentUpdate, Data: u}}
	}
	return []sse.Event{{Name: listUpdate, Data: u}, {ID: l.Seq, Name: itemsUpdate, Data: u.Todos}}
}

func updateOf(l todo.Snapshot) update {
	u := update{ListDocument: render.Document(l), Todos: []todoItem{}}
	for _, line := range tools.TodoWriteView().Lines(l.Items) {
		u.Todos = append(u.Todos, todoItem{ID: line.ID, Content: line.Text, Status: line.Status, ActiveForm: line.Active})
	}
	return u
}
