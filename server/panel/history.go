package panel

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"strings"
	"time"

	g "maragu.dev/gomponents"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

const maxTicks, logRows = 120, 7 // how many revisions the timeline has, and the log beside a list

// revision is what a revision of a list changed.
type revision struct {
	N      int64
	Words  string
	Size   int // 1 to 5: how much changed
	By     render.Agent
	Person bool
	At     time.Time
	Fate   account.Fate // of a person's changes that the agent is told of
}

// revisionOf describes the changes from one revision to a later one. before is the zero Snapshot for the
// first revision; by is the list that replaced this one, if any.
func (page *listPage) revisionOf(before, at, by todo.Snapshot) revision {
	r := revision{N: at.Revision, By: agentOf(at), Person: at.Writer.Person, At: at.Updated.In(page.now.Location())}
	r.By.Name = render.Writer(at.Writer, r.By.Name, "You")
	if r.Person {
		r.By.Glyph = "you"
	}
	if account.Told(before, at) {
		r.Fate = page.edits.OfRevision(r.N)
	}
	changes := render.Besides(before, at, by)
	for _, d := range todo.Diff(before, at) {
		changes = append(changes, render.Change(d, at))
	}
	r.Words = cmp.Or(todo.Cut(strings.Join(changes, ", "), maxShown), "nothing changed")
	r.Size = min(bits.Len(uint(max(len(changes), 1)-1))+1, 5)
	switch before.Revision {
	case 0:
		r.Words = "began with " + render.Count(len(at.Items), "item", "items")
	case at.Revision:
		r.Words = "earlier revisions are not kept"
	}
	return r
}

// addHistory adds the changes of the revisions around shown, the oldest first. The history also gets the items at
// shown, or at the next revision if shown is not kept any more.
func (page *listPage) addHistory(ctx context.Context, lists board.Lists, shown int64) error {
	n, newest := int64(logRows), page.Main.Revision
	if page.past {
		n = maxTicks
	}
	last := min(newest, max(shown+n/2, n))
	first := max(1, last-n+1)
	var before todo.Snapshot
	for at, err := range lists.Revisions(ctx, page.Main.List.ID, max(first-2, 0)) {
		if err != nil {
			return err
		}
		if before.Revision == 0 && at.Revision > 1 {
			before = at // the revision before is not kept
			last = min(newest, max(last, at.Revision+n-1))
		}
		if at.Revision >= first {
			var by todo.Snapshot
			if at.ReplacedBy != "" && before.ReplacedBy != at.ReplacedBy {
				by, _ = lists.Load(ctx, at.ReplacedBy, 0) // after an error its id names it
			}
			page.changes = append(page.changes, page.revisionOf(before, at, by))
		}
		if page.at.Revision == 0 && at.Revision >= shown {
			page.compare(before, at)
		}
		if at.Revision == page.at.Revision {
			page.shown = len(page.changes) - 1
		}
		if before = at; at.Revision >= last {
			return nil
		}
	}
	return board.ErrNotFound // deleted meanwhile
}

// compare adds the items of a revision with what it changed. Removed items keep their places.
func (page *listPage) compare(before, at todo.Snapshot) {
	page.at = at
	changed := make(map[string]todo.Difference)
	for _, d := range todo.Diff(before, at) {
		changed[cmp.Or(d.After.ID, d.Before.ID)] = d
	}
	for _, i := range todo.WithMissing(at.Items, before.Items, func(todo.Item) bool { return true }) {
		v := itemView{Item: i}
		if d, isChanged := changed[i.ID]; isChanged {
			v.change = todo.Cut(render.What(d, at), maxShown)
			if d.Kind == todo.Changed && d.Before.Text != d.After.Text {
				v.was = d.Before.Text
			}
		}
		page.items = append(page.items, v)
	}
}

// history draws the list at a revision, below the timeline of the revisions around it.
func (page *listPage) history() Node {
	at, shown, ticks := page.at, page.changes[page.shown], page.changes
	isNewest := at.Revision == page.Main.Revision
	where := fmt.Sprintf("Revision %d of %d", at.Revision, page.Main.Revision)
	text, back := "An old revision. Items cannot be changed here.", "Back to live"
	if isNewest {
		text, back = "The newest revision.", "Back to the list"
	}
	step := func(id, icon, label string, revision int64, isKept bool) Node {
		if !isKept {
			return span("icon", glyph(icon))
		}
		return A(Class("icon"), ID(id), Href(listHref(at.List.ID, revision)), Aria("label", label), glyph(icon))
	}
	tick := func(r revision) Node {
		return Li(A(Href(listHref(at.List.ID, r.N)), If(r.N == at.Revision, Aria("current", "true")),
			classes{fmt.Sprint("s", r.Size): true, "you": r.Person}, TitleAttr(r.By.Name+", "+r.At.Format(clock)+": "+r.Words),
			Aria("label", fmt.Sprintf("Revision %d, %s, %s", r.N, r.By.Name, r.Words))))
	}
	return Div(H1(Class("title"), formatted(titleOf(page.Main))),
		P(Class("by"), who(shown.By), span("sep"), Span(ID("where"), Text(where)), span("sep"),
			Time(DateTime(shown.At.UTC().Format(time.RFC3339)), Text(shown.At.Format(full))),
			If(shown.Fate != "", Span(classes{"small": shown.Fate == account.Seen, "yours": shown.Fate != account.Seen,
				string(shown.Fate): shown.Fate != account.Seen}, Text(string(shown.Fate))))),
		Section(Class("line"), Aria("label", "History"),
			Header(step("prev", "left", "Earlier revision", at.Revision-1, page.shown > 0), B(Text(where)),
				step("next", "right", "Later revision", at.Revision+1, !isNewest),
				span("small end path", Text("height: how much changed"))),
			Ol(Class("ticks"), ID("ticks"), g.Map(ticks, tick)),
			P(Class("ends small"), Time(Text(ticks[0].At.Format(clock))), I(Class("sw")), Text(agentOf(page.Main).Name),
				I(Class("sw you")), Text("You"), Time(Text(ticks[len(ticks)-1].At.Format(clock))))),
		Div(Class("bar"), ID("old"), glyph("clock"), Span(Text(text)), span("end",
			A(Class("btn"), Href(listHref(at.List.ID, 0)), ID("live"), Text(back)),
			If(!isNewest && !page.Main.List.Mirrored && !at.Deleted,
				button(todo.Edit{Do: todo.EditRestore, Revision: at.Revision}, Class("btn main"), ID("restore"), Text("Restore"))))),
		Ul(classes{"items": true, "list": true, "rev": true, "long": len(page.items) >= longList}, ID("items"),
			Aria("label", fmt.Sprint("Items in revision ", at.Revision)), g.Map(page.items, page.item)),
		If(len(page.items) == 0, P(Class("small"), Text("The list is empty."))))
}
