package panel

import (
	"context"
	"math/bits"
	"slices"
	"strings"
	"time"

	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"

	"todo-mcp/internal/account"
	"todo-mcp/internal/board"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

const (
	// maxTicks is how many revisions the timeline has, and logRows how many are
	// described beside a list.
	maxTicks, logRows = 120, 7
)

// revision is what a revision of a list changed.
type revision struct {
	N      int64
	Words  string
	Size   int // 1 to 5: how much changed
	Who    string
	Person bool
	At     time.Time
	told   bool // agents are told of it, see [account.Told]
}

func revisionOf(before, at todo.Snapshot) revision {
	words, n := changes(before, at)
	if before.Revision == at.Revision {
		words = "earlier revisions are not kept"
	}
	size := min(bits.Len(uint(max(n, 1)-1))+1, 5)
	return revision{N: at.Revision, Words: words, Size: size, At: at.Updated, Person: at.Writer.Person,
		told: account.Told(before, at), Who: writerOf(at).Name}
}

// around returns the first and the last of n revisions around one.
func (page *listPage) around(revision, n int64) (first, last int64) {
	last = min(page.Main.Revision, max(revision+n/2, page.oldest+n-1))
	return max(page.oldest, last-n+1), last
}

// addHistory adds what the revisions around the one shown changed, the oldest first. In
// the history it adds the items of the one shown; of one that is not kept any more, those
// of the next one.
func (page *listPage) addHistory(ctx context.Context, lists board.Lists, shown int64) error {
	n := int64(logRows)
	if page.past {
		n = maxTicks
	}
	first, last := page.around(shown, n)
	var before todo.Snapshot
	for at, err := range lists.Revisions(ctx, page.Main.List.ID, max(first-2, 0)) {
		if err != nil {
			return err
		}
		if before.Revision == 0 && at.Revision > 1 {
			before = at // what it changed is not known
		}
		if first <= at.Revision && at.Revision <= last {
			page.changes = append(page.changes, revisionOf(before, at))
		}
		if page.at.Revision == 0 && at.Revision >= shown {
			page.compare(before, at)
		}
		if before = at; at.Revision >= last {
			return nil
		}
	}
	return board.ErrNotFound // it was deleted in this moment
}

// compare adds the items of a revision, with what it changed said at them. An item that
// it removed stays where it was.
func (page *listPage) compare(before, at todo.Snapshot) {
	page.at = at
	if account.Told(before, at) {
		page.fate = page.hand.OfRevision(at.Revision)
	}
	changed := make(map[string]todo.Difference)
	for _, d := range todo.Diff(before, at) {
		changed[d.After.ID] = d
	}
	overrode, _ := account.Overrode(before, at)
	for _, i := range at.Items {
		v, d := itemOf(i, true), changed[i.ID]
		v.Fixed = true
		if d.Kind != "" {
			v.Change = strings.Join(verbs(d, func(before, after todo.Status) string {
				return render.StatusWord(before) + " → " + render.StatusWord(after)
			}), ", ")
		}
		if d.Kind == todo.Changed && d.Before.Text != d.After.Text {
			v.Was = render.Safe(d.Before.Text)
		}
		if slices.ContainsFunc(overrode, func(o todo.Item) bool { return o.ID == i.ID }) {
			v.Change = "overrode your words"
		}
		page.items = append(page.items, v)
	}
	place := 0
	for _, i := range before.Items {
		if n := slices.IndexFunc(page.items, func(v itemView) bool { return v.ID == i.ID }); n >= 0 {
			place = n
		} else {
			v := itemOf(i, true)
			v.Fixed, v.Gone, v.Change = true, true, string(todo.Removed)
			page.items = slices.Insert(page.items, place, v)
		}
		place++
	}
}

// history returns the list at a revision.
func (page *listPage) history() Node {
	l, at := page.Main, page.at
	where := "Revision " + decimal(at.Revision) + " of " + decimal(l.Revision)
	fate, seen := string(page.fate), page.fate == account.Seen
	return Div(H1(Class("title"), formatted(titleOf(l))),
		P(Class("by"), who(writerOf(at)), span("sep"), Span(ID("where"), Text(where)), span("sep"),
			Time(DateTime(stamp(at.Updated)), Text(page.full(at.Updated))),
			If(page.fate != "", Span(classes{"small": seen, "yours": !seen, fate: !seen}, Text(fate)))),
		page.timeline(where),
		page.oldBar(),
		Ul(page.listClass(), ID("items"), Aria("label", "Items in revision "+decimal(at.Revision)),
			Map(page.items, page.item)),
		If(len(page.items) == 0, P(Class("small"), Text("The list is empty."))))
}

func writerOf(l todo.Snapshot) render.Agent {
	agent := agentOf(l)
	if l.Writer.Person {
		agent.Glyph = "you"
	}
	agent.Name = render.Writer(l.Writer, agent.Name, "You")
	return agent
}

func (page *listPage) newest() bool { return page.at.Revision == page.Main.Revision }

// canRestore reports whether the revision that is shown can be brought back.
func (page *listPage) canRestore() bool {
	return !page.newest() && !page.Main.List.Mirrored && !page.at.Deleted
}

// timeline returns a tick for each revision around the one that is shown.
func (page *listPage) timeline(where string) Node {
	shown, ticks := page.at.Revision, page.changes
	var first, last string
	if len(ticks) > 0 {
		first, last = page.clock(ticks[0].At), page.clock(ticks[len(ticks)-1].At)
	}
	return Section(Class("line"), Aria("label", "History"),
		Header(page.step("prev", "left", "Earlier revision", shown-1, shown > page.oldest), B(Text(where)),
			page.step("next", "right", "Later revision", shown+1, !page.newest()),
			span("small end path", Text("height: how much changed"))),
		Ol(Class("ticks"), ID("ticks"), Map(ticks, page.tick)),
		P(Class("ends small"), Time(Text(first)), I(Class("sw")), Text(agentOf(page.Main).Name),
			I(Class("sw you")), Text("You"), Time(Text(last))))
}

// step returns the link to a revision beside the one that is shown, if it is kept.
func (page *listPage) step(id, icon, label string, revision int64, kept bool) Node {
	if !kept {
		return span("icon", glyph(icon))
	}
	return A(Class("icon"), ID(id), Href(page.revisionHref(revision)), Aria("label", label), glyph(icon))
}

func (page *listPage) tick(r revision) Node {
	return Li(page.link(r, classes{"s" + decimal(r.Size): true, "you": r.Person},
		TitleAttr(r.Who+", "+page.clock(r.At)+": "+r.Words),
		Aria("label", "Revision "+strings.Join([]string{decimal(r.N), r.Who, r.Words}, ", "))))
}

func (page *listPage) revisionHref(n int64) string {
	return listHref(page.Main.List.ID) + "?revision=" + decimal(n)
}

func (page *listPage) link(r revision, content ...Node) Node {
	return A(Href(page.revisionHref(r.N)), If(r.N == page.at.Revision, Aria("current", "true")), Group(content))
}

// log returns the revisions that are described beside the list, the newest first.
func (page *listPage) log() Node {
	first, last := page.around(page.at.Revision, logRows)
	rows := Group{Class("log")}
	for _, r := range slices.Backward(page.changes) {
		if r.N < first || r.N > last {
			continue
		}
		fate := account.Fate("")
		if r.told {
			fate = page.hand.OfRevision(r.N)
		}
		rows = append(rows, Li(classes{"you": r.Person, "now": r.N == page.at.Revision}, page.link(r, Text(r.Words),
			span("small", Span(Text(r.Who)),
				Time(DateTime(stamp(r.At)), TitleAttr(page.full(r.At)), Text(page.clock(r.At))),
				Span(Textf("rev. %d", r.N)), If(fate != "", Span(Text(string(fate))))))))
	}
	return Ol(rows...)
}

// oldBar says whether the newest revision is shown, and leads back.
func (page *listPage) oldBar() Node {
	text, back := "An old revision. Items cannot be changed here.", "Back to live"
	if page.newest() {
		text, back = "The newest revision.", "Back to the list"
	}
	return Div(Class("bar"), ID("old"), glyph("clock"), Span(Text(text)), span("end",
		A(Class("btn"), Href(listHref(page.Main.List.ID)), ID("live"), Text(back)),
		If(page.canRestore(),
			button(todo.Edit{Do: todo.EditRestore, Revision: page.at.Revision}, Class("btn main"), ID("restore"), Text("Restore")))))
}
