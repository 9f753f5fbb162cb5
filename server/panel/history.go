package panel

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

const (
	// maxTicks is how many ticks a timeline has: with more revisions a tick stands
	// for several of them.
	maxTicks = 120
	// logRows is how many revisions are told in words beside a list.
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
	frame
	listView
	AllItems       []itemView
	At             time.Time
	Ticks, Log     []logEntry
	Shown          int64 // the revision that is shown
	Newest, Next   int64 // Next is the revision that a restore would make
	Earlier, Later int64 // 0 where there is none
	Live           bool
	First          time.Time
	Writer         render.Agent // who made the revision
	Fate           string       // what became of it, if a person made it
	Told           string       // who is told of a restore
}

// Several reports whether a tick stands for several revisions.
func (h historyPage) Several() bool { return h.Newest-h.Oldest+1 > maxTicks }

// Many reports whether the list is long.
func (h historyPage) Many() bool { return len(h.AllItems) >= manyItems }

// summaries remembers what revisions changed, which never changes again. When it
// is full it forgets all.
type summaries struct {
	mu    sync.Mutex
	known map[summaryKey]logEntry
}

type summaryKey struct {
	list     string
	from, to int64
}

const maxSummaries = 20_000

// of returns what changed from one revision of a list to a later one. from 0 is
// the empty list before the first revision.
func (s *summaries) of(ctx context.Context, lists todo.Lists, list string, from, to int64) (logEntry, error) {
	key := summaryKey{list, from, to}
	s.mu.Lock()
	entry, ok := s.known[key]
	s.mu.Unlock()
	if ok {
		return entry, nil
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
	entry = entryOf(before, after)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxSummaries {
		s.known = make(map[summaryKey]logEntry)
	}
	s.known[key] = entry
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
		entry, err := p.summaries.of(ctx, lists, l.List.ID, from, n)
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
		entry, err := p.summaries.of(ctx, lists, l.List.ID, from, revision)
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

// history serves a list's page at an old revision, or at the newest one with its
// timeline.
func (p *Panel) history(w http.ResponseWriter, r *edge.Request, id string) error {
	ctx, now := r.Context(), p.config.Now()
	f, err := readFamily(ctx, r.Lists, id)
	if err != nil {
		return err
	}
	l := f.Main
	r.Lists.Look(r.Context(), l)
	page := historyPage{listView: viewOf(f, now), Newest: l.Revision, Next: l.Revision + 1, Told: agentOf(l).Name}
	oldest, err := oldestKept(ctx, r.Lists, l)
	if err != nil {
		return err
	}
	shown := min(max(revisionAsked(r), oldest), l.Revision)
	at, err := r.Lists.Load(ctx, id, shown)
	if err != nil {
		return err
	}
	before, err := r.Lists.Load(ctx, id, shown-1)
	if shown == oldest || errors.Is(err, todo.ErrNotFound) {
		before, err = todo.Snapshot{}, nil
		if shown > 1 {
			before = at // what the first kept revision changed is not known
		}
	}
	if err != nil {
		return err
	}
	_, hand, err := unseenOf(ctx, r.Lists, f)
	if err != nil {
		return err
	}
	page.AllItems = compared(before, at, now)
	if account.Told(before, at) {
		page.Fate = string(hand.OfRevision(shown))
	}
	page.Shown, page.At, page.Live, page.Writer = shown, at.Updated, shown == l.Revision, writerOf(at)
	page.Progress = at.Progress()
	if page.Log, err = p.log(ctx, r.Lists, l, shown, hand); err != nil {
		return err
	}
	if page.Ticks, err = p.ticks(ctx, r.Lists, l, oldest, shown); err != nil {
		return err
	}
	if len(page.Ticks) > 0 {
		page.First = page.Ticks[0].At
	}
	if shown > oldest {
		page.Earlier = shown - 1
	}
	if shown < l.Revision {
		page.Later = shown + 1
	}
	board, err := p.readBoard(ctx, r.Lists)
	if err != nil {
		return err
	}
	page.frame = page.framed(board, shown, oldest)
	page.isFor(r.Identity)
	return p.page(w, "history", page)
}

func (h historyPage) framed(s board, shown, oldest int64) frame {
	f := frameOf(s, "", "", &h.Folder)
	f.View, f.Class, f.List = "history", "one", h.ID
	f.Head = "Revision " + strconv.FormatInt(shown, 10) + " · " + h.Title
	f.AllSeq, f.AtRevision, f.Oldest = h.Seq, shown, oldest
	f.Version = strconv.FormatInt(h.Newest, 10) + "." + strconv.FormatInt(oldest, 10)
	f.Crumbs = append(crumbsOf(h.listView), crumb{h.Title, listHref(h.ID)})
	return f
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
