package panel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

const (
	// maxTicks is how many ticks a timeline has: with more revisions a tick stands
	// for several of them.
	maxTicks = 120
	// logRows is how many revisions are described beside a list.
	logRows = 7
)

// logEntry is what one revision, or several of them, changed.
type logEntry struct {
	Revision int64
	Words    string
	Size     int // 1 to 5: how much changed
	Who      string
	Person   bool
	At       time.Time
	Current  bool
	Fate     account.Fate // what became of it, if a person made it
	told     bool         // agents are told of it, see [account.Told]
}

// historyPage is a list's page at one of its revisions, which are oldest to newest.
type historyPage struct {
	listPage
	at     todo.Snapshot // the revision that is shown
	oldest int64
	ticks  []logEntry
	fate   account.Fate // what became of the revision, if a person made it
}

// summaryKey is what changed from one revision of a list to a later one, which never
// changes again: the panel remembers it.
type summaryKey struct {
	list     string
	from, to int64
}

// maxSummaries is how many summaries the panel remembers. Then it forgets all.
const maxSummaries = 20_000

// summary returns what changed from one revision of a list to a later one. from 0 is
// the empty list before the first revision.
func (p *Panel) summary(ctx context.Context, lists todo.Lists, list string, from, to int64) (logEntry, error) {
	key := summaryKey{list, from, to}
	if entry, ok := p.summaries.Load(key); ok {
		return entry.(logEntry), nil
	}
	after, err := lists.Load(ctx, list, to)
	if err != nil {
		return logEntry{}, err
	}
	before := todo.Snapshot{}
	if from > 0 {
		if before, err = lists.Load(ctx, list, from); err != nil && !errors.Is(err, todo.ErrNotFound) {
			return logEntry{}, err
		}
	}
	if p.summarised.Add(1)%maxSummaries == 0 {
		p.summaries.Clear()
	}
	entry := entryOf(before, after)
	p.summaries.Store(key, entry)
	return entry, nil
}

// entryOf returns what a revision changed.
func entryOf(before, after todo.Snapshot) logEntry {
	words, n := changes(before, after)
	size := 1
	for _, most := range []int{1, 2, 4, 8} {
		if n > most {
			size++
		}
	}
	return logEntry{Revision: after.Revision, Words: words, Size: size, At: after.Updated, Person: after.Writer.Person, told: account.Told(before, after),
		Who: render.Writer(after.Writer, render.AgentOf(after.Writer.Client).Name, "You")}
}

// writerOf returns who made a revision.
func writerOf(l todo.Snapshot) render.Agent {
	agent := agentOf(l)
	if l.Writer.Person {
		agent.Glyph = "you"
	}
	agent.Name = render.Writer(l.Writer, agent.Name, "You")
	return agent
}

// log returns what the revisions around one of them changed, the newest first.
func (p *Panel) log(ctx context.Context, lists todo.Lists, l todo.Snapshot, around int64, hand account.Hand) (log []logEntry, err error) {
	oldest, err := oldestKept(ctx, lists, l)
	if err != nil {
		return nil, err
	}
	top := min(l.Revision, max(around+logRows/2, oldest+logRows-1))
	for n := top; n >= oldest && n > top-logRows; n-- {
		from := n - 1
		if n == oldest {
			from = 0
		}
		entry, err := p.summary(ctx, lists, l.List.ID, from, n)
		if errors.Is(err, todo.ErrNotFound) {
			break // no longer kept
		}
		if err != nil {
			return nil, err
		}
		if n == oldest && n > 1 {
			entry.Words = "earlier revisions are not kept"
		}
		entry.Current, entry.Fate = n == around, entry.fateOf(hand)
		log = append(log, entry)
	}
	return log, nil
}

// oldestKept returns the first revision of a list that is kept.
func oldestKept(ctx context.Context, lists todo.Lists, l todo.Snapshot) (int64, error) {
	kept, err := lists.History(ctx, l.List.ID, 0, 1)
	if len(kept) == 0 {
		return l.Revision, err
	}
	return min(l.Revision, kept[0].Revision), err
}

// ticks returns the timeline of a list: a tick for each revision that is kept, or
// for several when there are very many. It never reads more revisions than the
// timeline has ticks.
func (p *Panel) ticks(ctx context.Context, lists todo.Lists, l todo.Snapshot, oldest, shown int64) (ticks []logEntry, err error) {
	n := min(l.Revision-oldest+1, maxTicks)
	last := int64(0)
	for i := range n {
		revision := oldest
		if n > 1 {
			revision = oldest + i*(l.Revision-oldest)/(n-1)
		}
		from := last
		if i == 0 {
			from = 0
		}
		entry, err := p.summary(ctx, lists, l.List.ID, from, revision)
		if errors.Is(err, todo.ErrNotFound) {
			continue // dropped in this moment
		}
		if err != nil {
			return nil, err
		}
		entry.Current = shown > last && shown <= revision
		ticks, last = append(ticks, entry), revision
	}
	return ticks, nil
}

// historyOf returns the content of a list's page at a revision; at one that is not
// kept, of the next one that is.
func (p *Panel) historyOf(ctx context.Context, lists todo.Lists, f account.Family, revision int64) (*historyPage, error) {
	l, now := f.Main, p.config.Now()
	oldest, err := oldestKept(ctx, lists, l)
	if err != nil {
		return nil, err
	}
	shown := min(max(revision, oldest), l.Revision)
	at, before, err := revisions(ctx, lists, l.List.ID, shown, oldest)
	if err != nil {
		return nil, err
	}
	page := &historyPage{at: at, oldest: oldest}
	page.Family, page.now, page.items = f, now, compared(before, at, now)
	page.version = fmt.Sprint(l.Revision, ".", oldest)
	if _, page.hand, err = unseenOf(ctx, lists, f); err != nil {
		return nil, err
	}
	if account.Told(before, at) {
		page.fate = page.hand.OfRevision(shown)
	}
	if page.log, err = p.log(ctx, lists, l, shown, page.hand); err != nil {
		return nil, err
	}
	page.ticks, err = p.ticks(ctx, lists, l, oldest, shown)
	return page, err
}

// revisions returns a revision and the one before it. What the oldest kept one
// changed is not known, unless it is the first.
func revisions(ctx context.Context, lists todo.Lists, id string, shown, oldest int64) (at, before todo.Snapshot, err error) {
	if at, err = lists.Load(ctx, id, shown); err != nil || shown == 1 {
		return at, before, err
	}
	if shown > oldest {
		before, err = lists.Load(ctx, id, shown-1)
	}
	if shown == oldest || errors.Is(err, todo.ErrNotFound) {
		return at, at, nil
	}
	return at, before, err
}

// compared returns the items of a revision, with what it changed said at them.
// An item that it removed stays where it was.
func compared(before, at todo.Snapshot, now time.Time) (items []itemView) {
	overrode := overrode(before, at)
	differences := make(map[string]todo.Difference)
	for _, d := range todo.Diff(before, at) {
		if d.Kind != todo.Removed {
			differences[d.After.ID] = d
		}
	}
	removedAfter := make(map[string][]itemView) // by the id of the item that they followed
	last := ""
	for _, i := range before.Items {
		if _, stays := at.Item(i.ID); stays {
			last = i.ID
			continue
		}
		v := itemOf(i, now, true)
		v.Gone, v.Change = true, "removed"
		removedAfter[last] = append(removedAfter[last], v)
	}
	items = append(items, removedAfter[""]...)
	for _, i := range at.Items {
		v := itemOf(i, now, true)
		if d, ok := differences[i.ID]; ok {
			v.Change = cmp.Or(overrode[i.ID], render.ChangeWords(d))
			if d.Kind == todo.Changed && d.Before.Text != d.After.Text {
				v.Was = render.Safe(d.Before.Text)
			}
		}
		items = append(append(items, v), removedAfter[i.ID]...)
	}
	return items
}

// draw returns the whole page.
func (h *historyPage) draw(s board, reader todo.Identity) Node {
	l, frame := h.Main, h.frame()
	frame.board, frame.reader = s, reader
	where := "Revision " + decimal(h.at.Revision)
	frame.view, frame.head, frame.list = "history", where+" · "+titleOf(l), listData(l.List.ID, h.at.Revision, h.oldest)
	frame.crumbs = append(frame.crumbs, crumb(titleOf(l), listHref(l.List.ID)))
	where += " of " + decimal(l.Revision)
	fate := "small"
	if h.fate != account.Seen {
		fate = "yours " + string(h.fate)
	}
	at := Time(DateTime(stamp(h.at.Updated)), Text(h.full(h.at.Updated)))
	return frame.page(frame.main(Class("two"),
		Div(H1(Class("title"), bdi(titleOf(l))),
			P(Class("by"), who(writerOf(h.at)), separator(), Span(ID("where"), Text(where)), separator(), at,
				If(h.fate != "", span(fate, Text(string(h.fate))))),
			h.timeline(where),
			h.oldBar(),
			If(!h.live() && !l.List.Mirrored, h.ask()),
			Ul(Class("items list rev"+h.many()), ID("items"), Aria("label", "Items in revision "+decimal(h.at.Revision)),
				Map(h.items, comparedItem)),
			If(len(h.items) == 0, P(Class("small"), Text("The list is empty.")))),
		Aside(Class("side"), ID("side"), Aria("label", "What changed"),
			Div(Class("acts"), exports(l, "?revision="+decimal(h.at.Revision))),
			H2(Class("label"), Text("What changed")),
			h.revisions(),
			Raw(`<p class="keys small"><span><kbd>[</kbd> <kbd>]</kbd> step</span><span><kbd>Home</kbd> <kbd>End</kbd> first, `+
				`live</span><span><kbd>Esc</kbd> back</span></p>`))))
}

// live reports whether the newest revision is shown.
func (h *historyPage) live() bool { return h.at.Revision == h.Main.Revision }

// timeline returns the ticks, one for each revision or for several.
func (h *historyPage) timeline(where string) Node {
	l, shown := h.Main, h.at.Revision
	height, first := "height: how much changed", ""
	if l.Revision-h.oldest+1 > maxTicks {
		height = "a tick for several revisions, " + height
	}
	if len(h.ticks) > 0 {
		first = h.clock(h.ticks[0].At)
	}
	return Section(Class("line"), Aria("label", "History"),
		Header(step("prev", "left", "Earlier revision", shown-1, shown > h.oldest), B(Text(where)),
			step("next", "right", "Later revision", shown+1, !h.live()), span("small end path", Text(height))),
		Ol(Class("ticks"), ID("ticks"), Map(h.ticks, h.tick)),
		P(Class("ends small"), Time(Text(first)), I(Class("sw")), Text(agentOf(l).Name), I(Class("sw you")), Text("You"),
			Time(Text(h.clock(h.Updated())))))
}

// step returns the link to a revision beside the one that is shown, if it is kept.
func step(id, icon, label string, revision int64, kept bool) Node {
	if !kept {
		return span("icon", glyph(icon))
	}
	return A(Class("icon"), ID(id), Href("?revision="+decimal(revision)), Aria("label", label), glyph(icon))
}

func (h *historyPage) tick(e logEntry) Node {
	class := "s" + decimal(e.Size)
	if e.Person {
		class += " you"
	}
	return Li(A(Class(class), Href("?revision="+decimal(e.Revision)), If(e.Current, Aria("current", "true")),
		Aria("label", "Revision "+strings.Join([]string{decimal(e.Revision), e.Who, e.Words}, ", ")),
		TitleAttr(e.Who+", "+h.clock(e.At)+": "+e.Words)))
}

// oldBar says whether the newest revision is shown, and leads back.
func (h *historyPage) oldBar() Node {
	text, back := "An old revision. Items cannot be changed here.", "Back to live"
	if h.live() {
		text, back = "The newest revision.", "Back to the list"
	}
	return Div(Class("bar"), ID("old"), glyph("clock"), Span(Text(text)), span("end",
		A(Class("btn"), Href(listHref(h.Main.List.ID)), ID("live"), Text(back)),
		If(!h.live() && !h.Main.List.Mirrored,
			Button(Class("btn main"), Type("button"), ID("restore"), PopoverTarget("ask"), Text("Restore…")))))
}

// ask asks whether the revision shall be restored.
func (h *historyPage) ask() Node {
	shown, newest := decimal(h.at.Revision), h.Main.Revision
	return Div(Class("ask"), ID("ask"), Attr("popover"), Role("dialog"), Aria("label", "Restore revision "+shown),
		B(Text("Restore revision "+shown+"?")),
		P(Textf("The list becomes what you see here, as revision %d. Nothing is lost: you can come back to revision %d. "+
			"%s will see it with its next write.", newest+1, newest, agentOf(h.Main).Name)),
		editForm(h.Main, Class("end"), hidden("restore "+shown),
			Button(Class("btn"), Type("button"), PopoverTarget("ask"), PopoverTargetAction("hide"), Text("Cancel")),
			Button(Class("btn main"), ID("restore-yes"), Text("Restore"))))
}

// comparedItem returns an item with what the revision changed.
func comparedItem(v itemView) Node {
	class := string(v.Status)
	if v.Gone {
		class += " gone"
	}
	if v.Change != "" {
		class += " hit"
	}
	return Li(Class(class), ID("i-"+v.ID), span("tick", glyph(string(v.Status))),
		span("t", v.spoken(), If(v.Was != "", span("was", bdi(v.Was))),
			If(v.Reason != "", span("why", bdi(v.Reason)))),
		span("small", Text(v.Change)))
}
