// Package notify tells a person who is away that a list waits for them, is finished, has failed or was left open. It
// sends to ntfy, Slack, Discord and plain webhooks.
//
// Of all processes on a store, only the process that claims a notice in the store sends it. The notice is lost if that
// process ends first, or if the address does not answer. Texts of lists are sent only with [Config.Texts]. Errors and
// log lines name only the host of an address, since the rest may be a secret.
package notify

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Config says what notices are sent, and where.
type Config struct {
	Lists   board.Lists // the lists whose states are watched
	Targets []Target    // not empty
	Texts   bool        // notices have texts of the lists
	Panel   string      // the panel's address, as https://host; empty for unknown
	Log     *slog.Logger
}

const (
	// The pause between two looks is lookEvery, or restShare times the duration of the last look if that is longer.
	lookEvery, restShare = 5 * time.Second, 20
	// lookTimeout bounds one look: reading the lists and claiming their notices.
	lookTimeout = 10 * time.Second
	// maxLists is how many lists a look reads, last changed first. recent is how old their last change may be.
	maxLists, recent = 2000, 24 * time.Hour
	// endTimeout is how long notices are still sent when the process ends.
	endTimeout = 5 * time.Second
	// fileTick is how far a hook file's time may be behind the clock. Changes this long before New still cause notices.
	fileTick = 2 * time.Second
	// maxShown is how many characters of a text of the list a notice has at most.
	maxShown = 200
)

// Notifier sends the notices of one process.
type Notifier struct {
	Config
	tracker tracker
	senders []*sender
	failing bool // the last look failed, and the log says so
}

// New returns a notifier. States that began before the notifier was made cause no notices.
func New(c Config) *Notifier {
	n := &Notifier{Config: c, tracker: tracker{began: time.Now().Add(-fileTick)}}
	for _, t := range c.Targets {
		n.senders = append(n.senders, &sender{t, c.Log, make(chan Notice, maxWaiting)})
	}
	return n
}

// Run sends notices until ctx ends. Then, for up to [endTimeout], it looks once more and sends the queued notices.
func (n *Notifier) Run(ctx context.Context) {
	sending, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var work sync.WaitGroup
	for _, s := range n.senders {
		work.Go(func() { s.run(sending) })
	}
	n.watch(ctx)
	time.AfterFunc(endTimeout, cut)
	n.look(sending, true)
	for _, s := range n.senders {
		close(s.queue)
	}
	work.Wait()
}

// watch calls look until ctx ends. Polling is enough, because only a state that lasts a while causes a notice.
func (n *Notifier) watch(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		n.look(ctx, false)
		board.Sleep(ctx, max(lookEvery, restShare*time.Since(began)))
	}
}

// look reads the states of lists and sends due notices. end is true for the last look of the process.
func (n *Notifier) look(ctx context.Context, end bool) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	now := time.Now()
	groups, err := n.read(ctx, now)
	if err == nil {
		n.tracker.see(now, groups)
		for _, id := range n.tracker.due(now, end) {
			if err = n.tell(ctx, groups[id], now); err != nil {
				break
			}
		}
	}
	failed := err != nil && ctx.Err() == nil
	if failed && !n.failing {
		n.Log.Warn("nobody is notified while the store fails", "error", err)
	}
	n.failing = failed
}

// read returns the groups that changed lately, by their main list's id.
func (n *Notifier) read(ctx context.Context, now time.Time) (map[string]*account.Group, error) {
	read, err := n.Lists.Find(ctx, board.Query{UpdatedSince: now.Add(-recent), Limit: maxLists, Excerpt: true})
	if err != nil {
		return nil, err
	}
	read, states, err := n.Lists.WithChats(ctx, read)
	groups := make(map[string]*account.Group, len(read))
	for _, f := range account.Groups(read, states) {
		if f.Main.List.Parent == "" { // a sub-agent's list whose parent was not read causes no notice
			groups[f.Main.List.ID] = &f
		}
	}
	return groups, err
}

// tell sends a group's notice unless some process sent a notice of the same state within [sameAfter].
func (n *Notifier) tell(ctx context.Context, f *account.Group, now time.Time) error {
	id, state := f.Main.List.ID, f.State()
	earlier, err := n.Lists.Claim(ctx, f.Main.List, "notice "+string(state), sameAfter)
	if err != nil {
		return err
	}
	n.tracker.told(id, cmp.Or(earlier, now))
	if !earlier.IsZero() {
		return nil
	}
	notice := n.notice(f, now)
	for _, s := range n.senders {
		s.add(notice)
	}
	return nil
}

// notice returns a notice of a group's state.
func (n *Notifier) notice(f *account.Group, now time.Time) Notice {
	p := f.Progress()
	out := Notice{ID: board.NewID(), Event: eventOf(f.State()), Time: now,
		List: f.Main.List.ID, Done: p.Done, Failed: p.Failed, Total: p.Total,
		Client: clients.Find(account.Client(f.Main)).Title} // empty for an unknown client, whose name may be any text
	if out.URL = n.Panel; n.Panel != "" && !f.Main.IsChat() {
		out.URL += "/lists/" + out.List
	}
	if n.Texts && !(f.Main.IsChat() && f.Main.Writer.User != "") { // else Text would be a user's prompt
		if out.Title, out.Text = shown(f.Main.Title()), shown(textOf(f)); out.Text == out.Title {
			out.Text = ""
		}
	}
	return out
}

func shown(text string) string { return todo.Cut(render.Safe(strings.TrimSpace(text)), maxShown) }

// textOf returns a group's question, the item or reason it waits for, or the item it stopped at; empty for none.
func textOf(f *account.Group) string {
	if _, asks, ok := f.Asks(); ok {
		return asks
	}
	if item, ok := f.Waits(); ok {
		return cmp.Or(item.Reason, item.Title())
	}
	if item, ok := f.Main.Current(); ok && f.State() == todo.LeftOpen {
		return item.Text
	}
	return ""
}

const (
	// sameAfter is the least time between two notices of a list in the same state.
	sameAfter = 10 * time.Minute
	// skew is how much the clocks of two processes may differ. A new list whose change is older causes no notice.
	skew = time.Minute
)

// tracker decides which lists cause a notice, and when. It keeps only the lists of the last call of see.
type tracker struct {
	began time.Time         // states from before this time cause no notice
	lists map[string]*track // by the main list's id
}

// track is what a tracker keeps of one group.
type track struct {
	state   todo.State
	since   time.Time // when see first found the group in this state
	seq     int64
	pending bool      // a notice of the state is to be sent
	due     time.Time // when that notice may be sent
}

// see records the states of all groups. A changed state makes a notice pending, unless it is old or a person made it.
func (t *tracker) see(now time.Time, groups map[string]*account.Group) {
	seen := make(map[string]*track, len(groups))
	for id, f := range groups {
		k, happens := t.lists[id], true
		if k == nil { // an imported list is new here, but its state is old
			k, happens = &track{}, !f.Updated().Before(t.began) && now.Sub(f.Updated()) < skew
		}
		seen[id] = k
		state, seq := f.State(), f.Seq()
		if f.Bare() {
			state = todo.Away // a state that causes no notice
		}
		if state != k.state {
			form, toldOf := forms[eventOf(state)]
			k.state, k.since, k.due, k.pending = state, now, now.Add(form.delay), toldOf && happens
		}
		isByPerson := func(l todo.Snapshot) bool { return l.Seq == seq && l.Writer.Person }
		if seq != k.seq && slices.ContainsFunc(f.Lists(), isByPerson) {
			k.pending = false
		}
		k.seq = seq
	}
	t.lists = seen
}

// due returns the ids of lists whose notice is to be sent now. If end is true, an ended list need not wait.
func (t *tracker) due(now time.Time, end bool) (ids []string) {
	for id, k := range t.lists {
		if k.pending && (!k.due.After(now) || end && k.state.Ended()) {
			ids = append(ids, id)
		}
	}
	return ids
}

// told records when a process sent a list's notice. Ours stays pending if the state began more than [skew] later.
func (t *tracker) told(id string, at time.Time) {
	k := t.lists[id]
	k.due, k.pending = at.Add(sameAfter), at.Before(k.since.Add(-skew))
}
