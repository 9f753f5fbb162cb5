package panel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

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
	Fate     string // what became of it, if a person made it
	told     bool   // agents are told of it, see [account.Told]
}

// historyPage is the data of a list's page at one of its revisions.
type historyPage struct {
	listPage
	At           time.Time
	Ticks        []logEntry
	Shown        int64 // the revision that is shown
	Newest, Next int64 // Next is the revision that a restore would make
	First        time.Time
	Writer       render.Agent // who made the revision
	Fate         string       // what became of it, if a person made it
	Told         string       // who is told of a restore
}

// Several reports whether a tick stands for several revisions.
func (h *historyPage) Several() bool { return h.Newest-h.Oldest+1 > maxTicks }

// Live reports whether the newest revision is shown.
func (h *historyPage) Live() bool { return h.Shown == h.Newest }

// Earlier returns the revision before the one that is shown; 0 when none is kept.
func (h *historyPage) Earlier() int64 {
	if h.Shown == h.Oldest {
		return 0
	}
	return h.Shown - 1
}

// Later returns the revision after the one that is shown; 0 when there is none.
func (h *historyPage) Later() int64 {
	if h.Live() {
		return 0
	}
	return h.Shown + 1
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
	page := &historyPage{listPage: listPage{listView: viewOf(f, now), AllItems: compared(before, at, now)},
		Shown: shown, Newest: l.Revision, Next: l.Revision + 1, At: at.Updated, Writer: writerOf(at), Told: agentOf(l).Name}
	page.Progress, page.Oldest = at.Progress(), oldest
	if _, page.Hand, err = unseenOf(ctx, lists, f); err != nil {
		return nil, err
	}
	if account.Told(before, at) {
		page.Fate = string(page.Hand.OfRevision(shown))
	}
	if page.Log, err = p.log(ctx, lists, l, shown, page.Hand); err != nil {
		return nil, err
	}
	page.Ticks, err = p.ticks(ctx, lists, l, oldest, shown)
	if len(page.Ticks) > 0 {
		page.First = page.Ticks[0].At
	}
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

// inFrame puts the page among the other lists.
func (h *historyPage) inFrame(s board, reader todo.Identity) {
	h.listPage.inFrame(s, reader)
	h.View, h.Head, h.AtRevision = "history", fmt.Sprintf("Revision %d · %s", h.Shown, h.Title), h.Shown
	h.Version = fmt.Sprint(h.Newest, ".", h.Oldest)
	h.Crumbs = append(h.Crumbs, crumb{h.Title, listHref(h.ID)})
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
