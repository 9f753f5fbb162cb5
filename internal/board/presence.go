package board

import (
	"context"
	"fmt"
	"slices"
	"time"

	"todo-mcp/internal/todo"
)

// States returns how lists stand, by id.
func (l Lists) States(ctx context.Context, lists ...todo.Snapshot) (map[string]todo.Standing, error) {
	states := make(map[string]todo.Standing, len(lists))
	asks := func(s todo.Snapshot) bool { return !s.Settled() && !s.Archived && s.List.Conversation != "" }
	asked := 0
	for _, s := range lists {
		if asks(s) {
			asked++
		}
	}
	who := l.attendance(asked)
	for _, s := range lists {
		var agent todo.Agent
		if asks(s) {
			var err error
			if agent, err = who.attend(ctx, s); err != nil {
				return nil, err
			}
		}
		states[s.List.ID] = s.Stands(agent, l.board.now())
	}
	return states, nil
}

// Together returns the lists of the sub-agents of a main list, and the states of all
// of them and of the main list, by id.
func (l Lists) Together(ctx context.Context, main todo.Snapshot) (subs []todo.Snapshot, states map[string]todo.Standing, err error) {
	if subs, err = l.Find(ctx, Query{Parent: main.List.ID}); err != nil {
		return nil, nil, err
	}
	states, err = l.States(ctx, append(subs, main)...)
	return subs, states, err
}

// Saw returns the revision of a list up to s that any of its agents last saw; s where
// no agent ever saw or wrote one.
func (l Lists) Saw(ctx context.Context, s todo.Snapshot) (todo.Snapshot, error) {
	if !s.Writer.Person {
		return s, nil
	}
	on, err := l.board.store.CursorsOn(ctx, s.List.Principal, s.List.ID)
	if err != nil {
		return s, fmt.Errorf("find what agents have seen: %w", err)
	}
	saw, err := shownToAgents(ctx, l.board.store, s, on)
	if err != nil || saw.Revision == 0 {
		return s, err
	}
	return saw, nil
}

// SharedRest is how long a list must rest before it counts as left behind by a
// key that several chats share: one of them writing another list does not mean
// that the chat of this one has left it.
const SharedRest = time.Hour

// attendance finds who holds lists, and what they do. Of many it reads all cursors once, of few
// those of each; each chat, and each process, is asked for once.
type attendance struct {
	lists   Lists
	few     bool
	holders map[string]map[string][]Cursor // by principal and list
	chats   map[string]todo.Chat
	alive   map[string]bool // processes
}

// fewLists is how many lists are asked for one by one.
const fewLists = 16

func (l Lists) attendance(lists int) *attendance {
	return &attendance{lists: l, few: lists <= fewLists, holders: make(map[string]map[string][]Cursor),
		chats: make(map[string]todo.Chat), alive: make(map[string]bool)}
}

// attend returns what is known of the agents that hold a list.
func (a *attendance) attend(ctx context.Context, s todo.Snapshot) (agent todo.Agent, err error) {
	of, id := s.List.Principal, s.List.ID
	if a.holders[of] == nil || a.few {
		only := ""
		if a.few {
			only = id
		}
		on, err := a.lists.board.store.CursorsOn(ctx, of, only)
		if err != nil {
			return agent, fmt.Errorf("find who holds the lists: %w", err)
		}
		a.holders[of] = make(map[string][]Cursor)
		for _, c := range on {
			if c.Current {
				a.holders[of][c.List] = append(a.holders[of][c.List], c)
			}
		}
	}
	if agent, err = a.agentOf(ctx, a.holders[of][id]); err != nil {
		return agent, fmt.Errorf("find what the agents do: %w", err)
	}
	// A key that several chats share holds the list that one of them wrote last; the
	// others are at rest only after a while.
	if agent.Here || !todo.IsSeveral(s.List.Conversation) || a.lists.board.now().Sub(s.Worked) > SharedRest {
		return agent, nil
	}
	cursors, err := a.lists.board.store.Cursors(ctx, Key{of, s.List.Conversation})
	if err != nil {
		return agent, fmt.Errorf("find whose current list it is: %w", err)
	}
	agent.Here = slices.ContainsFunc(cursors, func(c Cursor) bool { return c.List == id && a.isPresent(c) })
	return agent, nil
}

// isPresent is [Board.isPresent], which asks the system for a process.
func (a *attendance) isPresent(c Cursor) bool {
	board := a.lists.board
	return c.isPresent(board.now(), func(process string) bool {
		alive, known := a.alive[process]
		if !known {
			alive = process == board.process || board.store.Alive(process)
			a.alive[process] = alive
		}
		return alive
	})
}

// isPresent reports whether the conversation of a cursor is there as far as can be
// told.
func (b *Board) isPresent(c Cursor) bool {
	return c.isPresent(b.now(), func(process string) bool { return process == b.process || b.store.Alive(process) })
}

func (c Cursor) isPresent(now time.Time, alive func(process string) bool) bool {
	served := c.Process == Detached || c.Process != "" && alive(c.Process)
	return served && (c.Until.IsZero() || now.Before(c.Until))
}

// holds reports whether a conversation may hold the list of its cursor: of one that is
// several chats any of them may.
func (c Cursor) holds() bool { return c.Current || c.Moved > 0 && todo.IsSeveral(c.Conversation) }

// presence returns what [Cursor.Process] and [Cursor.Until] are for a conversation that
// calls this board.
func (b *Board) presence(c Conversation) (process string, until time.Time) {
	process = b.process
	if c.Detached {
		process = Detached
	}
	if c.Lasts > 0 {
		until = b.now().Add(c.Lasts)
	}
	return process, until
}

// Stay says that a conversation is connected, although it makes no call now; Leave
// that it has ended. What it holds stays bound to it.
func (l Lists) Stay(ctx context.Context, c Conversation) error {
	_, until := l.board.presence(c)
	return l.setUntil(ctx, c, until)
}

// Leave is described at [Lists.Stay].
func (l Lists) Leave(ctx context.Context, c Conversation) error {
	return l.setUntil(ctx, c, l.board.now())
}

func (l Lists) setUntil(ctx context.Context, c Conversation, until time.Time) error {
	if l.readOnly {
		return nil // it holds nothing
	}
	c = l.Own(c)
	key := Key{l.principal, c.Key}
	if c.Key == "" {
		return nil
	}
	cursors, err := l.board.store.Cursors(ctx, key)
	if err != nil {
		return fmt.Errorf("find the conversation's list: %w", err)
	}
	if len(cursors) == 0 || !cursors[0].Current || cursors[0].Until.Equal(until) {
		return nil
	}
	l.attend(c)
	process, _ := l.board.presence(c)
	return l.setCursors(ctx, Cursor{Key: key, List: cursors[0].List, Process: process, Until: until})
}
