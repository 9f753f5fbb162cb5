package panel

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

const (
	maxRead       = 2000 // how many lists the board reads, the last changed first
	maxShown      = 300  // how many characters of a text a card or row shows
	openOnCard    = 4    // how many pending items a card shows
	troubleOnCard = 3    // how many failed and blocked items a card shows
	subsOnCard    = 3    // how many sub-agents a card shows
)

// readGroup reads a main list, or a chat without one, with its sub-agents' lists and their states.
func readGroup(ctx context.Context, lists board.Lists, id string) (account.Group, error) {
	main, err := lists.Load(ctx, id, 0)
	if errors.Is(err, board.ErrNotFound) && todo.IsChatID(id) {
		main, err = lists.ChatAsList(ctx, id)
	}
	if err != nil {
		return account.Group{}, err
	}
	subs, states, err := lists.Together(ctx, main)
	return account.Of(main, subs, states), err
}

// placeOf returns a digest of what decides a group's place on the board. A change of the digest moves the group.
func placeOf(f *account.Group, now time.Time) string {
	state := f.State()
	today := state.Ended() && !f.Updated().Before(todo.Midnight(now))
	return digestOf(fmt.Sprint(state, f.Main.Archived, today, f.Main.List.Workspace))
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// itemView is an item with what is drawn beside it.
type itemView struct {
	todo.Item
	rests       bool   // no agent works on the list, so the item's time does not run
	later       bool   // it waits for the end of the turn
	beside      string // its priority, who does it, and what it waits for, safe to show
	yours       string // a person's edits that the agent has not seen
	change, was string // what a revision changed, and the text before
}

// short returns the beginning of a text, safe to show on a card or row.
func short(text string) string { return render.Safe(todo.Cut(text, maxShown)) }

func titleOf(l todo.Snapshot) string { return short(l.Title()) }

func agentOf(l todo.Snapshot) render.Agent { return render.AgentOf(account.Client(l)) }

// asked returns the question of an agent of the group; empty for none.
func asked(f *account.Group) string {
	l, asks, ok := f.Asks()
	if !ok {
		return ""
	}
	return agentOf(l).Name + " asks: " + render.Safe(asks)
}

func laterOf(i todo.Item) itemView {
	return itemView{Item: i, rests: true, later: true, yours: "after this turn"}
}

// cardItems returns the items on a list's card: those in progress, failed or blocked, ready, and waiting for
// others; and how many open items it leaves out.
func cardItems(f *account.Group) (items []itemView, more int) {
	at, _ := f.Main.At()
	rests := f.States[f.Main.List.ID].State.Rests()
	var now, also, trouble, next, waits, later []itemView
	waiting := todo.OpenWaits(f.Main.Items)
	for _, i := range f.Main.Items {
		part, most := &next, openOnCard
		switch {
		case i.ID == at.ID && i.Status != todo.Pending && !rests:
			part = &now
		case i.Status == todo.InProgress:
			part, most = &also, troubleOnCard
		case i.Status == todo.Failed, i.Status == todo.Blocked:
			part, most = &trouble, troubleOnCard
		case i.Status.Settled():
			continue
		case len(waiting(i)) > 0:
			part = &waits
		}
		if len(*part) < most {
			*part = append(*part, itemView{Item: i, rests: rests, beside: todo.Cut(render.Beside(f.Main, i), maxShown)})
		} else if !i.Status.Settled() {
			more++
		}
	}
	kept := min(len(waits), openOnCard-len(next))
	more += len(waits) - kept
	for _, i := range f.Main.Later[:min(len(f.Main.Later), troubleOnCard)] {
		later = append(later, laterOf(i))
	}
	return slices.Concat(now, also, trouble, next, waits[:kept], later), more + len(f.Main.Later) - len(later)
}

var unit = regexp.MustCompile(`(\d)([smhd])\b`)

// spaced puts a narrow no-break space before each unit of a duration, as panel.js does.
func spaced(text string) string { return unit.ReplaceAllString(text, "$1\u202f$2") }

func dayOf(t, now time.Time) string {
	t = t.In(now.Location())
	switch days := render.DaysAgo(t, now); {
	case days <= 0:
		return "Today"
	case days == 1:
		return "Yesterday"
	case t.Year() == now.Year():
		return t.Format("Monday, 2 January")
	}
	return t.Format("Monday, 2 January 2006")
}

var homeFolder = regexp.MustCompile(`^(/home/[^/]+|/Users/[^/]+|/root)(/|$)`)

// projectOf returns the name of a folder's project, the path to show, and the address of its page.
func projectOf(folder string) (name, path, href string) {
	name = cmp.Or(render.Safe((todo.List{Workspace: folder}).Project()), "No folder")
	return name, render.Safe(homeFolder.ReplaceAllString(folder, "~$2")), "./?project=" + url.QueryEscape(folder)
}

var (
	// statusWords are read by screen readers before an item's text.
	statusWords = map[todo.Status]string{todo.Pending: "To do", todo.InProgress: "In progress", todo.Completed: "Done",
		todo.Failed: "Failed", todo.Cancelled: "Cancelled", todo.Blocked: "Blocked"}
	stateWords = map[todo.State]string{todo.Working: "Working", todo.Idle: "Idle", todo.Waiting: "Waiting for you",
		todo.LeftOpen: "Left open", todo.Away: "Archived", todo.Finished: "Finished", todo.InVain: "Failed"}
)

func count(n int, noun string) string { return render.Count(n, noun, noun+"s") }
