// Package notify tells a person who is away from the desk how lists stand: that one waits
// for him, is finished, has failed or was left open. It sends to ntfy, Slack, Discord and
// plain webhooks.
//
// It promises little and costs little. A notice is sent at most once, by one of all
// processes on a store: each claims it in the store before it sends it. A process that
// ends in between, or an address that does not answer, loses a notice; the list itself
// says the same on the panel. What a list says is sent only if that is asked for, and an
// address, which may be a secret, is in no error and no log line.
package notify

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Config says what is told, and where.
type Config struct {
	Lists   board.Lists // which lists are told of
	Targets []Target    // where to; not empty
	Texts   bool        // notices have what lists say
	Panel   string      // where people reach the panel, as https://host; empty is unknown
	Log     *slog.Logger
}

const (
	// presenceEvery is how often the lists with an agent are looked at without a change: an
	// agent that goes away writes nothing. While there is none, nothing is looked at.
	presenceEvery = 5 * time.Second
	// restAfter is how long the lists are not looked at after a look, and restShare how many
	// times as long as the look took.
	restAfter, restShare = time.Second, 20
	// lookTimeout bounds one look, and one claim.
	lookTimeout = 10 * time.Second
	// maxLists is how many lists are looked at, the last changed first, and recent how long
	// ago they may have changed last.
	maxLists, recent = 2000, 24 * time.Hour
	// maxAtOnce is how many notices there may be at once of the lists of one principal, and
	// perHour how many an hour beyond these. Each process counts its own.
	maxAtOnce, perHour = 30, 60
	// endTimeout is for how long notices are still sent after the end has begun.
	endTimeout = 5 * time.Second
)

// Notifier is one process that tells people.
type Notifier struct {
	Config
	tracker tracker
	senders []*sender
	limits  map[string]*rate.Limiter // by principal; without those that let [maxAtOnce] through
	over    int                      // how many notices were not sent for the limit
	failing bool                     // the last look failed, which is logged
}

// fileTick is by how much the time of what a hook left may be behind: it is that of its file,
// which some file systems know to two seconds and others to milliseconds.
const fileTick = 2 * time.Second

// New returns a notifier that tells of nothing that is so already.
func New(c Config) *Notifier {
	n := &Notifier{Config: c, tracker: tracker{began: time.Now().Add(-fileTick)}, limits: make(map[string]*rate.Limiter)}
	for _, t := range c.Targets {
		n.senders = append(n.senders, &sender{t, c.Log, make(chan Notice, maxWaiting)})
	}
	return n
}

// Run tells of the lists until ctx ends. Then it sends what is to be sent, for up to five
// seconds.
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

// watch looks at the lists when one changes, and when something is due, until ctx ends.
func (n *Notifier) watch(ctx context.Context) {
	watch := n.Lists.Watch(nil)
	defer watch.Close()
	for ctx.Err() == nil {
		began := time.Now()
		next := n.look(ctx, false)
		board.Sleep(ctx, max(restAfter, restShare*time.Since(began)))
		until, cancel := context.WithCancel(ctx)
		if !next.IsZero() {
			until, cancel = context.WithDeadline(ctx, next)
		}
		_, err := watch.Next(until)
		cancel()
		if errors.Is(err, board.ErrClosed) {
			return
		}
	}
}

// look reads how the lists stand and tells what is due; at the end what ended is due at
// once. It returns when to look again although no list changes; zero is never.
func (n *Notifier) look(ctx context.Context, end bool) time.Time {
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
	if failed := err != nil && ctx.Err() == nil; failed != n.failing {
		n.failing = failed
		if failed {
			n.Log.Warn("nobody is notified while the store fails", "error", err)
		}
	}
	next, soon := n.tracker.next(), now.Add(presenceEvery)
	attends := func(f *account.Group) bool { return !f.State().Rests() } // whose going away nobody writes
	if (err != nil || slices.ContainsFunc(slices.Collect(maps.Values(groups)), attends)) && (next.IsZero() || soon.Before(next)) {
		next = soon
	}
	return next
}

// read reads the groups that changed lately, by their main list's id.
func (n *Notifier) read(ctx context.Context, now time.Time) (map[string]*account.Group, error) {
	read, err := n.Lists.Find(ctx, board.Query{UpdatedSince: now.Add(-recent), Limit: maxLists, Excerpt: true})
	if err != nil {
		return nil, err
	}
	if read, err = n.Lists.WithChats(ctx, read); err != nil {
		return nil, err
	}
	states, err := n.Lists.States(ctx, read...)
	groups := make(map[string]*account.Group, len(read))
	for _, f := range account.Groups(read, states) {
		if f.Main.List.Parent == "" { // else its main list was not read
			groups[f.Main.List.ID] = &f
		}
	}
	return groups, err
}

// tell sends a notice of a group unless another process has, and notes that it was told.
func (n *Notifier) tell(ctx context.Context, f *account.Group, now time.Time) error {
	id, state := f.Main.List.ID, f.State()
	earlier, err := n.Lists.Claim(ctx, f.Main.List, "notice "+string(state), sameAfter-sameAfter/10)
	if err != nil {
		return err
	}
	if !earlier.IsZero() {
		n.tracker.told(id, earlier)
		return nil
	}
	n.tracker.told(id, now)
	if !n.allows(f.Main.List.Principal, now) {
		n.over++
		return nil
	}
	if n.over > 0 {
		n.Log.Warn("too many notices: some were not sent", "count", n.over)
		n.over = 0
	}
	notice := n.notice(f, now)
	for _, s := range n.senders {
		s.add(notice)
	}
	return nil
}

// allows counts a notice of a principal's lists, and reports whether it may be sent.
func (n *Notifier) allows(principal string, now time.Time) bool {
	limit := n.limits[principal]
	if limit == nil {
		maps.DeleteFunc(n.limits, func(_ string, l *rate.Limiter) bool { return l.TokensAt(now) >= maxAtOnce })
		limit = rate.NewLimiter(rate.Every(time.Hour/perHour), maxAtOnce)
		n.limits[principal] = limit
	}
	return limit.AllowN(now, 1)
}

// maxShown is how many characters of a text a notice has.
const maxShown = 200

// notice returns what is told of a group.
func (n *Notifier) notice(f *account.Group, now time.Time) Notice {
	p := f.Progress()
	out := Notice{ID: board.NewID(), Event: eventOf(f.State()), Time: now,
		List: f.Main.List.ID, Done: p.Done, Failed: p.Failed, Total: p.Total,
		// Only the name of a known client: any other is a text that somebody sent.
		Client: clients.Find(account.Client(f.Main)).Title}
	if n.Panel != "" {
		out.URL = n.Panel + "/lists/" + out.List
		if f.Main.IsChat() {
			out.URL = n.Panel
		}
	}
	if n.Texts && !(f.Main.IsChat() && f.Main.Writer.User != "") { // a user's prompt is for nobody else
		if out.Title, out.Text = shown(f.Main.Title()), shown(textOf(f)); out.Text == out.Title {
			out.Text = ""
		}
	}
	return out
}

func shown(text string) string { return todo.Cut(render.Safe(strings.TrimSpace(text)), maxShown) }

// textOf returns what a group's agent asks or waits for, or at what it stopped; empty
// when there is no such text.
func textOf(f *account.Group) string {
	if _, asks, ok := f.Asks(); ok {
		return asks
	}
	if _, item, ok := f.Waits(); ok {
		return cmp.Or(item.Reason, item.Title())
	}
	if item, ok := f.Main.Current(); ok && f.State() == todo.LeftOpen {
		return item.Text
	}
	return ""
}
