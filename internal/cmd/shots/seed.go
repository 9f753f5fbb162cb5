package main

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/tools"
)

// clock is the board's clock. It is set back before each write, so that lists began earlier today or days ago.
type clock struct{ back time.Duration }

func (c *clock) now() time.Time { return time.Now().Add(-c.back) }

// step is one write of an agent or a person, some time ago.
type step struct {
	back  time.Duration
	items string // the agent's whole list as text, see linesOf
	// Changes of single items, by the agent or by a person, instead of items.
	agent, person todo.Change
}

// plan is a list of the pictures.
type plan struct {
	folder, client, agent string
	title, asks           string // the chat's first prompt and its agent's last question, reported by hooks
	steps                 []step
	left                  bool // its agent has gone
}

// chat is a chat without a list, known from hooks.
type chat struct {
	folder, client, topic string
	does                  todo.Doing
	asks                  string
	back                  time.Duration
}

// last returns how long ago the plan was written last.
func (p plan) last() time.Duration { return p.steps[len(p.steps)-1].back }

// linesOf parses items, one a line: "c done", "i now|Doing it", "p to do".
func linesOf(items string) (lines []todo.Line) {
	words := map[byte]string{'c': "completed", 'i': "in_progress", 'p': "pending"}
	for line := range strings.Lines(strings.TrimSpace(items)) {
		line = strings.TrimSpace(line)
		text, active, ok := strings.Cut(line[2:], "|")
		if !ok {
			active = text
		}
		lines = append(lines, todo.Line{Text: text, Active: active, Status: words[line[0]]})
	}
	return lines
}

// seed writes the lists and chats of the pictures, and returns the id of the first list.
func seed(bd *board.Board, c *clock) (list string, err error) {
	defer func() { c.back = 0 }() // in the end the clock shows the present
	all := plans()
	order := make([]int, len(all))
	for n := range order {
		order[n] = n
	}
	// Write the lists in the order of their last changes: the server sorts them by the order of writes.
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(all[b].last(), all[a].last()) })
	for _, n := range order {
		p := all[n]
		id, err := write(bd, c, p, string(rune('a'+n)))
		if err != nil {
			return "", err
		}
		if n == 0 {
			list = id
		}
	}
	for n, chat := range chats() {
		c.back = chat.back
		who := board.Conversation{Key: todo.ChatKey(string(rune('a' + n))), Client: chat.client, Workspace: chat.folder, Detached: true, Lasts: time.Hour}
		_, err := bd.As("").Hear(context.Background(), who, func(c *todo.Chat, at time.Time) {
			c.Titled(todo.Topic{Text: chat.topic, From: todo.FromPrompt}, at)
			c.Says(chat.does, chat.asks, at)
		})
		if err != nil {
			return "", err
		}
	}
	return list, nil
}

// write writes a list, reports on its chat as hooks do, and returns the list's id.
func write(b *board.Board, c *clock, p plan, key string) (id string, err error) {
	ctx, lists := context.Background(), b.As("")
	conversation := board.Conversation{Key: "shots:" + key, Client: p.client, Workspace: p.folder, Agent: p.agent}
	if p.agent != "" {
		conversation.Key, conversation.Parent = "shots:sub-"+key, "shots:a"
	}
	hear := func(heard func(*todo.Chat, time.Time)) error {
		_, err := lists.Hear(ctx, conversation, heard)
		return err
	}
	if c.back = p.steps[0].back; p.title != "" {
		err = hear(func(chat *todo.Chat, at time.Time) { chat.Titled(todo.Topic{Text: p.title, From: todo.FromPrompt}, at) })
	}
	for _, s := range p.steps {
		c.back = s.back
		w := board.Write{Target: board.Target{Conversation: conversation}, Writer: todo.Writer{Client: p.client, Variant: "TodoWrite", Agent: p.agent}}
		if s.person != nil {
			w = board.Write{Target: board.Target{List: id}, Writer: todo.Writer{Client: "panel", Variant: "edit", Person: true}, Change: s.person}
		} else if w.Change = s.agent; s.agent == nil {
			w.Lines = linesOf(s.items)
			w.Change = func(d *todo.Draft) error { d.Replace(tools.TodoWriteView(), w.Lines); return nil }
		}
		out, err := lists.Apply(ctx, w)
		if err != nil {
			return "", err
		}
		id = out.After.List.ID
	}
	if p.asks != "" {
		err = hear(func(chat *todo.Chat, at time.Time) { chat.Says(todo.Asks, p.asks, at) })
	}
	if p.left {
		err = lists.Leave(ctx, conversation)
	}
	return id, err
}

func status(id string, s todo.Status) func(*todo.Draft) error {
	return func(d *todo.Draft) error { d.SetStatus(id, s); return nil }
}

func block(id, why string) func(*todo.Draft) error {
	return func(d *todo.Draft) error { return d.Edit(todo.Edit{Do: todo.EditBlock, Item: id, Text: why}) }
}
