package board

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/process"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// States returns the standing of each list, by list id.
func (l Lists) States(ctx context.Context, lists ...todo.Snapshot) (map[string]todo.Standing, error) {
	return l.attendance(lists, nil).states(ctx, lists)
}

// WithChats adds to lists the chats of the identity's own user that are shown as lists ([todo.Chat.AsList], see
// hasRow), and returns the standings of all. Such a chat becomes the Parent of its sub-agents' lists.
func (l Lists) WithChats(ctx context.Context, lists []todo.Snapshot) (all []todo.Snapshot, states map[string]todo.Standing, err error) {
	q := ChatQuery{UsedSince: l.board.now().Add(-chatAge)}
	if !l.all {
		q.Principal, q.User = &l.id.Principal, &l.id.Subject
	}
	chats, err := l.board.store.Chats(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	who, without := l.attendance(lists, chats), make(map[string]bool)
	for _, c := range slices.Backward(chats) {
		has, err := who.hasRow(ctx, c)
		if err != nil {
			return nil, nil, err
		}
		if has {
			without[c.ID] = true
			lists = append(lists, c.AsList())
		}
	}
	for i, s := range lists {
		if s.List.Parent == "" && without[s.List.ParentConversation] {
			lists[i].List.Parent = s.List.ParentConversation
		}
	}
	states, err = who.states(ctx, lists)
	return lists, states, err
}

// chatAge is how long after its last use a chat is considered by [Lists.WithChats] and attendance.
const chatAge = 7 * 24 * time.Hour

// Together returns the lists of the sub-agents of a main list, and the states of these and of main, by list id.
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

// Saw returns the last revision of a list, up to s, that an agent saw; s if no agent ever saw or wrote a revision.
func (l Lists) Saw(ctx context.Context, s todo.Snapshot) (todo.Snapshot, error) {
	if !s.Writer.Person {
		return s, nil
	}
	on, err := l.board.store.SeenOn(ctx, s.List.Principal, s.List.ID)
	if err != nil {
		return s, err
	}
	saw, err := shownToAgents(ctx, l.board.store, s, on)
	if err != nil || saw.Revision == 0 {
		return s, err
	}
	return saw, nil
}

// sharedRest is how long a list that is not current counts as held after its last write, if several chats share a key.
const sharedRest = time.Hour

// attendance finds who holds lists, and what they do. It reads each chat once.
type attendance struct {
	lists   Lists
	few     bool                // read only the lists and chats that are asked for, one by one
	read    map[string]bool     // principals of which all current lists are read
	knows   map[string]bool     // principals of which all recent chats are read
	holders map[string][]Seen   // by list
	current map[string][]string // the lists that chats hold, by chat
	chats   map[string]todo.Chat
	open    map[string]bool // whether lists that were read are open, and not archived
}

// fewLists is the most open lists and chats that attendance looks up one by one. For more, it reads all of a principal.
const fewLists = 8

// attendance returns an attendance for the newest snapshots of lists, and for chats.
func (l Lists) attendance(lists []todo.Snapshot, chats []todo.Chat) *attendance {
	a := &attendance{lists: l, read: make(map[string]bool), knows: make(map[string]bool), holders: make(map[string][]Seen), current: make(map[string][]string),
		chats: make(map[string]todo.Chat, len(chats)), open: make(map[string]bool, len(lists))}
	for _, c := range chats {
		a.chats[c.ID] = c
	}
	n := len(chats)
	for _, s := range lists {
		a.open[s.List.ID] = s.Open() && !s.Archived
		if !s.Done() && !s.Archived {
			n++
		}
	}
	a.few = n <= fewLists
	return a
}

// states returns the standing of each list, by id.
func (a *attendance) states(ctx context.Context, lists []todo.Snapshot) (map[string]todo.Standing, error) {
	states := make(map[string]todo.Standing, len(lists))
	for _, s := range lists {
		var agent todo.Agent
		if !s.Done() && !s.Archived && s.List.Conversation != "" {
			var err error
			if agent, err = a.attend(ctx, s); err != nil {
				return nil, err
			}
		}
		states[s.List.ID] = s.Stands(agent, a.lists.board.now())
	}
	return states, nil
}

// attend returns what is known of the agents that hold a list.
func (a *attendance) attend(ctx context.Context, s todo.Snapshot) (agent todo.Agent, err error) {
	if s.IsChat() {
		chat, err := a.chat(ctx, s.List.Principal, s.List.ID)
		if err == nil {
			agent.Here, err = a.hasRow(ctx, chat)
		}
		return agent.And(chat), err
	}
	err = a.readAll(ctx, s.List.Principal)
	on := a.holders[s.List.ID]
	if err == nil && a.few {
		on, err = a.lists.board.store.SeenOn(ctx, s.List.Principal, s.List.ID)
	}
	for _, h := range on {
		if err != nil || !h.Current {
			continue
		}
		var chat todo.Chat
		if chat, err = a.chat(ctx, s.List.Principal, h.Chat); err == nil && a.lists.board.isHere(chat) {
			agent.Here = true
			agent = agent.And(chat)
		}
	}
	// A key that several chats share has one current list; its other lists count as held for sharedRest after a write.
	if err == nil && !agent.Here && todo.IsSeveral(s.List.Conversation) && a.lists.board.now().Sub(s.Worked) <= sharedRest {
		var chat todo.Chat
		chat, err = a.chat(ctx, s.List.Principal, s.List.Conversation)
		agent.Here = a.lists.board.isHere(chat)
	}
	return agent, err
}

// readAll reads a principal's current lists, unless it has read them already or few is set.
func (a *attendance) readAll(ctx context.Context, of string) error {
	if a.few || a.read[of] {
		return nil
	}
	on, err := a.lists.board.store.SeenOn(ctx, of, "")
	for _, s := range on {
		a.holders[s.List] = append(a.holders[s.List], s)
		a.current[s.Chat] = append(a.current[s.Chat], s.List)
	}
	a.read[of] = err == nil
	return err
}

// chat reads a principal's chat once: alone if few is set, else with all of the principal's chats used within chatAge.
func (a *attendance) chat(ctx context.Context, of, id string) (c todo.Chat, err error) {
	c, known := a.chats[id]
	if !known && !a.few && !a.knows[of] {
		a.knows[of] = true
		all, err := a.lists.board.store.Chats(ctx, ChatQuery{Principal: &of, UsedSince: a.lists.board.now().Add(-chatAge)})
		if err != nil {
			return c, err
		}
		for _, chat := range all {
			a.chats[chat.ID] = chat
		}
		c, known = a.chats[id]
	}
	if !known {
		if c, err = a.lists.board.store.Chat(ctx, id); err == nil {
			a.chats[id] = c
		}
	}
	return c, err
}

// alive returns the function for [todo.Chat.IsHere]. It asks the argument, e.g. Store.Alive, about todo-mcp processes.
func alive(server func(process string) bool) func(process string) (is, isKnown bool) {
	return func(id string) (is, isKnown bool) {
		if host, isHost := strings.CutPrefix(id, todo.HostProcess); isHost {
			return process.IsAlive(host)
		}
		return id != todo.Detached && server(id), id != todo.Detached
	}
}

// isHere returns [todo.Chat.IsHere] at the present time.
func (b *Board) isHere(c todo.Chat) bool { return c.IsHere(b.now(), alive(b.isAlive)) }

func (b *Board) isAlive(process string) bool { return process == b.process || b.store.Alive(process) }

// anyChat tries each Seen of on with the function counts and its chat with the function is, until both return true.
func anyChat(ctx context.Context, r Reader, on []Seen, counts func(Seen) bool, is func(todo.Chat) bool) (bool, error) {
	for _, s := range on {
		if !counts(s) {
			continue
		}
		if chat, err := r.Chat(ctx, s.Chat); err != nil || is(chat) {
			return err == nil, err
		}
	}
	return false, nil
}

// IsHeld reports whether a chat that is here holds a list. The argument on has every [Seen] of the list; server is
// [Store.Alive], or works like it.
func IsHeld(ctx context.Context, r Reader, on []Seen, now time.Time, server func(process string) bool) (bool, error) {
	return anyChat(ctx, r, on, Seen.holds, func(c todo.Chat) bool { return c.IsHere(now, alive(server)) })
}

// holds reports whether a chat may hold the list: the list is current or, if several chats share the key, ever was.
func (s Seen) holds() bool { return s.Current || s.Held > 0 && todo.IsSeveral(s.Chat) }

// here returns the process that serves c: the host if c is detached, else this process, which it registers by Attend.
func (l Lists) here(c Conversation) (h todo.Here) {
	b := l.board
	if (c.Key != "" || c.Name != "") && !c.Detached && !l.id.ReadOnly {
		b.attending.Do(func() { b.leave = b.store.Attend(b.process) })
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

// Stay notes that a chat is connected although it makes no call now. It does nothing if there is no chat.
func (l Lists) Stay(ctx context.Context, c Conversation) error {
	here := l.here(c)
	return l.hearKnown(ctx, c, func(c *todo.Chat, _ time.Time) { c.Serve(here) })
}

// Leave notes that a chat is no longer connected. The chat keeps its lists. It does nothing if there is no chat.
func (l Lists) Leave(ctx context.Context, c Conversation) error {
	process := l.here(c).Process
	return l.hearKnown(ctx, c, func(c *todo.Chat, at time.Time) { c.Leave(process, at) })
}

// hearKnown is [Lists.Hear] for an existing chat. It does nothing without a chat, or if the identity may only read.
func (l Lists) hearKnown(ctx context.Context, c Conversation, heard func(c *todo.Chat, at time.Time)) error {
	if l.id.ReadOnly || c.Key == "" {
		return nil
	}
	if known, err := l.Chat(ctx, c); err != nil || known.ID == "" {
		return err
	}
	_, err := l.Hear(ctx, c, heard)
	return err
}

// ChatAsList returns a chat of the identity's user as a list, with Deleted set if [Lists.WithChats] leaves it out.
func (l Lists) ChatAsList(ctx context.Context, id string) (todo.Snapshot, error) {
	c, err := l.board.store.Chat(ctx, id)
	if err != nil || c.ID == "" || !l.all && !l.has(c) {
		return todo.Snapshot{}, cmp.Or(err, errNoSnapshot)
	}
	s := c.AsList()
	has, err := l.attendance(nil, nil).hasRow(ctx, c)
	s.Deleted = !has
	return s, err
}

// hasRow reports whether a chat is shown as a list: hooks say what its agent does, the chat is here,
// it holds no open list, and it is not a sub-agent's.
func (a *attendance) hasRow(ctx context.Context, c todo.Chat) (bool, error) {
	if c.Parent != "" || c.Doing == todo.NotKnown || !a.lists.board.isHere(c) {
		return false, nil
	}
	err := a.readAll(ctx, c.Principal)
	held := a.current[c.ID]
	if err == nil && a.few {
		held, err = heldBy(ctx, a.lists.board.store, c)
	}
	for _, list := range held {
		isOpen, isRead := a.open[list]
		if !isRead && err == nil {
			var s todo.Snapshot
			s, err = a.lists.Load(ctx, list, 0)
			isOpen, err = err == nil && s.Open() && !s.Archived, PassOver(err)
		}
		if isOpen || err != nil {
			return false, err
		}
	}
	return err == nil, err
}

// heldBy returns the ids of the current lists of a chat: that of this program's tools and that of its host's tool.
func heldBy(ctx context.Context, read Reader, c todo.Chat) (lists []string, err error) {
	for _, mirrors := range []bool{false, true} {
		seen, err := read.Seen(ctx, Key{c.Principal, c.ID, mirrors})
		if err != nil {
			return nil, err
		}
		if list := Current(seen); list != "" {
			lists = append(lists, list)
		}
	}
	return lists, nil
}
