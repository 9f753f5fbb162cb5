package board

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Chat reads the chat of a conversation; the zero Chat if there is none, or it is another user's.
func (l Lists) Chat(ctx context.Context, c Conversation) (todo.Chat, error) {
	chat, err := l.board.store.Chat(ctx, l.Own(c).Key)
	if err != nil || !l.has(chat) {
		return todo.Chat{}, err
	}
	return chat, nil
}

// has reports whether a chat belongs to the identity's own user.
func (l Lists) has(c todo.Chat) bool { return c.Principal == l.id.Principal && c.User == l.id.Subject }

// OwnChats reads the chats of the identity's own user that were used since a time.
func (l Lists) OwnChats(ctx context.Context, since time.Time) ([]todo.Chat, error) {
	return l.board.store.Chats(ctx, ChatQuery{Principal: &l.id.Principal, User: &l.id.Subject, UsedSince: since})
}

// Hear lets a function (heard) change the chat of a conversation, a new chat if needed, and saves the chat. Further
// functions (also) are called in the same transaction with the chat's id. Without them, Hear writes only if the chat
// changes. It returns the chat as it was before, or [ErrNotFound] for another user's chat.
func (l Lists) Hear(ctx context.Context, c Conversation, heard func(c *todo.Chat, at time.Time),
	also ...func(tx Tx, chat string) error) (was todo.Chat, err error) {
	c = l.Own(c)
	var next todo.Chat
	change := func(r Reader) error {
		if was, err = r.Chat(ctx, c.Key); err != nil {
			return err
		}
		if was.ID != "" && !l.has(was) {
			return errNoSnapshot // users of one principal see each other's chat ids in lists
		}
		if next = was; next.ID == "" {
			next = l.newChat(c)
		} else {
			next.Folder, next.Client = cmp.Or(c.Workspace, next.Folder), cmp.Or(next.Client, c.Client)
		}
		at := l.board.now()
		next.Use(at)
		if c.Detached {
			next.Serve(l.here(c))
		}
		heard(&next, at)
		return nil
	}
	if len(also) == 0 {
		if err = change(l.board.store); err == nil && next == was {
			return was, nil
		}
	}
	if err == nil {
		err = l.update(ctx, Key{l.id.Principal, c.Key, c.Mirrors}, func(tx Tx) error {
			err := change(tx)
			if err == nil && next != was {
				_, err = tx.SaveChat(ctx, next)
			}
			for _, do := range also {
				if err == nil {
					err = do(tx, c.Key)
				}
			}
			return err
		})
	}
	if err != nil {
		return was, fmt.Errorf("note what is heard of the chat: %w", err)
	}
	return was, nil
}

// HearKey stores a key by which [Lists.Keyed] finds a conversation's chat. The key expires after the given duration, at
// most [KeyAge]. HearKey also calls [todo.Chat.GoOn].
func (l Lists) HearKey(ctx context.Context, c Conversation, kind KeyKind, text string, lasts time.Duration) error {
	_, err := l.Hear(ctx, c, func(c *todo.Chat, _ time.Time) { c.GoOn() }, func(tx Tx, chat string) error {
		return tx.SetKey(ctx, l.chatKey(kind, text), chat, l.board.now().Add(lasts))
	})
	return err
}

func (l Lists) chatKey(kind KeyKind, text string) ChatKey {
	return ChatKey{l.id.Principal, l.id.Subject, kind, todo.HostID(text)}
}

// Keyed returns the chat for which [Lists.HearKey] stored a key; the zero Chat if there is none.
func (l Lists) Keyed(ctx context.Context, kind KeyKind, text string) (todo.Chat, error) {
	chat, err := l.board.store.Keyed(ctx, l.chatKey(kind, text))
	if err != nil || chat == "" {
		return todo.Chat{}, err
	}
	return l.board.store.Chat(ctx, chat)
}

// newChat returns a new chat for a conversation.
func (l Lists) newChat(c Conversation) todo.Chat {
	return todo.Chat{ID: c.Key, Principal: l.id.Principal, User: l.id.Subject, Client: c.Client, HostID: c.Chat, Folder: c.Workspace,
		Parent: c.Parent, Agent: c.Agent, Began: l.board.now().Round(0).UTC()}
}

// TryWrite returns an error if the store cannot be written. To find out, it stores a key.
func (l Lists) TryWrite(ctx context.Context) error {
	_, err := l.claim(ctx, l.id.Principal, "probe", 0)
	return err
}

// Claim lets one of the processes on the store do a task about a list, such as to notify a person. It returns the zero
// time if the caller has to do the task, else the time of an earlier claim. A claim counts for the given duration, at
// most [KeyAge]. If the process that claimed a task ends before it is done, the task is not done.
func (l Lists) Claim(ctx context.Context, list todo.List, what string, within time.Duration) (earlier time.Time, err error) {
	of := l.id.Principal
	if l.all {
		of = list.Principal
	}
	return l.claim(ctx, of, list.ID+" "+what, within)
}

// claim is [Lists.Claim] for any task of the identity's own user. The key that notes the claim belongs to the given
// principal (of).
func (l Lists) claim(ctx context.Context, of, what string, within time.Duration) (earlier time.Time, err error) {
	k := ChatKey{of, l.id.Subject, NoticeKey, what}
	err = l.update(ctx, Key{Chat: strings.Join([]string{k.User, k.Text}, " ")}, func(tx Tx) error {
		earlier = time.Time{}
		said, err := tx.Keyed(ctx, k)
		if err != nil {
			return err
		}
		at := l.board.now()
		if before, err := time.Parse(time.RFC3339Nano, said); err == nil && at.Sub(before).Abs() < within {
			earlier = before
			return nil
		}
		return tx.SetKey(ctx, k, at.Format(time.RFC3339Nano), at.Add(KeyAge))
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("claim: %w", err)
	}
	return earlier, nil
}

// hear notes the write in its conversation's chat. If the write begins a list, hear returns the list's topic. It saves
// the chat before the list, so that watchers receive both at once. It does not save a new chat if the store is full.
func (a *attempt) hear(ctx context.Context, begins bool) (topic string, err error) {
	who := a.Conversation
	if who.Key == "" || a.Writer.Person {
		return "", nil
	}
	chat, err := a.tx.Chat(ctx, who.Key)
	if err != nil {
		return "", err
	}
	was := chat
	switch {
	case chat.ID == "":
		chat = a.newChat(who)
	case !a.has(chat):
		return "", errNoSnapshot
	}
	chat.Use(a.at)
	chat.GoOn()
	chat.Serve(a.here)
	if chat.Doing != todo.NotKnown { // without hooks nothing would say that the turn ends
		chat.Says(todo.Works, "", a.at)
	}
	if begins && who.Agent == "" && who.Parent == "" && who.Name == "" {
		topic, a.branch = chat.Take(a.at), chat.Branch
	}
	if chat != was {
		_, err = a.tx.SaveChat(ctx, chat)
	}
	if errors.Is(err, ErrStoreFull) {
		err = nil
	}
	return topic, err
}

// Bind makes a list the current one of a conversation's chat, and notes that the chat has seen its newest revision. It
// is called when a plugin of the host reports that the chat wrote the list. It returns [ErrNotFound] unless the chat,
// or another chat of the same user, knows the list.
func (l Lists) Bind(ctx context.Context, c Conversation, list string) error {
	c = l.Own(c)
	on, err := l.board.store.SeenOn(ctx, l.id.Principal, list)
	isOwn := slices.ContainsFunc(on, func(s Seen) bool { return s.Chat == c.Key })
	if err == nil && !isOwn {
		isUsers := func(c todo.Chat) bool { return c.ID != "" && c.User == l.id.Subject }
		isOwn, err = anyChat(ctx, l.board.store, on, func(Seen) bool { return true }, isUsers)
	}
	if err != nil {
		return err
	}
	s, err := l.Load(ctx, list, 0)
	if err != nil || !isOwn {
		return errNoSnapshot
	}
	_, err = l.Hear(ctx, c, func(*todo.Chat, time.Time) {}, func(tx Tx, chat string) error {
		return l.see(ctx, tx, Seen{Key: Key{l.id.Principal, chat, c.Mirrors}, List: list, Revision: s.Revision, Current: true})
	})
	return err
}
