package watch

import (
	"context"
	"errors"
	"fmt"

	"todo-mcp/internal/account"
	"todo-mcp/internal/remote"
	"todo-mcp/internal/todo"
)

// Source provides lists and their changes, and makes the changes of a person.
type Source interface {
	// Follow calls show with all lists (all is true, and they replace the lists
	// passed before), and from then on with the newest snapshot of each list
	// that changed. It misses no change, but may pass a snapshot twice. When the
	// connection breaks it calls lost, reconnects, and starts again with all
	// lists. It calls both functions from one goroutine. It returns when ctx
	// ends, or with an error that a retry cannot mend.
	Follow(ctx context.Context, show func(lists []todo.Snapshot, all bool), lost func(error)) error
	// History returns the revisions of a list that are kept, oldest first.
	History(ctx context.Context, list string) ([]todo.Snapshot, error)
	// Standings returns how open lists stand now, by id. A list may be missing.
	Standings(ctx context.Context, lists []todo.Snapshot) (map[string]Standing, error)
	// Apply makes a change of a person. The outcome has After and Changed at least.
	Apply(ctx context.Context, e Edit) (todo.Outcome, error)
	// Page returns the address of a list's page in the browser.
	Page(ctx context.Context, list string) (string, error)
}

// Standing is how a list stands.
type Standing struct {
	State todo.State
	// Client is the client whose agent works on the list, where its snapshot does not
	// say it.
	Client string
	// Unseen are the ids of the items that people changed and the list's agent has
	// not seen since.
	Unseen map[string]bool
}

// Action is a kind of change that a person makes.
type Action string

// The actions. Those from Restore on concern the whole list.
const (
	SetStatus  Action = "status"
	Block      Action = "block"
	Reword     Action = "text"
	Add        Action = "add"
	RemoveItem Action = "remove"
	Move       Action = "move"
	Restore    Action = "restore"
	Undo       Action = "undo"
	Rename     Action = "rename"
	Archive    Action = "archive"
	Delete     Action = "delete"
)

// Edit is one change that a person makes to a list. Of the fields after Do an
// action uses those that it needs.
type Edit struct {
	List string
	Seen int64 // the revision that the person saw
	Do   Action

	Item     string // id
	Status   todo.Status
	Text     string // new text, reason, or title
	To       int    // index
	Revision int64
	Away     bool  // archive or delete rather than bring back
	From     int64 // undo takes back what was changed from this revision to Seen

	undoes Action // what this edit undoes; empty unless it does, and then it is not undone itself
}

var (
	_ Source = Local{}
	_ Source = Server{}
)

// maxLists is how many lists are read at the start, the last changed first.
const maxLists = 2000

// Local is the source for a store on this machine, which other processes may
// write to.
type Local struct {
	Lists todo.Lists
	// Panel finds the panel that shows these lists in the browser and returns a
	// list's page on it; nil when there is none.
	Panel func(ctx context.Context, list string) (string, error)
}

// Follow implements [Source]. It never calls lost: if the store cannot be read at
// the start it returns an error, and later the board retries.
func (l Local) Follow(ctx context.Context, show func([]todo.Snapshot, bool), _ func(error)) error {
	watcher := l.Lists.Watch(nil)
	defer watcher.Close()
	lists, err := l.Lists.Find(ctx, todo.Query{Limit: maxLists})
	if err != nil {
		return fmt.Errorf("read lists: %w", err)
	}
	show(lists, true)
	for {
		changed, err := watcher.Next(ctx)
		if err != nil {
			return err
		}
		show(changed, false)
	}
}

// History implements [Source].
func (l Local) History(ctx context.Context, list string) ([]todo.Snapshot, error) {
	return l.Lists.History(ctx, list, 0, 0)
}

// Standings implements [Source].
func (l Local) Standings(ctx context.Context, lists []todo.Snapshot) (map[string]Standing, error) {
	states, err := l.Lists.States(ctx, lists...)
	if err != nil {
		return nil, err
	}
	out := make(map[string]Standing, len(lists))
	for _, s := range lists {
		unseen, err := l.Lists.Unseen(ctx, s)
		if err != nil {
			return nil, err
		}
		out[s.List.ID] = Standing{State: states[s.List.ID], Unseen: set(account.Unseen(unseen))}
	}
	return out, nil
}

func set(ids []string) map[string]bool {
	out := make(map[string]bool, len(ids))
	for _, id := range ids {
		out[id] = true
	}
	return out
}

// Apply implements [Source].
func (l Local) Apply(ctx context.Context, e Edit) (todo.Outcome, error) {
	w := todo.Writer{Client: "todo-mcp", Variant: "watch", Person: true}
	change := e.change
	switch e.Do {
	case Rename:
		return l.Lists.Rename(ctx, e.List, e.Text, w)
	case Archive:
		return l.Lists.Archive(ctx, e.List, e.Away, w)
	case Delete:
		return l.Lists.Delete(ctx, e.List, e.Away, w)
	case Restore:
		return l.Lists.Restore(ctx, e.List, e.Revision, w)
	case Undo:
		var err error
		if change, err = l.Lists.Undo(ctx, e.List, e.From, e.Seen); err != nil {
			return todo.Outcome{}, err
		}
	}
	return l.Lists.Apply(ctx, todo.Write{Target: todo.Target{List: e.List}, Writer: w, Seen: e.Seen, Change: change})
}

// errItemGone: an agent removed the item in the meantime.
var errItemGone = errors.New("the item is not on the list any more")

// change edits the items of a list.
func (e Edit) change(d *todo.Draft) error {
	ok := true
	switch e.Do {
	case SetStatus:
		ok = d.SetStatus(e.Item, e.Status)
	case Block:
		ok = d.Block(e.Item, e.Text)
	case Reword:
		ok = d.SetText(e.Item, e.Text)
	case RemoveItem:
		ok = d.Remove(e.Item)
	case Move:
		ok = d.Move(e.Item, e.To)
	case Add:
		if len(d.Items()) >= todo.MaxItems {
			return fmt.Errorf("a list holds at most %d items", todo.MaxItems)
		}
		d.Append(e.Text)
	}
	if !ok {
		return errItemGone
	}
	return nil
}

// Page implements [Source].
func (l Local) Page(ctx context.Context, list string) (string, error) {
	if l.Panel == nil {
		return "", errors.New("no panel shows these lists")
	}
	return l.Panel(ctx, list)
}

// Server is the source for the lists of a server.
type Server struct{ *remote.Client }

// Standings implements [Source].
func (s Server) Standings(ctx context.Context, _ []todo.Snapshot) (map[string]Standing, error) {
	states, err := s.States(ctx)
	out := make(map[string]Standing, len(states))
	for _, state := range states {
		out[state.List] = Standing{State: state.State, Client: state.Client, Unseen: set(state.Unseen)}
	}
	return out, err
}

// Apply implements [Source].
func (s Server) Apply(ctx context.Context, e Edit) (todo.Outcome, error) {
	if e.Do == Restore {
		return s.Restore(ctx, e.List, e.Revision)
	}
	return s.Edit(ctx, e.List, remote.Edit{Do: string(e.Do), ID: e.Item, Status: e.Status, Text: e.Text, To: e.To,
		Away: e.Away, Seen: e.Seen, From: e.From})
}

// Page implements [Source].
func (s Server) Page(_ context.Context, list string) (string, error) { return s.Client.Page(list), nil }
