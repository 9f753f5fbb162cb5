package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/sse"
	"github.com/todo-mcp/todo-mcp/tools"
)

// streams serves the two event streams. Streams that send the same events share their encoded form.
type streams struct{ sse.Events[eventKey] }

// eventKey identifies the events of a list by its Seq, in the field number, or of a call by its block id and its number
// on the stream. Two fields can change without a new revision: parent, as the list's parent may be found later, and
// stood, the Seq of the list's chat if the list is sent because that chat changed, else 0.
type eventKey struct {
	call, parent  string
	number, stood int64
}

// Events of /api/events. Sub-agents' lists are in agent:update only: readers of other events see main lists only (T8).
const (
	itemsUpdate = "todos:update" // data is TodoItem[] alone
	listUpdate  = "list:update"  // data is an [update]
	agentUpdate = "agent:update" // data is an [update]
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

// todosOf returns the items of a list, never nil; with the items' ids if the parameter ids is true.
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

// events streams changes: those from now on, or those after Last-Event-ID or ?after=. The id of a snapshot's last event
// is the snapshot's Seq, since a stream of many lists cannot resume by a list's revision. Events that only report an
// agent's new state have no id. A slow reader skips to the newest revision of each list. ?list= restricts the stream to
// one list, the next lists of its conversation, and their sub-agents' lists.
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
	sent := int64(0) // everything up to this Seq was sent
	begin := func(stream *sse.Stream) (err error) {
		look(stream.Context(), r)
		if err = stream.Begin(); err != nil || !resumes {
			return err
		}
		if sent, err = s.catchUp(stream, r, after, wanted); err != nil {
			return fmt.Errorf("catch up: %w", err)
		}
		return nil
	}
	return run(w, r, r.Lists.Watch(wanted), begin, func(stream *sse.Stream, l todo.Snapshot) error {
		if l.Stood == 0 && l.Seq <= sent {
			return nil // this or a newer revision was sent
		}
		return s.send(stream, l)
	})
}

// run streams a follower's snapshots: begin begins the stream, then send sends each snapshot.
func run(w http.ResponseWriter, r *edge.Request, f *board.Follower, begin func(*sse.Stream) error,
	send func(*sse.Stream, todo.Snapshot) error) error {
	defer f.Close()
	return r.Stream(w, func(stream *sse.Stream) error {
		err := begin(stream)
		for err == nil {
			var came []todo.Snapshot
			came, err = f.Next(stream.Context())
			for n := 0; err == nil && n < len(came); n++ {
				err = send(stream, came[n])
			}
		}
		return err
	})
}

func look(ctx context.Context, r *edge.Request) {
	ctx, cancel := context.WithTimeout(ctx, r.ReadTimeout())
	defer cancel()
	if l, err := r.Lists.Load(ctx, r.URL.Query().Get("list"), 0); err == nil {
		r.Lists.Look(ctx, l)
	}
}

func chainOf(r *edge.Request) (*board.Chain, error) {
	ctx, cancel := context.WithTimeout(r.Context(), r.ReadTimeout())
	defer cancel()
	return r.Lists.Chain(ctx, r.URL.Query().Get("list"))
}

// catchUp sends the wanted lists that changed after a Seq, and returns the Seq of the last list read. A Seq above the
// store's newest comes from another store; then catchUp sends all lists.
func (s *streams) catchUp(stream *sse.Stream, r *edge.Request, after int64, wanted func(todo.Snapshot) bool) (sent int64, err error) {
	newest, err := find(stream.Context(), r, board.Query{Limit: 1})
	if err != nil {
		return 0, err
	}
	if len(newest) > 0 && newest[0].Seq < after {
		after = 0
	}
	for {
		lists, err := find(stream.Context(), r, board.Query{AfterSeq: after, OldestFirst: true, Limit: catchUpPage})
		if err != nil {
			return 0, err
		}
		for _, l := range lists {
			if after = l.Seq; !wanted(l) {
				continue
			}
			if err := s.send(stream, l); err != nil {
				return 0, err
			}
		}
		if len(lists) < catchUpPage {
			return after, nil
		}
	}
}

// find reads lists within the time limit of one read.
func find(ctx context.Context, r *edge.Request, q board.Query) ([]todo.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, r.ReadTimeout())
	defer cancel()
	return r.Lists.Find(ctx, q)
}

func (s *streams) send(stream *sse.Stream, l todo.Snapshot) error {
	return s.Send(stream, eventKey{"", l.List.Parent, l.Seq, l.Stood}, func() []sse.Event { return updates(l) })
}

// updates returns the events of a list: for a main list two, the whole list and then its items alone, else one. Only
// the last event has an id, so that a reader whose stream breaks between the two gets both again.
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

// The rest of this file serves the event stream of write_todos for front ends (docs/spec/variants.md W2, W3). Each
// call of any variant is sent as a call of write_todos with the whole list.

type toolUse struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Name    string `json:"name"`
	Message string `json:"tool_content_message,omitempty"` // the title that a front end shows above the block
	Input   struct {
		Todos []todoItem `json:"todos"`
	} `json:"input"`
	// Parent, in a sub-agent's call, is the id of the main agent's first block. Front ends can skip such calls.
	Parent string `json:"parent_tool_use_id,omitempty"`
}

type blockEvent struct {
	Type  string   `json:"type"`
	Index int64    `json:"index"`
	Block *toolUse `json:"content_block,omitempty"`
}

func blockOf(s todo.Snapshot, id string) toolUse {
	b := toolUse{Type: "tool_use", ID: id, Name: "write_todos", Message: "Update Todos"}
	b.Input.Todos = todosOf(s, false)
	if s.List.Agent != "" {
		main := cmp.Or(s.List.Parent, s.List.ID) // the main agent may have no list yet
		b.Parent = blockID(todo.Snapshot{List: todo.List{ID: main}, Revision: 1})
	}
	return b
}

// blockID returns the id of a revision's block on the stream and in the history.
func blockID(s todo.Snapshot) string { return fmt.Sprintf("toolu_%s_%d", s.List.ID, s.Revision) }

// follow streams calls as they are made, in this process and others that share the store. ?list= restricts the stream
// to one list, by id or name, and the next lists of its conversation.
func (s *streams) follow(w http.ResponseWriter, r *edge.Request) error {
	chain, err := chainOf(r)
	if err != nil {
		return err
	}
	index := int64(0)
	return run(w, r, r.Lists.Calls(), (*sse.Stream).Begin, func(stream *sse.Stream, l todo.Snapshot) error {
		if !chain.Has(l.List) {
			return nil
		}
		key := eventKey{call: blockID(l), parent: l.List.Parent, number: index}
		if l.Call != "" { // the call made no revision
			key.call += "_" + l.Call
		}
		index++
		return s.Send(stream, key, func() []sse.Event {
			block := blockOf(l, key.call)
			return []sse.Event{{Data: blockEvent{"content_block_start", key.number, &block}}, {Data: blockEvent{"content_block_stop", key.number, nil}}}
		})
	})
}

// workspaceAnswer is the history of a chat's lists in the forms that a front end reads when it reloads (W3).
type workspaceAnswer struct {
	Workspace struct {
		Todos []todoItem `json:"todos"` // null if there is no list, [] if it is empty
	} `json:"workspace"`
	Messages []historyMessage  `json:"messages"` // of the assistant
	History  []json.RawMessage `json:"history"`  // the messages as a front end parses them
}

type historyMessage struct {
	Role      string    `json:"role"`
	Content   []toolUse `json:"content"`
	ToolCalls []toolUse `json:"tool_calls"` // always empty
}

type historyAnswer struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	Streaming bool      `json:"isStreaming"`
	Blocks    []toolUse `json:"blocks"`
}

// workspace answers with the list with the id or name ?list=, by default the main list that changed last, and with a
// page of its chat's history: the newest messages below ?before=. The header Link has the page of older messages, if
// any. Histories are empty when there is no such list.
func workspace(w http.ResponseWriter, r *edge.Request) error {
	before, err := r.QueryNumber("before", 0)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	l, err := workspaceList(r, query.Get("list"))
	answer := workspaceAnswer{Messages: []historyMessage{}, History: []json.RawMessage{}}
	if err == nil {
		query.Set("list", cmp.Or(query.Get("list"), l.List.ID)) // another list may soon be the newest
		answer.Workspace.Todos = todosOf(l, false)
		before, err = edge.InTurn(r, func() (int64, error) { return answer.addHistory(r, query.Get("list"), l, before) })
		if err == nil && before > 0 {
			link(w, "prev", query, "before", before)
		}
	}
	if err != nil && !errors.Is(err, board.ErrNotFound) {
		return err
	}
	return edge.WriteJSON(w, http.StatusOK, answer)
}

// addHistory adds a page of a chat's messages, oldest first, to Messages, and in a front end's parsed form to History.
// wanted is the id or name of a list that the chat held; newest is its current list. Messages are numbered across all
// its lists. A page has the last messages numbered below before; 0 means all. more is the next page's before, or 0.
func (a *workspaceAnswer) addHistory(r *edge.Request, wanted string, newest todo.Snapshot, before int64) (more int64, err error) {
	if wanted == newest.List.Name {
		wanted = newest.List.ID
	}
	lists, err := r.Lists.Plans(r.Context(), wanted, newest.List, maxPlans)
	if err != nil {
		return 0, err
	}
	type message struct {
		list     string
		revision int64
	}
	var all []message
	for _, id := range lists {
		l, err := r.Lists.Load(r.Context(), id, 0)
		if isLost(err) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if l.ReplacedBy != "" { // no call made the last revision: skip it
			l.Revision--
		}
		for n := range l.Revision {
			all = append(all, message{id, n + 1})
		}
	}
	if before > 0 {
		all = all[:min(int64(len(all)), before-1)]
	}
	p := newPage(0, maxPage/2) // the other half is for a.Messages
	defer func() {
		slices.Reverse(p.forms)
		slices.Reverse(a.Messages)
		a.History = p.forms
	}()
	for n, m := range slices.Backward(all) {
		s, err := r.Lists.Load(r.Context(), m.list, m.revision)
		if isLost(err) {
			continue
		}
		if err != nil {
			return 0, err
		}
		block := blockOf(s, blockID(s))
		if p.add(historyAnswer{ID: fmt.Sprintf("session-history-%d", n+1), Type: "ai_answer", Blocks: []toolUse{block}}); p.full {
			return int64(n) + 2, nil
		}
		block.Message = ""
		a.Messages = append(a.Messages, historyMessage{Role: "assistant", Content: []toolUse{block}, ToolCalls: []toolUse{}})
	}
	return 0, nil
}

// isLost reports whether an error says that a revision is not kept or cannot be read.
func isLost(err error) bool {
	return errors.Is(err, board.ErrNotFound) || errors.Is(err, board.ErrDamaged)
}

// workspaceList returns, if wanted is an id, the newest list of that list's conversation; if wanted is a name, the last
// changed list of that name; if wanted is empty, the last changed main list.
func workspaceList(r *edge.Request, wanted string) (todo.Snapshot, error) {
	chain, err := r.Lists.Chain(r.Context(), wanted)
	if err != nil {
		return todo.Snapshot{}, err
	}
	if wanted != "" {
		if l, err := r.Lists.Load(r.Context(), chain.Newest, 0); !errors.Is(err, board.ErrNotFound) {
			return l, err
		}
	}
	for lists, err := range r.Lists.Pages(r.Context(), board.Query{Excerpt: true}) {
		if err != nil {
			return todo.Snapshot{}, err
		}
		for _, l := range lists {
			if !chain.Has(l.List) || wanted == "" && l.List.Agent != "" {
				continue
			}
			if l, err := r.Lists.Load(r.Context(), l.List.ID, 0); !isLost(err) {
				return l, err
			}
		}
	}
	return todo.Snapshot{}, board.ErrNotFound
}
