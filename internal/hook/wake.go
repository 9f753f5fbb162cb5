package hook

import (
	"context"
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/process"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

const (
	wakeTick = time.Second // how often Wake looks for what a person did
	// restsSoon is how long Wake waits for the agent to rest. If it does not, its turn was kept from ending.
	restsSoon = 10 * time.Second
)

// Wake waits at the end of a turn until a person gives the resting agent something to do. It records that the
// agent works, and returns what to tell it. It returns an empty text when the agent goes on otherwise, isOver
// returns true, the host is gone, or ctx ends.
func (e Event) Wake(ctx context.Context, lists board.Lists, isOver func() bool) (string, error) {
	if e.Agent != "" || !e.endsTurn() || e.waitsForAgents() {
		return "", nil
	}
	tick := time.NewTicker(wakeTick)
	defer tick.Stop()
	for began, rested := time.Now(), false; !isOver(); {
		if isAlive, isKnown := process.IsAlive(e.Process); isKnown && !isAlive {
			return "", nil
		}
		chat, err := lists.Chat(ctx, e.chat())
		rests := chat.Doing == todo.Rests
		if err != nil || !rests && (rested || time.Since(began) > restsSoon) {
			return "", err
		}
		if rested = rests; rests {
			text, err := e.work(ctx, lists)
			if err == nil && text != "" {
				err = e.goesOn(ctx, lists)
			}
			if err != nil || text != "" {
				return text, err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", nil
		}
	}
	return "", nil
}

// work returns the news if a person, since the agent saw its list, added, reworded or reopened an item that is
// open. Other changes do not wake the agent.
func (e Event) work(ctx context.Context, lists board.Lists) (string, error) {
	return e.tell(ctx, lists, func(t board.Target) (saying, error) {
		list, err := lists.Current(ctx, t)
		if err != nil || !list.Writer.Person || list.Archived {
			return nil, err
		}
		saw, err := lists.Saw(ctx, list)
		if err != nil || len(list.Later) == 0 && !slices.ContainsFunc(todo.Diff(saw, list), isWork) {
			return nil, err
		}
		return goOn(ctx, lists, t)
	})
}

func isWork(d todo.Difference) bool {
	i := d.After
	return (d.Kind == todo.Added || d.Kind == todo.Changed) && !i.Status.Settled() && i.Status != todo.Blocked
}
