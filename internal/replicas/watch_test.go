//go:build e2e && linux

package replicas

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

type seen struct {
	text string
	at   time.Time
}

type watcher struct {
	name string
	sent chan seen
	// shows reports whether a sent text shows a write, given by its id.
	shows func(text, write string) bool
	renew func() // subscribes again; nil if the client does so by itself
}

func newWatcher(name string, shows func(text, write string) bool) *watcher {
	return &watcher{name: name, sent: make(chan seen, 10_000), shows: shows}
}

// add keeps a text that was sent. If 10,000 texts wait to be read, the text is dropped.
func (w *watcher) add(text string) {
	select {
	case w.sent <- seen{text, time.Now()}:
	default:
	}
}

func (w *watcher) discard() {
	for {
		select {
		case <-w.sent:
		default:
			return
		}
	}
}

func (w *watcher) await(t testing.TB, texts ...string) time.Time {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case s := <-w.sent:
			texts = slices.DeleteFunc(texts, func(text string) bool { return w.shows(s.text, text) })
			if len(texts) == 0 {
				return s.at
			}
		case <-late:
			t.Fatalf("%s is never sent %s", w.name, texts)
		}
	}
}

func stream(t testing.TB, url string) *watcher {
	t.Helper()
	_, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	w := newWatcher(path, strings.Contains)
	ctx, cancel := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	open := make(chan struct{})
	begun := sync.OnceFunc(func() { close(open) })
	reading.Go(func() {
		for ctx.Err() == nil {
			_ = w.read(ctx, url, begun) // the loop opens the stream again
		}
	})
	t.Cleanup(func() { cancel(); reading.Wait() })
	<-open
	return w
}

func (w *watcher) read(ctx context.Context, url string, begun func()) error {
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK {
		begun()
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		w.add(lines.Text())
	}
	return lines.Err()
}

func subscribe(t testing.TB, url, era string) *watcher {
	t.Helper()
	w := newWatcher("resources/updated "+era, func(string, string) bool { return true })
	c := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { w.add(r.Params.URI) },
	})
	s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: newHTTPClient(t)},
		&mcp.ClientSessionOptions{ProtocolVersion: era})
	checktest.Check(t, err)
	t.Cleanup(func() { _ = s.Close() })
	if got := s.InitializeResult().ProtocolVersion; got != era {
		t.Fatalf("protocol version %s, want %s", got, era)
	}
	again := func() {
		checktest.Check(t, s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "todo://lists"}))
	}
	if again(); era == servertest.Modern {
		// After a stream of subscriptions/listen has ended, the SDK does not reopen it.
		w.renew = func() {
			checktest.Check(t, s.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "todo://lists"}))
			again()
		}
	}
	return w
}

func watchers(t testing.TB, url string) []*watcher {
	t.Helper()
	return []*watcher{stream(t, url+"/api/events"), stream(t, url+"/panel/events"), subscribe(t, url, servertest.Modern)}
}

func watchersOf(t testing.TB, r *replica) []*watcher {
	t.Helper()
	url := r.url.String()
	return append(watchers(t, url), subscribe(t, url, servertest.Legacy))
}

// measure has an agent write n times. By watcher it returns, shortest first, how long after a write's answer the
// watcher was sent the write.
func measure(t testing.TB, a *agent, all []*watcher, n int) map[string][]time.Duration {
	t.Helper()
	took := make(map[string][]time.Duration)
	for range n {
		done, ok := a.write(t.Context())
		if !ok {
			t.Fatal("the write failed")
		}
		answered := time.Now()
		for _, w := range all {
			took[w.name] = append(took[w.name], max(0, w.await(t, done.Write).Sub(answered)))
		}
	}
	for _, each := range took {
		slices.Sort(each)
	}
	return took
}

func describe(took map[string][]time.Duration) (text string, largest time.Duration) {
	var parts []string
	for name, each := range took {
		parts = append(parts, fmt.Sprintf("%s %s/%s", name, ms(each[len(each)/2]), ms(each[len(each)*99/100])))
		largest = max(largest, each[len(each)-1])
	}
	slices.Sort(parts)
	return strings.Join(parts, ", "), largest
}

// healed is how soon a watcher has a change whose notice was lost.
const healed = 5 * time.Second

// Watchers of one replica see a change on another, mostly within a quarter of a second. They are the event streams of
// front ends and of the panel, and subscribers of both protocol eras.
//
// BAD-INPUT 56: A lost notice of a change → Watchers catch up within 5 s
func TestChangesReachOtherReplicas(t *testing.T) {
	db := newDatabase(t)
	conn := checktest.Must(pgx.Connect(t.Context(), db.address))(t)
	defer conn.Close(t.Context()) //nolint:errcheck // nothing depends on it
	notify := func(does string) { // replaces PostgreSQL's pg_notify
		checktest.Must(conn.Exec(t.Context(), `CREATE SCHEMA IF NOT EXISTS ours; CREATE OR REPLACE FUNCTION ours.pg_notify(text, text) RETURNS void
			LANGUAGE plpgsql AS $$ BEGIN `+does+` END $$`))(t)
	}
	notify(`PERFORM pg_catalog.pg_notify($1, $2);`)
	f := newFleet(t, 2, db.address+"&search_path=ours,pg_catalog")
	a := newAgents(t, f, 1)[0]
	a.chat = converse(t, f.replicas[0], "a")
	all := watchersOf(t, f.replicas[1])
	for _, c := range []struct {
		fault, tried string
		writes       int
		begin        func()
	}{
		{"none", "a write on one replica, watched on another", programtest.Size(30, 500), func() {}},
		{"lost notices, silent", "no notice arrives", programtest.Size(1, 20), func() {
			notify(``)
			measure(t, a, all, 1) // the read that the last notice caused may still find this write
		}},
		{"lost notices, refused", "notices are refused", programtest.Size(1, 20), func() { notify(`RAISE 'no';`) }},
	} {
		c.begin()
		took := measure(t, a, all, c.writes)
		text, largest := describe(took)
		report.Add(t, programtest.Row{Fault: c.fault, Tried: c.tried, Times: fmt.Sprint(c.writes, " writes"), Acknowledged: c.writes,
			Notes: "median/p99 until sent: " + text})
		if largest > healed {
			t.Errorf("%s: a change took %s", c.fault, largest)
		}
		for name, each := range took {
			if c.fault == "none" && each[len(each)/2] > 250*time.Millisecond {
				t.Errorf("%s: the median is %s", name, each[len(each)/2])
			}
		}
	}
}

// D5: agents on three replicas share the steps of a list. When a conversation takes up a list through one replica, its
// stream on another replica reports the list's changes. BAD-INPUT 53: a replica that gets its first session while the
// database is down accepts sessions of the other replicas once the database is back.
func TestClaims(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	f := newFleet(t, 4, db.address)
	a, b, late := f.replicas[0], f.replicas[1], f.replicas[3]
	var agents []*servertest.Chat
	for n := range 6 {
		agents = append(agents, converse(t, f.replicas[n%3], "work"))
	}
	calls := servertest.Claims(t, agents, programtest.Size(40, 400))
	report.Add(t, programtest.Row{Fault: "claims at once", Tried: "6 agents of 3 replicas take, do and give back steps of one list", Acknowledged: calls,
		Notes: "linearizable, checked by porcupine"})

	writer := converse(t, a, "plan")
	writer.Writes("p:one")
	for _, era := range []servertest.Transport{servertest.Session, servertest.Sessionless} {
		c := servertest.OverHTTP(t, era, "tester", a.endpoint("")).Conversation(string(era))
		c.Subscribes("todo://list")
		c.At(b.endpoint("")).Resume("plan").Says("one")
		for n := range 2 {
			writer.At(b.endpoint("plan")).Writes(fmt.Sprint("p:one p:", era, n))
			c.Updated()
		}
	}

	checktest.Check(t, db.Stop("fast"))
	elsewhere := writer.At(late.endpoint("plan"))
	_, _ = elsewhere.Try("SetTodoList", `{}`) // fails: the database is down
	checktest.Check(t, db.Start())
	f.until("both replicas are ready", func() bool { return a.isReady() && late.isReady() })
	writer.Writes("p:by a")
	elsewhere.Writes("p:by a p:by b")
}

func converse(t testing.TB, r *replica, list string) *servertest.Chat {
	t.Helper()
	return servertest.OverHTTP(t, servertest.Session, "tester", r.endpoint(list))
}

func (r *replica) endpoint(list string) string {
	if list == "" {
		return r.url.String() + "/mcp"
	}
	return r.url.String() + "/mcp?list=" + list
}
