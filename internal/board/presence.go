package board

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/process"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// States returns how lists stand, by id.
func (l Lists) States(ctx context.Context, lists ...todo.Snapshot) (map[string]todo.Standing, error) {
	states := make(map[string]todo.Standing, len(lists))
	asks := func(s todo.Snapshot) bool { return !s.Done() && !s.Archived && s.List.Conversation != "" }
	asked := 0
	for _, s := range lists {
		if asks(s) {
			asked++
		}
	}
	who := l.attendance(asked, lists...)
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
	q := Query{Parent: main.List.ID}
	if main.IsChat() {
		q = Query{UpdatedSince: main.List.Created, Excerpt: true}
	}
	if subs, err = l.Find(ctx, q); err != nil {
		return nil, nil, err
	}
	subs = slices.DeleteFunc(subs, func(s todo.Snapshot) bool {
		return main.IsChat() && (s.List.Parent != "" || s.List.ParentConversation != main.List.ID)
	})
	states, err = l.States(ctx, append(subs, main)...)
	return subs, states, err
}

// Saw returns the revision of a list up to s that any of its agents last saw; s where
// no agent ever saw or wrote one.
func (l Lists) Saw(ctx context.Context, s todo.Snapshot) (todo.Snapshot, error) {
	if !s.Writer.Person {
		return s, nil
	}
	on, err := l.board.store.SeenOn(ctx, s.List.Principal, s.List.ID)
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

// attendance finds who holds lists, and what they do. Of many it reads at once who holds any, of
// few who holds each; each chat, and each process, is asked for once.
type attendance struct {
	lists   Lists
	few     bool
	holders map[string]map[string][]Seen   // by principal and list
	current map[string]map[string][]string // the lists that chats hold, by principal and chat
	chats   map[string]todo.Chat
	alive   map[string]life // processes
	open    map[string]bool // whether lists that were read are open, and not archived
}

// fewLists is how many lists are asked for one by one.
const fewLists = 16

// attendance begins to find that of so many lists, or chats. read are lists that were read.
func (l Lists) attendance(many int, read ...todo.Snapshot) *attendance {
	a := &attendance{lists: l, few: many <= fewLists, holders: make(map[string]map[string][]Seen), current: make(map[string]map[string][]string),
		chats: make(map[string]todo.Chat), alive: make(map[string]life), open: make(map[string]bool, len(read))}
	for _, s := range read {
		a.open[s.List.ID] = s.Open() && !s.Archived
	}
	return a
}

// attend returns what is known of the agents that hold a list.
func (a *attendance) attend(ctx context.Context, s todo.Snapshot) (agent todo.Agent, err error) {
	of, id := s.List.Principal, s.List.ID
	if s.IsChat() {
		chat, err := a.chat(ctx, id)
		if err != nil {
			return agent, fmt.Errorf("find what the agent does: %w", err)
		}
		isHere, err := a.hasRow(ctx, chat)
		agent.Here = isHere
		return agent.And(chat), err
	}
	only := ""
	if a.few {
		only = id
	}
	if err := a.read(ctx, of, only); err != nil {
		return agent, err
	}
	if agent, err = a.agentOf(ctx, a.holders[of][id]); err != nil {
		return agent, fmt.Errorf("find what the agents do: %w", err)
	}
	// A key that several chats share holds the list that one of them wrote last; the
	// others are at rest only after a while.
	if agent.Here || !todo.IsSeveral(s.List.Conversation) || a.lists.board.now().Sub(s.Worked) > SharedRest {
		return agent, nil
	}
	chat, err := a.chat(ctx, s.List.Conversation)
	if err != nil {
		return agent, fmt.Errorf("find whose current list it is: %w", err)
	}
	agent.Here = a.isHere(chat)
	return agent, nil
}

// read reads who holds a list, or any of a principal's lists where only is empty: once.
func (a *attendance) read(ctx context.Context, of, only string) error {
	if a.holders[of] != nil && only == "" {
		return nil
	}
	on, err := a.lists.board.store.SeenOn(ctx, of, only)
	if err != nil {
		return fmt.Errorf("find who holds the lists: %w", err)
	}
	a.holders[of], a.current[of] = make(map[string][]Seen), make(map[string][]string)
	for _, c := range on {
		if c.Current {
			a.holders[of][c.List] = append(a.holders[of][c.List], c)
			a.current[of][c.Chat] = append(a.current[of][c.Chat], c.List)
		}
	}
	return nil
}

// isHere is [Board.isHere], which asks the system once for each process.
func (a *attendance) isHere(c todo.Chat) bool {
	board := a.lists.board
	return c.IsHere(board.now(), func(process string) (is, isKnown bool) {
		l, asked := a.alive[process]
		if !asked {
			l.is, l.isKnown = alive(board.isAlive)(process)
			a.alive[process] = l
		}
		return l.is, l.isKnown
	})
}

// life is whether a process lives, as far as that is known.
type life struct{ is, isKnown bool }

// alive returns what tells of servers, by a store, and of the processes of hosts whether they live.
func alive(server func(process string) bool) func(process string) (is, isKnown bool) {
	return func(id string) (is, isKnown bool) {
		if host, isHost := strings.CutPrefix(id, todo.HostProcess); isHost {
			return process.IsAlive(host)
		}
		return id != todo.Detached && server(id), id != todo.Detached
	}
}

// isHere reports whether a chat is there as far as can be told.
func (b *Board) isHere(c todo.Chat) bool { return c.IsHere(b.now(), alive(b.isAlive)) }

func (b *Board) isAlive(process string) bool { return process == b.process || b.store.Alive(process) }

// anyHere reports whether one of some chats that know a list is there, of those that count.
func (b *Board) anyHere(ctx context.Context, r Reader, on []Seen, counts func(Seen) bool) (bool, error) {
	return anyHere(ctx, r, on, counts, b.isHere)
}

func anyHere(ctx context.Context, r Reader, on []Seen, counts func(Seen) bool, isHere func(todo.Chat) bool) (bool, error) {
	for _, s := range on {
		if !counts(s) {
			continue
		}
		if chat, err := r.Chat(ctx, s.Chat); err != nil || isHere(chat) {
			return err == nil, err
		}
	}
	return false, nil
}

// holds reports whether a list may be the current one of a chat: of one that is several chats
// it may be that of any of them.
func (s Seen) holds() bool { return s.Current || s.Held > 0 && todo.IsSeveral(s.Chat) }

// here returns the process that serves a conversation, this one, which others know as alive from
// then on. Else the conversation would count as gone while it calls.
func (l Lists) here(c Conversation) (h todo.Here) {
	b := l.board
	if (c.Key != "" || c.Name != "") && !c.Detached && !l.readOnly {
		b.attending.Do(func() { b.leave, _ = b.store.Attend(b.process) })
	}
	h.Process = b.process
	if c.Detached {
		h.Process = cmp.Or(c.Host, todo.Detached)
	}
	if c.Lasts > 0 {
		h.Until = b.now().Add(c.Lasts).Round(0).UTC()
	}
	return h
}

// Stay says that a chat is connected, although it makes no call now; Leave that it is not any
// more. What it holds stays bound to it. Neither makes a chat.
func (l Lists) Stay(ctx context.Context, c Conversation) error {
	here := l.here(c)
	return l.hearKnown(ctx, c, func(c *todo.Chat, _ time.Time) { c.Serve(here) })
}

// Leave is described at [Lists.Stay].
func (l Lists) Leave(ctx context.Context, c Conversation) error {
	process := l.here(c).Process
	return l.hearKnown(ctx, c, func(c *todo.Chat, at time.Time) { c.Leave(process, at) })
}

// hearKnown is [Lists.Hear] of a chat that is there already.
func (l Lists) hearKnown(ctx context.Context, c Conversation, heard func(c *todo.Chat, at time.Time)) error {
	if l.readOnly || c.Key == "" {
		return nil
	}
	if known, err := l.Chat(ctx, c); err != nil || known.ID == "" {
		return err
	}
	_, err := l.Hear(ctx, c, heard)
	return err
}
