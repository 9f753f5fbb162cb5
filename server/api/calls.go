package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/sse"
)

// This file serves the event stream of write_todos for front ends
// (docs/spec/variants.md W2, W3). Each call of any variant is sent as a call of
// write_todos with the whole list.

type toolUse struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Name    string `json:"name"`
	Message string `json:"tool_content_message,omitempty"` // the title that a front end shows above it
	Input   struct {
		Todos []todoItem `json:"todos"`
	} `json:"input"`
	// Parent is set for a sub-agent's call, so that a front end can skip it: the block by
	// which the main agent's list began.
	Parent string `json:"parent_tool_use_id,omitempty"`
}

type blockEvent struct {
	Type  string   `json:"type"`
	Index int64    `json:"index"`
	Block *toolUse `json:"content_block,omitempty"`
}

// blockOf returns the block of a snapshot, with a given id.
func blockOf(s todo.Snapshot, id string) toolUse {
	b := toolUse{Type: "tool_use", ID: id, Name: "write_todos", Message: "Update Todos"}
	b.Input.Todos = todosOf(s, false)
	if s.List.Agent != "" {
		main := cmp.Or(s.List.Parent, s.List.ID) // it may have no list yet
		b.Parent = blockID(todo.Snapshot{List: todo.List{ID: main}, Revision: 1})
	}
	return b
}

// blockID returns the id of the block of a revision, which is the same on the
// stream and in the history.
func blockID(s todo.Snapshot) string {
	return fmt.Sprintf("toolu_%s_%d", s.List.ID, s.Revision)
}

// callID returns the id of a call's block: the id of the revision that the call made,
// or a different one when it made none.
func callID(c board.Call) string {
	if c.ID == "" {
		return blockID(c.List)
	}
	return blockID(c.List) + "_" + c.ID
}

// follow streams calls as they are made, in this process and in others that
// share the store. ?list= restricts the stream to one list, by id or name, and those
// with which its conversation goes on.
func (s *streams) follow(w http.ResponseWriter, r *edge.Request) error {
	follower := r.Lists.Calls()
	defer follower.Close()
	chain, err := chainOf(r)
	if err != nil {
		return err
	}
	return r.Stream(w, func(stream *sse.Stream) error {
		if err := stream.Begin(); err != nil {
			return err
		}
		for index := int64(0); ; {
			call, err := follower.Next(stream.Context())
			if err != nil {
				return err
			}
			if !chain.Has(call.List.List) {
				continue
			}
			key := eventKey{call: callID(call), parent: call.List.List.Parent, number: index}
			err = s.Send(stream, key, func() []sse.Event { // the start has the whole input, and the stop follows at once
				block := blockOf(call.List, key.call)
				return []sse.Event{{Data: blockEvent{"content_block_start", key.number, &block}}, {Data: blockEvent{"content_block_stop", key.number, nil}}}
			})
			if err != nil {
				return err
			}
			index++
		}
	})
}

// workspaceAnswer is the history of a chat's lists in the forms that a front end reads when
// it reloads (docs/spec/variants.md W3).
type workspaceAnswer struct {
	Workspace struct {
		// Todos is null when there is no list and [] when the list is empty.
		Todos []todoItem `json:"todos"`
	} `json:"workspace"`
	// Messages are the assistant's messages of the conversation.
	Messages []json.RawMessage `json:"messages"`
	// History is the form into which a front end parses the messages.
	History []json.RawMessage `json:"history"`
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

// workspace answers with the list with the id or name ?list=, or without ?list=
// with the main list that changed last, and with a page of the history of its chat's
// plans: the newest messages below ?before=. Where there are older ones, the header Link has
// the page before. It answers with empty histories when there is no such list.
func workspace(w http.ResponseWriter, r *edge.Request) error {
	before, err := r.QueryNumber("before", 0)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	l, err := workspaceList(r, query.Get("list"))
	var answer workspaceAnswer
	p := &page{}
	if err == nil {
		query.Set("list", cmp.Or(query.Get("list"), l.List.ID)) // another may be the newest soon
		answer.Workspace.Todos = todosOf(l, false)
		p, err = edge.InTurn(r, func() (*page, error) {
			plans, err := plansOf(r, query.Get("list"), l)
			if err != nil {
				return &page{}, err
			}
			p, first, err := workspaceHistory(r, plans, before)
			before = first
			return p, err
		})
	}
	if err != nil && !errors.Is(err, board.ErrNotFound) {
		return err
	}
	if p.full {
		link(w, "prev", query, "before", before)
	}
	answer.Messages, answer.History = p.form(0), p.form(1)
	return edge.WriteJSON(w, http.StatusOK, answer)
}

// plan is a list of a chat, with the number of its revisions that are messages.
type plan struct {
	list     string
	messages int64
}

// maxPlans is over how many plans of a chat its history goes.
const maxPlans = 100

// plansOf returns the plans of the chat that held a list, with the id or name wanted, and now
// holds another or the same; oldest first.
func plansOf(r *edge.Request, wanted string, newest todo.Snapshot) ([]plan, error) {
	if wanted == newest.List.Name {
		wanted = newest.List.ID
	}
	ids, err := r.Lists.Plans(r.Context(), wanted, newest.List, maxPlans)
	if err != nil {
		return nil, err
	}
	var plans []plan
	for _, id := range ids[:len(ids)-1] {
		l, err := r.Lists.Load(r.Context(), id, 0)
		switch {
		case errors.Is(err, board.ErrNotFound), errors.Is(err, board.ErrDamaged):
			continue
		case err != nil:
			return nil, err
		case l.ReplacedBy != "": // that was no call
			l.Revision--
		}
		plans = append(plans, plan{id, l.Revision})
	}
	return append(plans, plan{newest.List.ID, newest.Revision}), nil
}

// workspaceHistory reads a page of the messages of a chat's plans, as messages and as history,
// in ascending order. They are numbered from the first plan on; the page has those below
// before (0: all of them), and is returned with the number of its first one.
func workspaceHistory(r *edge.Request, plans []plan, before int64) (p *page, first int64, err error) {
	number := int64(0) // of the message that is read
	for _, plan := range plans {
		number += plan.messages
	}
	earlier := number // how many messages the plans before one have
	if before > 0 {
		number = min(number, before-1)
	}
	p = &page{limit: maxListed, most: maxPage}
	for _, plan := range slices.Backward(plans) {
		earlier -= plan.messages
		for ; number > earlier; number-- {
			s, err := r.Lists.Load(r.Context(), plan.list, number-earlier)
			if errors.Is(err, board.ErrNotFound) {
				break // it is kept no more, nor are those before it
			}
			if errors.Is(err, board.ErrDamaged) {
				continue
			}
			if err == nil {
				err = p.addMessage(s, number)
			}
			if err != nil || p.full {
				slices.Reverse(p.revisions)
				return p, number + 1, err
			}
		}
		number = min(number, earlier)
	}
	slices.Reverse(p.revisions)
	return p, number + 1, nil
}

// addMessage adds a revision with its number in the history, as a message and as a front end
// parses that.
func (p *page) addMessage(s todo.Snapshot, number int64) error {
	block := blockOf(s, blockID(s))
	form := historyAnswer{ID: fmt.Sprintf("session-history-%d", number), Type: "ai_answer", Blocks: []toolUse{block}}
	block.Message = ""
	return p.add(s, historyMessage{Role: "assistant", Content: []toolUse{block}, ToolCalls: []toolUse{}}, form)
}

// workspaceList returns the list with an id, or the one with which its conversation
// went on, else the one that changed last with a name; when wanted is empty, the main
// list that changed last.
func workspaceList(r *edge.Request, wanted string) (todo.Snapshot, error) {
	chain, err := r.Lists.Chain(r.Context(), wanted)
	if err != nil {
		return todo.Snapshot{}, err
	}
	if wanted != "" {
		if l, err := r.Lists.Load(r.Context(), chain.Newest(), 0); !errors.Is(err, board.ErrNotFound) {
			return l, err
		}
	}
	matches := func(l todo.Snapshot) bool { return chain.Has(l.List) && (wanted != "" || l.List.Agent == "") }
	for l, err := range inOrder(r.Context(), r, board.Query{BeforeSeq: math.MaxInt64, Limit: listsAtOnce}) {
		if err != nil || matches(l) {
			return l, err
		}
	}
	return todo.Snapshot{}, board.ErrNotFound
}

// listsAtOnce is how many lists are held while one is looked for.
const listsAtOnce = 16
