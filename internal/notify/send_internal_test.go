package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// secret stands in each address where nobody but the receiver may see it.
const secret = "T0P-S3CRET"

// signing is the secret of a plain webhook, as receivers write it.
var signing = "whsec_" + base64.StdEncoding.EncodeToString([]byte(secret+" of sixteen bytes"))

// BAD-INPUT 121: A bad address in `--notify`: of an unknown kind, without a topic, with a secret
// that signs nothing → The program does not start; the error does not show it
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

// serverOf is a server that takes what a kind of receiver takes, and nothing else.
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

// hostile is a text that commands each receiver, a terminal and a person's eyes.
const hostile = "@everyone <!channel> <@U1> *b* `c` [x](https://evil.example) & \x1b[2J\u202e"

// BAD-INPUT 122: Titles, questions and clients' names with markup, mentions, links and controls →
// Not sent; with `--notify-texts` titles and questions, 200 characters each, as code. Only a known
// client is named
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

// BAD-INPUT 123: A receiver that is slow, endless, failing, of another certificate, or redirects →
// Four tries of ten seconds and 4 kB, no redirect, no address in the log; past fifty the oldest go
func TestReceiversThatFail(t *testing.T) {
	var tries, elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	hang := make(chan struct{})
	answers := func(retryAfter string, statuses ...int) http.HandlerFunc { // one after the other
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", retryAfter)
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
		once   time.Duration // tries once, for so long; 0 is as it is told
	}{
		"busy once":     {answers("1", http.StatusTooManyRequests, http.StatusOK), 2, "", 0},
		"busy for ever": {answers("3600", http.StatusTooManyRequests), 1, "it answers 429", 0},
		"refused":       {answers("", http.StatusNotFound), 1, "it answers 404", 0},
		"redirects":     {http.RedirectHandler(other.URL, http.StatusTemporaryRedirect).ServeHTTP, 1, "(307), which is not followed", 0},
		"down once":     {answers("", http.StatusBadGateway, http.StatusOK), 2, "", 0},
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
			_, _ = io.Copy(io.Discard, r.Body) // else the system resets a connection that is closed
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

// deliver has a sender send one notice, and returns what it logs. It
// tries once, for so long, or as often as it may.
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

// BAD-INPUT 123: while a receiver hangs, fifty wait for it.
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
