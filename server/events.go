package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
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

// apiEvents streams changes as server-sent events, from now on or from where
// Last-Event-ID or ?after= says. An event's id is the place of its revision in
// the store's order (Snapshot.Seq): a stream of many lists cannot be resumed by
// a revision. A reader that is slow skips to the newest revision of each list.
// ?list= restricts to one list and its sub-lists.
func (h *HTTP) apiEvents(w http.ResponseWriter, r *http.Request) {
	h.follow(w, r, nil, (*eventStream).updates)
}

// sender sends the changed lists that want admits; false ends the stream.
type sender func(s *eventStream, changed []todo.Snapshot, want func(todo.Snapshot) bool) bool

// follow streams what changes, as send words it, behind a first event.
func (h *HTTP) follow(w http.ResponseWriter, r *http.Request, hello []byte, send sender) {
	after, resume, err := resumeFrom(r)
	if err != nil {
		apiError(w, err)
		return
	}
	only := r.URL.Query().Get("list")
	want := func(s todo.Snapshot) bool { return only == "" || s.List.ID == only || s.List.Parent == only }
	watcher := h.server.lists().Watch(want)
	defer watcher.Close()
	stream, ok := h.openStream(w, r)
	if !ok {
		return
	}
	defer stream.close()
	if len(hello) > 0 && !stream.send(hello) {
		return
	}
	told := int64(0) // up to where catching up has told everything
	if resume {
		if told, ok = h.catchUp(stream, after, want, send); !ok {
			return
		}
	}
	for {
		changed, err := watcher.Next(stream.ctx)
		changed = slices.DeleteFunc(changed, func(s todo.Snapshot) bool { return s.Seq <= told })
		if err != nil || !send(stream, changed, want) {
			return
		}
	}
}

// catchUp sends what changed after a place, a page at a time, and returns the
// place it came to. A place the store has not come to is another store's: then
// everything was missed.
func (h *HTTP) catchUp(stream *eventStream, after int64, want func(todo.Snapshot) bool, send sender) (told int64, ok bool) {
	const page = 500
	store := h.server.lists()
	newest, err := store.Find(stream.ctx, todo.Query{Limit: 1})
	if err == nil && len(newest) > 0 && newest[0].Seq < after {
		after = 0
	}
	for err == nil {
		var missed []todo.Snapshot
		missed, err = store.Find(stream.ctx, todo.Query{AfterSeq: after, OldestFirst: true, Limit: page})
		if err == nil && !send(stream, missed, want) {
			return after, false
		}
		if len(missed) > 0 {
			after = missed[len(missed)-1].Seq
		}
		if len(missed) < page {
			break
		}
	}
	return after, err == nil
}

func resumeFrom(r *http.Request) (after int64, resume bool, err error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" {
		return 0, false, nil
	}
	after, err = strconv.ParseInt(text, 10, 64)
	if err != nil || after < 0 {
		return 0, false, badParam("Last-Event-ID")
	}
	return after, true, nil
}

// eventStream is an open stream of server-sent events. It is written to by one
// goroutine at a time.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	config  HTTPConfig
	ctx     context.Context // ends with the request, with the server, or when the reader stalls
	cancel  context.CancelFunc
	release func() bool
	leave   func()
	write   chan []byte
	done    chan struct{}
}

// openStream begins a stream and keeps it alive until close. When there is no
// place for it, it answers that and gives false.
func (h *HTTP) openStream(w http.ResponseWriter, r *http.Request) (*eventStream, bool) {
	leave, ok := h.admit(w)
	if !ok {
		return nil, false
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	s := &eventStream{w: w, control: http.NewResponseController(w), config: h.config, leave: leave, write: make(chan []byte), done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(r.Context())
	s.release = context.AfterFunc(h.closing, s.cancel)
	go s.run()
	s.send([]byte("retry: 1000\n\n"))
	return s, true
}

// run writes what is sent, and a comment when nothing was for a while. A reader
// that does not take it in time loses its stream, and only that.
func (s *eventStream) run() {
	defer close(s.done)
	idle := time.NewTicker(s.config.KeepAlive)
	defer idle.Stop()
	for {
		data := []byte(": alive\n\n")
		select {
		case <-s.ctx.Done():
			return
		case <-idle.C:
		case data = <-s.write:
			idle.Reset(s.config.KeepAlive)
		}
		_ = s.control.SetWriteDeadline(time.Now().Add(s.config.WriteTimeout))
		if _, err := s.w.Write(data); err != nil || s.control.Flush() != nil {
			s.cancel()
			return
		}
	}
}

// send hands data over; false when the stream has ended.
func (s *eventStream) send(data []byte) bool {
	select {
	case s.write <- data:
		return true
	case <-s.ctx.Done():
		return false
	}
}

func (s *eventStream) close() {
	s.cancel()
	s.release()
	<-s.done
	s.leave()
}

// updates sends an event for each list.
func (s *eventStream) updates(lists []todo.Snapshot, want func(todo.Snapshot) bool) bool {
	for _, l := range lists {
		if !want(l) {
			continue
		}
		name := mainUpdate
		if l.List.Agent != "" {
			name = agentUpdate
		}
		if !s.event(name, l.Seq, updateOf(l)) {
			return false
		}
	}
	return true
}

func (s *eventStream) event(name string, id int64, data any) bool {
	body, err := json.Marshal(data)
	if err != nil {
		return false
	}
	return s.send(fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", id, name, body))
}

func updateOf(l todo.Snapshot) update {
	u := update{ListDocument: render.Document(l), Todos: []todoItem{}}
	for _, line := range tools.TodoWriteView().Lines(l.Items) {
		u.Todos = append(u.Todos, todoItem{ID: line.ID, Content: line.Text, Status: line.Status, ActiveForm: line.Active})
	}
	return u
}
