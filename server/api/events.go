package api

import (
	"net/http"
	"time"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
	"todo-mcp/server/sse"
	"todo-mcp/tools"
)

// Event names of /api/events. A sub-agent's list has one of its own, so that
// who listens for todos:update sees main lists alone (VARIANTS.md T8).
const (
	mainUpdate  = "todos:update"
	agentUpdate = "agent:update"
)

// update is the data of an event: the whole list, its items also as the
// TodoItem[] of TodoWrite.
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

// events streams changes as server-sent events, from now on or from where
// Last-Event-ID or ?after= says. An event's id is the place of its revision in
// the store's order (Snapshot.Seq): a stream of many lists cannot be resumed by
// a revision. A reader that is slow skips to the newest revision of each list.
// ?list= restricts to one list and its sub-lists.
func events(w http.ResponseWriter, r *edge.Request, timeout time.Duration) error {
	f, err := sse.FollowRequest(r.Request, r.Lists, timeout)
	if err != nil {
		return edge.BadRequest("%s", err)
	}
	watch := r.Lists.Watch(f.Want)
	defer watch.Close()
	stream, closeStream, err := r.Stream(w)
	if err != nil {
		return err
	}
	defer closeStream()
	f.Send = func(changed []todo.Snapshot) error { return stream.Send(updates(changed)...) }
	if stream.Begin() == nil {
		_ = stream.Follow(f, watch) // its end is the reader's, or the server's
	}
	return nil
}

// updates returns an event for each list.
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
