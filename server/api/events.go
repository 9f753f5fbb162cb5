package api

import (
	"net/http"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
	"todo-mcp/server/sse"
	"todo-mcp/tools"
)

// Event names of /api/events. A sub-agent's list has another name, so that a
// reader of todos:update sees main lists only (docs/spec/variants.md T8).
const (
	mainUpdate  = "todos:update"
	agentUpdate = "agent:update"
)

// update is the data of an event: the whole list, with its items also in the
// form of TodoWrite's TodoItem[].
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
// Last-Event-ID or ?after=. The id of an event is the Seq of its snapshot,
// because a stream of many lists cannot be resumed by a revision. A slow reader
// skips to the newest revision of each list. ?list= restricts the stream to one
// list and its sub-agents' lists.
func events(w http.ResponseWriter, r *edge.Request) error {
	f, err := sse.FollowRequest(r.Request, r.Lists, r.ReadTimeout())
	if err != nil {
		return edge.BadRequest("%s", err)
	}
	watch := r.Lists.Watch(f.Want)
	defer watch.Close()
	return r.Stream(w, func(stream *sse.Stream) error {
		f.Send = func(changed []todo.Snapshot) error { return stream.Send(updates(changed)...) }
		if err := stream.Begin(); err != nil {
			return err
		}
		return stream.Follow(f, watch)
	})
}

// updates returns one event for each list.
func updates(lists []todo.Snapshot) []sse.Event {
	out := make([]sse.Event, 0, len(lists))
	for _, l := range lists {
		name := mainUpdate
		if l.List.Agent != "" {
			name = agentUpdate
		}
		out = append(out, sse.Event{ID: l.Seq, Name: name, Data: updateOf(l)})
	}
	return out
}

func updateOf(l todo.Snapshot) update {
	u := update{ListDocument: render.Document(l), Todos: []todoItem{}}
	for _, line := range tools.TodoWriteView().Lines(l.Items) {
		u.Todos = append(u.Todos, todoItem{ID: line.ID, Content: line.Text, Status: line.Status, ActiveForm: line.Active})
	}
	return u
}
