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
	// wakeTick is how often it is looked for what a person did.
	wakeTick = time.Second
	// restsSoon is after which time an agent that does not rest was kept from ending its turn.
	restsSoon = 10 * time.Second
)

// Wake waits while the agent of an event that ended its turn rests, and returns what it is told
// when a person gives it something to do, which it then is at; empty when it goes on otherwise,
// when isOver says that nobody waits for it, when its host is gone, or when ctx ends.
func (e Event) Wake(ctx context.Context, lists board.Lists, isOver func() bool) (string, error) {
	if e.Agent != "" || !e.endsTurn() || e.waitsForAgents() {
		return "", nil
	}
	tick := time.NewTicker(wakeTick)
	defer tick.Stop()
	for began, rested := time.Now(), false; !isOver() && !e.isHostGone(); {
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

func (e Event) isHostGone() bool {
	is, isKnown := process.IsAlive(e.Process)
	return isKnown && !is
}

// work returns what an agent at rest is told if a person gave it something to do since it saw its
// list: an item that is new, or that has another text or status, and is open. What else the
// person did does not wake it.
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
