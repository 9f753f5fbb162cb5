package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/tools"
)

// desk simulates several processes on one store, under the clock of synctest. The notifier of each process only records
// its notices.
type desk struct {
	*testing.T
	boards []*board.Board
	store  *watchedStore
	whose  string // the principal of the agents
	log    bytes.Buffer
	began  time.Time
	mu     sync.Mutex
	told   []string
	hangs  chan struct{} // receivers answer once this channel is closed
}

type watchedStore struct {
	board.Store
	looks atomic.Int32
	fails atomic.Bool
}

func (s *watchedStore) Find(ctx context.Context, q board.Query) ([]todo.Snapshot, error) {
	if !q.UpdatedSince.IsZero() {
		s.looks.Add(1)
		if s.fails.Load() {
			return nil, errors.New("the disk burns")
		}
	}
	return s.Store.Find(ctx, q)
}

// atDesk runs a test at a desk with a number of processes.
func atDesk(t *testing.T, processes int, test func(d *desk)) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{T: t, began: time.Now(), store: &watchedStore{Store: storetest.NewMemory()}, hangs: make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		var work sync.WaitGroup
		for range processes {
			bd := board.NewBoard(d.store)
			d.boards = append(d.boards, bd)
			n := New(Config{Lists: bd.Everyone(), Texts: true, Log: slog.New(slog.NewTextHandler(&d.log, nil))})
			s := &sender{log: n.Log, queue: make(chan Notice, maxWaiting)}
			n.senders = []*sender{s}
			work.Go(func() { n.watch(ctx); close(s.queue) })
			work.Go(func() {
				for notice := range s.queue {
					<-d.hangs
					d.mu.Lock()
					d.told = append(d.told, fmt.Sprintf("%s: %s: %s %d/%d: %s %s", time.Since(d.began).Truncate(time.Minute),
						notice.Client, notice.Event, notice.Done, notice.Total, notice.Title, notice.Text))
					d.mu.Unlock()
				}
			})
		}
		close(d.hangs)
		synctest.Wait()
		test(d)
		stop()
		work.Wait()
		for _, b := range d.boards {
			b.Close()
		}
		d.store.Close()
	})
}

func (d *desk) expect(wait time.Duration, want ...string) {
	d.Helper()
	time.Sleep(wait)
	synctest.Wait()
	checktest.Same(d, "told (-want +got)", cmp.Diff(want, d.told), "")
	d.told = nil
}

func chat(key string) board.Conversation {
	return board.Conversation{Key: key, Client: "claude-code", Lasts: time.Hour}
}

// agent writes a list through a process, given by number, in the chat with a key. The list has an item for each status.
func (d *desk) agent(process int, key string, statuses ...string) {
	d.Helper()
	checktest.Must(d.boards[process].As(d.whose).Apply(d.Context(), board.Write{
		Target: board.Target{Conversation: chat(key)}, Writer: todo.Writer{Client: "claude-code"},
		Change: func(t *todo.Draft) error {
			var lines []todo.Line
			for i, status := range statuses {
				lines = append(lines, todo.Line{Text: fmt.Sprint("Step ", i+1), Status: status})
			}
			t.Replace(tools.TodoWriteView(), lines)
			return nil
		}}))(d)
}

// Three processes on one store send one notice of each event, whichever process the event reaches: an agent asks, an
// agent goes away, or a list is finished.
func TestEachNoticeOnce(t *testing.T) {
	atDesk(t, 3, func(d *desk) {
		d.agent(0, "a", "completed", "in_progress")
		d.expect(time.Minute)
		asks := func(c *todo.Chat, at time.Time) { c.Says(todo.Asks, "run `npm publish`?\x1b[2J", at) }
		checktest.Must(d.boards[1].As("").Hear(d.Context(), chat("a"), asks))(d)
		d.expect(9*time.Minute, "1m0s: Claude Code: waiting 1/2: Step 1 +1 run `npm publish`?\\x1b[2J")
		d.agent(0, "a", "completed", "in_progress")
		d.expect(time.Minute)
		checktest.Check(d, d.boards[0].As("").Leave(d.Context(), chat("a")))
		d.expect(2*time.Minute, "12m0s: Claude Code: left_open 1/2: Step 1 +1 Step 2")
		d.agent(2, "a", "completed", "completed")
		d.expect(time.Hour, "13m0s: Claude Code: finished 2/2: Step 1 +1 ")
	})
}

// Lists are read every five seconds, whether no list changes or many do. If the store fails, the log says so once, and
// a list that finished meanwhile causes its notice afterwards.
func TestLooksAtRest(t *testing.T) {
	atDesk(t, 1, func(d *desk) {
		looks := func(wait time.Duration) int32 {
			before := d.store.looks.Load()
			time.Sleep(wait)
			return d.store.looks.Load() - before
		}
		time.Sleep(time.Second) // so that no look falls on the border between two counted periods
		checktest.Same(d, "looks in an hour", looks(time.Hour), 720)
		for n := range 100 {
			d.agent(0, fmt.Sprint("chat ", n), "in_progress")
			time.Sleep(time.Second / 10)
		}
		checktest.Same(d, "looks in 50 seconds", looks(50*time.Second), 10)
		d.agent(0, "a", "in_progress")
		time.Sleep(10 * time.Second)
		d.store.fails.Store(true)
		d.agent(0, "a", "completed")
		d.expect(time.Minute)
		d.store.fails.Store(false)
		d.expect(time.Minute, "1h2m0s: Claude Code: finished 1/1: Step 1 ")
		if n := strings.Count(d.log.String(), "the disk burns"); n != 1 {
			d.Errorf("%d lines: %s", n, &d.log)
		}
	})
}

// BAD-INPUT 120: Hundreds of lists begin, wait and end → Each has few [notices](../operations.md#notices); at most
// fifty wait for a receiver; the log names dropped ones
func TestManyNotices(t *testing.T) {
	atDesk(t, 1, func(d *desk) {
		d.hangs = make(chan struct{})
		for n := range 200 {
			d.agent(0, fmt.Sprint("chat ", n), "completed")
		}
		time.Sleep(time.Minute)
		close(d.hangs)
		synctest.Wait()
		checktest.Same(d, "notices", len(d.told), 1+maxWaiting)
		checktest.Same(d, "notices in the log", strings.Count(d.log.String(), "is dropped"), 200-1-maxWaiting)
		d.told = nil
		d.agent(0, "another", "completed")
		time.Sleep(time.Minute)
		synctest.Wait()
		checktest.Same(d, "notices afterwards", len(d.told), 1)
	})
}

// A list causes a notice once it has been in a state for a while, and another notice of that state only after
// [sameAfter]. A state causes no notice if it began before the start or a person made it.
func TestTracker(t *testing.T) {
	for name, c := range map[string]struct{ stands, told string }{
		"waits":                      {"0s working, 10s waiting", "25s waiting"},
		"answered in time":           {"0s working, 10s waiting, 24s working", ""},
		"so before the start":        {"0s waiting", ""},
		"so before the start, anew":  {"0s waiting, 10s working, 20s waiting", "35s waiting"},
		"finished":                   {"0s working, 10s finished", "15s finished"},
		"failed":                     {"0s working, 10s failed", "15s failed"},
		"idle, archived":             {"0s working, 10s idle, 20s archived", ""},
		"left open":                  {"0s idle, 10s left open", "1m10s left open"},
		"its agent comes back":       {"0s working, 10s left open, 1m0s working", ""},
		"left open before":           {"0s left open, 10s working, 20s left open", "1m20s left open"},
		"two states in a minute":     {"0s working, 10s waiting, 30s finished", "25s waiting, 35s finished"},
		"it flips":                   {"0s working, 10s waiting, 2m0s working, 3m0s waiting, 4m0s working", "25s waiting"},
		"it flips and stays":         {"0s working, 10s waiting, 2m0s working, 3m0s waiting", "25s waiting, 10m25s waiting"},
		"a person ticks the last":    {"0s working, 10s finished by person", ""},
		"a person edits meanwhile":   {"0s working, 10s waiting, 12s waiting by person", ""},
		"a person, then the agent":   {"0s working, 10s working by person, 20s finished", "25s finished"},
		"a person, then it is left":  {"0s working by person, 10s left open", "1m10s left open"},
		"new, and finished at once":  {"0s none, 10s finished", "15s finished"},
		"deleted before it is told":  {"0s working, 10s waiting, 12s none", ""},
		"an old one that comes back": {"0s none, 10m0s old left open", ""},
	} {
		checktest.Same(t, name, play(t, c.stands), c.told)
	}
}

// A notice that another process sent before a list's state began delays ours; a notice sent later replaces ours. A
// state that begins between the start and the first look causes a notice, though it is the first state seen.
func TestDue(t *testing.T) {
	began := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for told, due := range map[time.Duration]time.Time{-5 * time.Minute: began.Add(sameAfter - 5*time.Minute), -10 * time.Second: {}, 5 * time.Second: {}} {
		tr := tracker{began: began}
		tr.see(began.Add(-time.Second), map[string]*account.Group{"list": group("working", 0, began)})
		tr.see(began, map[string]*account.Group{"list": group("waiting", 1, began)})
		tr.told("list", began.Add(told))
		if got := dueOf(&tr); !got.Equal(due) {
			t.Errorf("told %s after: due %s, want %s", told, got, due)
		}
	}
	for updated, due := range map[time.Duration]time.Time{-time.Second: {}, time.Second: began.Add(7 * time.Second)} {
		tr := tracker{began: began}
		tr.see(began.Add(2*time.Second), map[string]*account.Group{"list": group("finished", 1, began.Add(updated))})
		if got := dueOf(&tr); !got.Equal(due) {
			t.Errorf("changed %s after the start: due %s, want %s", updated, got, due)
		}
	}
}

// dueOf returns when a notice of a tracker's only list is due; zero for none.
func dueOf(tr *tracker) (due time.Time) {
	if k := tr.lists["list"]; k.pending {
		due = k.due
	}
	return due
}

// play gives a tracker the states of a list, second by second, and returns the notices sent, with their times.
func play(t *testing.T, stands string) string {
	t.Helper()
	began := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	tr := tracker{began: began.Add(1)} // a state at 0s began before the start
	var told []string
	claimed := make(map[todo.State]time.Time) // the claims that a store would keep
	f, seq := (*account.Group)(nil), int64(0)
	steps := strings.Split(stands, ", ")
	for at := time.Duration(0); at < 20*time.Minute; at += time.Second {
		now := began.Add(at)
		if when, what, _ := strings.Cut(steps[0], " "); len(steps[0]) > 0 && when == at.String() {
			f, seq = group(what, seq, now), seq+1
			steps = append(steps[1:], "")
		}
		all := make(map[string]*account.Group)
		if f != nil {
			all["list"] = f
		}
		tr.see(now, all)
		for _, id := range tr.due(now, false) {
			state := tr.lists[id].state
			if earlier, ok := claimed[state]; !ok || now.Sub(earlier) >= sameAfter {
				told, claimed[state] = append(told, fmt.Sprint(at, " ", state)), now
			}
			tr.told(id, claimed[state])
		}
	}
	return strings.Join(told, ", ")
}

// group returns a group of one list in the state that a step of [play] names; nil for "none".
func group(what string, seq int64, now time.Time) *account.Group {
	what, person := strings.CutSuffix(what, " by person")
	what, old := strings.CutPrefix(what, "old ")
	if what == "none" {
		return nil
	}
	s := todo.Snapshot{List: todo.List{ID: "list"}, Items: []todo.Item{{ID: "1"}}, Updated: now, Seq: seq + 1, Writer: todo.Writer{Person: person}}
	if strings.HasSuffix(what, "left open") { // this state comes without a write
		s.Seq = seq
	}
	if old {
		s.Updated = now.Add(-time.Hour)
	}
	return &account.Group{Main: s, States: map[string]todo.Standing{"list": {State: todo.State(what)}}}
}

// secret is in each address, in the part that only the receiver may see.
const secret = "T0P-S3CRET"

// signing is the secret of a plain webhook, as receivers write it.
var signing = "whsec_" + base64.StdEncoding.EncodeToString([]byte(secret+" of sixteen bytes"))

// BAD-INPUT 121: A bad address in `--notify`: of an unknown kind, without a topic, with a secret that signs nothing →
// The program does not start; its error hides the address
func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"ntfy://ntfy.sh/" + secret:                                           "ntfy at ntfy.sh https://ntfy.sh/",
		"https://ntfy.sh/" + secret:                                          "ntfy at ntfy.sh https://ntfy.sh/",
		"ntfy+http://:tk_" + secret + "@10.0.0.1:80/t":                       "ntfy at 10.0.0.1:80 http://:tk_" + secret + "@10.0.0.1:80/",
		"https://hooks.slack.com/services/" + secret:                         "Slack at hooks.slack.com https://hooks.slack.com/services/" + secret,
		"slack+https://chat.example.com/hooks/" + secret:                     "Slack at chat.example.com https://chat.example.com/hooks/" + secret,
		"https://canary.discord.com/api/webhooks/1/" + secret:                "Discord at canary.discord.com https://canary.discord.com/api/webhooks/1/" + secret,
		"https://discord.com/other/" + secret:                                "webhook at discord.com https://discord.com/other/" + secret,
		"https://user:" + secret + "@example.com/?" + secret + "#" + signing: "webhook at example.com https://user:" + secret + "@example.com/?" + secret,

		secret: "", "ntfy://" + secret + "/": "", "ntfy:///" + secret: "", "ntfy://ntfy.sh/a/" + secret: "", "ntfy://h/" + secret + "?x": "",
		"ftp://example.com/" + secret: "", "teams+https://example.com/" + secret: "", "slack+ftp://example.com/" + secret: "", "://" + secret: "",
		"https://example.com/#" + secret: "", "https://example.com/#whsec_" + secret: "", "https://hooks.slack.com/x#" + signing: "",
		"https://example.com/\x00" + secret: "", "https://" + secret + "%zz/": "", "ntfy://ntfy.sh/" + strings.Repeat(secret, 10): "",
	} {
		target, err := Parse(address)
		got := target.String() + " " + target.url
		if want == "" && (err == nil || strings.Contains(err.Error(), secret)) || want != "" && (err != nil || got != want) {
			t.Errorf("%s: %q, want %q, %v", address, got, want, err)
		}
		if strings.Contains(target.String(), secret) && err == nil {
			t.Errorf("%s is shown as %s", address, target)
		}
	}
}

// serverOf starts a server that passes each JSON post to read, and sends the text that read returns to a channel.
func serverOf(t *testing.T, read func(r *http.Request, body []byte) (shown string, err error)) (url string, shown chan string) {
	shown = make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		text := ""
		if err == nil && r.Method == http.MethodPost && r.Header.Get("Content-Type") == "application/json" {
			text, err = read(r, body)
		}
		if err != nil || text == "" {
			t.Errorf("%v: %s %s", err, r.Method, body)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		shown <- text
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), shown
}

func strict(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func readNtfy(r *http.Request, body []byte) (string, error) {
	var m struct {
		Topic, Title, Message, Click string
		Priority                     int
		Tags                         []string
	}
	if _, password, _ := r.BasicAuth(); password != secret || r.URL.Path != "/" {
		return "", fmt.Errorf("%s of %q", r.URL, password)
	}
	err := strict(body, &m)
	return fmt.Sprint(m.Topic, " ", m.Priority, " ", m.Tags, " ", m.Title, "\n", m.Message, "\n", m.Click), err
}

func readSlack(r *http.Request, body []byte) (string, error) {
	var m struct {
		Text        string
		UnfurlLinks bool `json:"unfurl_links"`
		UnfurlMedia bool `json:"unfurl_media"`
	}
	err := strict(body, &m)
	if strings.Contains(m.Text, "<") || len(m.Text) > 4000 {
		err = fmt.Errorf("it commands Slack: %s", m.Text)
	}
	return m.Text, err
}

func readDiscord(r *http.Request, body []byte) (string, error) {
	var m struct {
		Content  string
		Mentions struct{ Parse []string } `json:"allowed_mentions"`
	}
	err := strict(body, &m)
	if m.Mentions.Parse == nil || len(m.Mentions.Parse) > 0 || len(m.Content) > 2000 {
		err = fmt.Errorf("mentions %v", m.Mentions)
	}
	return m.Content, err
}

func readWebhook(r *http.Request, body []byte) (string, error) {
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(signing, "whsec_"))
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), body)
	if "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) != r.Header.Get("webhook-signature") {
		return "", fmt.Errorf("signature %q", r.Header.Get("webhook-signature"))
	}
	return string(body), nil
}

// hostile is a text with markup for each receiver, terminal controls, and a mark that reverses the text shown.
const hostile = "@everyone <!channel> <@U1> *b* `c` [x](https://evil.example) & \x1b[2J\u202e"

// BAD-INPUT 122: Titles, questions and clients' names with markup, mentions, links and controls → Not sent; with
// `--notify-texts` titles and questions, 200 characters each, as plain text. Only known clients are named
func TestReceivers(t *testing.T) {
	const page = "https://todo.example.com/lists/list"
	event := func(more string) string {
		return `{"type":"list.waiting","timestamp":"2026-11-23T05:00:00Z","data":{"list":"list","state":"waiting",` +
			`"done":1,"failed":0,"total":2,"url":"` + page + `"` + more + `}}`
	}
	quoted := "`@everyone <!channel> <@U1> *b* 'c' [x](https://evil.example) & \\x1b[2J\\u202e`"
	plain, escaped := strings.NewReplacer("'", "`").Replace(strings.Trim(quoted, "`")), strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;").Replace(quoted)
	long := strings.Repeat("x", maxShown)
	inJSON, _ := json.Marshal(plain)
	for _, c := range []struct {
		before, after string
		read          func(*http.Request, []byte) (string, error)
		bare, full    string
	}{
		{"ntfy+http://:" + secret + "@", "/topic", readNtfy, "topic 4 [raised_hand] An agent waits for you\nAn agent: 1 of 2 done\n" + page,
			"topic 4 [raised_hand] An agent waits for you\nAn agent: 1 of 2 done\n" + plain + "\n" + long + "\n" + page},
		{"slack+http://", "/hook", readSlack, "*An agent waits for you*\nAn agent: 1 of 2 done\n" + page,
			"*An agent waits for you*\nAn agent: 1 of 2 done\n" + escaped + "\n`" + long + "`\n" + page},
		{"discord+http://", "/hook", readDiscord, "**An agent waits for you**\nAn agent: 1 of 2 done\n" + page,
			"**An agent waits for you**\nAn agent: 1 of 2 done\n" + quoted + "\n`" + long + "`\n" + page},
		{"http://", "/?x#" + signing, readWebhook, event(""), event(`,"title":` + string(inJSON) + `,"text":"` + long + `"`)},
	} {
		host, shown := serverOf(t, c.read)
		target := checktest.Must(Parse(c.before + host + c.after))(t)
		for _, texts := range []bool{false, true} {
			n := Notifier{Config: Config{Texts: texts, Panel: "https://todo.example.com"}}
			notice := n.notice(waiting(), time.Date(2026, 11, 23, 5, 0, 0, 0, time.UTC))
			checktest.Must(target.Send(t.Context(), notice))(t)
			want := c.bare
			if texts {
				want = c.full
			}
			checktest.Same(t, fmt.Sprintf("%s, texts %t", target, texts), cmp.Diff(want, <-shown), "")
		}
	}
}

func waiting() *account.Group {
	s := todo.Snapshot{List: todo.List{ID: "list", Client: hostile}, GivenTitle: hostile,
		Items: []todo.Item{{ID: "1", Text: hostile, Status: todo.Completed}, {ID: "2", Text: hostile, Status: todo.InProgress}}}
	return &account.Group{Main: s, States: map[string]todo.Standing{"list": {State: todo.Waiting, Asks: strings.Repeat("x", 300)}}}
}

// BAD-INPUT 123: A receiver is slow, endless or failing, redirects, or has a bad certificate → Four tries of ten
// seconds and 4 kB, no redirect, no address logged; past fifty, notices are lost
func TestReceiversThatFail(t *testing.T) {
	var tries, elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	hang := make(chan struct{})
	answers := func(statuses ...int) http.HandlerFunc { // the n-th try gets the n-th status
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(statuses[min(int(tries.Load()), len(statuses))-1])
		}
	}
	breaksOff := func(said string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			fmt.Fprint(conn, strings.ReplaceAll(said, "URL", r.URL.String()))
			conn.Close()
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		tries  int32
		want   string
		once   time.Duration // see deliver
	}{
		"busy once": {answers(http.StatusTooManyRequests, http.StatusOK), 2, "", 0},
		"refused":   {answers(http.StatusNotFound), 1, "it answers 404", 0},
		"redirects": {http.RedirectHandler(other.URL, http.StatusTemporaryRedirect).ServeHTTP, 1, "(307), which is not followed", 0},
		"down once": {answers(http.StatusBadGateway, http.StatusOK), 2, "", 0},
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		}, 1, "", 0},
		"hangs":              {func(http.ResponseWriter, *http.Request) { <-hang }, 1, "no answer within", time.Second},
		"stops in its head":  {breaksOff("HTTP/1.1 200 OK\r\nX: " + strings.Repeat(secret, 1<<20)), 1, "does not answer as a web server", sendTimeout},
		"quotes the address": {breaksOff("URL\r\n\r\n"), 1, "does not answer as a web server", sendTimeout},
	} {
		tries.Store(0)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tries.Add(1)
			_, _ = io.Copy(io.Discard, r.Body) // unread data would make the system reset the connection
			c.answer(w, r)
		}))
		logged, took := deliver(t, s.URL+"/"+secret, c.once)
		if (c.want == "") != (logged == "") || !strings.Contains(logged, c.want) || strings.Contains(logged, secret) || tries.Load() != c.tries || took > 8*time.Second {
			t.Errorf("%s: %d tries in %s: %s", name, tries.Load(), took, logged)
		}
		if name == "hangs" {
			close(hang)
		}
		s.Close()
	}
	checktest.Same(t, "a redirect was followed", elsewhere.Load(), 0)
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	tls.StartTLS()
	defer tls.Close()
	for address, want := range map[string]string{tls.URL: "certificate is not valid", "http://127.0.0.1:1": "refused"} {
		if logged, _ := deliver(t, address+"/"+secret, sendTimeout); !strings.Contains(logged, want) || strings.Contains(logged, secret) {
			t.Errorf("%s: %s", address, logged)
		}
	}
	if err := failure(&net.OpError{Err: &net.DNSError{Name: secret}}); err.Error() != "its host is not found" {
		t.Error(err)
	}
}

// deliver sends one notice, and returns the log and the time taken. If once is 0, it retries as a sender does.
// Otherwise it makes a single try, and once is the timeout.
func deliver(t *testing.T, address string, once time.Duration) (logged string, took time.Duration) {
	t.Helper()
	target := checktest.Must(Parse(address))(t)
	var log bytes.Buffer
	s := &sender{target, slog.New(slog.NewTextHandler(&log, nil)), make(chan Notice, maxWaiting)}
	began := time.Now()
	if once > 0 {
		ctx, cancel := context.WithTimeout(t.Context(), once)
		defer cancel()
		if _, err := s.Send(ctx, Test()); err != nil {
			log.WriteString(err.Error())
		}
		return log.String(), time.Since(began)
	}
	s.add(Test())
	close(s.queue)
	s.run(t.Context())
	return log.String(), time.Since(began)
}

// BAD-INPUT 123: while a receiver hangs, fifty notices wait for it, and later ones are dropped.
func TestFullQueue(t *testing.T) {
	var log bytes.Buffer
	s := &sender{Target{}, slog.New(slog.NewTextHandler(&log, nil)), make(chan Notice, maxWaiting)}
	for n := range maxWaiting + 3 {
		s.add(Notice{ID: fmt.Sprint(n)})
	}
	if first := <-s.queue; first.ID != "0" || len(s.queue) != maxWaiting-1 || strings.Count(log.String(), "is dropped") != 3 {
		t.Errorf("%s is the first of %d: %s", first.ID, len(s.queue), &log)
	}
}
