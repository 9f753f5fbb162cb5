package notify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Notice is a message to a person. Its JSON is the data in the event of a plain webhook (docs/operations.md).
type Notice struct {
	ID     string    `json:"-"` // the same in each try to send the notice
	Time   time.Time `json:"-"`
	List   string    `json:"list,omitempty"` // the list's id; empty for a test
	Event  string    `json:"state"`          // a key of [forms]
	Client string    `json:"client,omitempty"`
	Done   int       `json:"done"` // items that are completed or cancelled
	Failed int       `json:"failed"`
	Total  int       `json:"total"`
	URL    string    `json:"url,omitempty"` // the list's page or, for a chat, the panel; empty when unknown
	// Title and Text are texts of the list, cut and safe to show; empty without [Config.Texts].
	Title string `json:"title,omitempty"`
	Text  string `json:"text,omitempty"`
}

// Test returns a notice that a person sends to see whether notices arrive.
func Test() Notice { return Notice{ID: board.NewID(), Event: "test", Time: time.Now()} }

// eventOf returns the name of a state's event: "left_open" for "left open".
func eventOf(s todo.State) string { return strings.ReplaceAll(string(s), " ", "_") }

// forms has for each event a sentence, ntfy's emoji and priority (3 is the default), and how long a list must be in the
// state before a notice is sent. If a person answers or the agent restarts within that time, no notice is sent.
var forms = map[string]struct {
	head, tag string
	priority  int
	delay     time.Duration
}{
	"waiting":   {"An agent waits for you", "raised_hand", 4, 15 * time.Second},
	"finished":  {"A list is finished", "white_check_mark", 3, 5 * time.Second},
	"failed":    {"A list has failed", "x", 3, 5 * time.Second},
	"left_open": {"A list was left open", "door", 3, time.Minute},
	"test":      {"Notices of todo-mcp arrive here", "bell", 3, 0},
}

// lines returns the lines of a notice below its sentence. It passes each text of the list to quote, which escapes it.
func (n *Notice) lines(quote func(string) string) (lines []string) {
	line := cmp.Or(n.Client, "An agent")
	if n.Total > 0 { // 0 for a chat without a list
		line += fmt.Sprintf(": %d of %d done", n.Done, n.Total)
	}
	if n.Failed > 0 {
		line += fmt.Sprintf(", %d failed", n.Failed)
	}
	if n.Event != "test" {
		lines = append(lines, line)
	}
	for _, text := range []string{n.Title, n.Text} {
		if text != "" {
			lines = append(lines, quote(text))
		}
	}
	return lines
}

// chat returns a notice as a message for Slack or Discord. bold is the mark around the first line.
func (n *Notice) chat(bold string, quote func(string) string) string {
	lines := append([]string{bold + forms[n.Event].head + bold}, n.lines(quote)...)
	if n.URL != "" {
		lines = append(lines, n.URL)
	}
	return strings.Join(lines, "\n")
}

// code returns a text formatted as code, in which neither Slack nor Discord sees markup, mentions or links.
func code(text string) string { return "`" + strings.ReplaceAll(text, "`", "'") + "`" }

// slackCode is [code] with &, < and > escaped, which Slack interprets even in code.
func slackCode(text string) string {
	return code(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text))
}

// receiver is a kind of service that receives notices.
type receiver struct {
	name, title string                            // name stands in addresses, title is shown to people
	known       []string                          // beginnings of its addresses: a host and a path
	body        func(n *Notice, topic string) any // returns the value to send as JSON
}

// receivers are the kinds of receivers. The last kind matches every address that no other matches.
var receivers = []receiver{
	{"ntfy", "ntfy", []string{"ntfy.sh/"}, func(n *Notice, topic string) any {
		form := forms[n.Event]
		return map[string]any{"topic": topic, "title": form.head, "message": strings.Join(n.lines(strings.Clone), "\n"),
			"priority": form.priority, "tags": []string{form.tag}, "click": n.URL}
	}},
	{"slack", "Slack", []string{"hooks.slack.com/"}, func(n *Notice, _ string) any {
		return map[string]any{"text": n.chat("*", slackCode), "unfurl_links": false, "unfurl_media": false}
	}},
	{"discord", "Discord", []string{"discord.com/api/webhooks/", "discordapp.com/api/webhooks/",
		"ptb.discord.com/api/webhooks/", "canary.discord.com/api/webhooks/"}, func(n *Notice, _ string) any {
		return map[string]any{"content": n.chat("**", code), "allowed_mentions": map[string]any{"parse": []string{}}}
	}},
	{webhook, "webhook", []string{""}, func(n *Notice, _ string) any {
		what := "list." + n.Event
		if n.List == "" {
			what = n.Event
		}
		return struct {
			Type string    `json:"type"`
			Time time.Time `json:"timestamp"`
			Data *Notice   `json:"data"`
		}{what, n.Time.UTC(), n}
	}},
}

// webhook is the name of the kind whose events have the form of Standard Webhooks.
const webhook = "webhook"

// Target is an address at which notices are received. It is a secret: anyone who knows it can send there.
type Target struct {
	receiver
	url   string // with user and password
	host  string
	topic string // of ntfy
	key   []byte // signs the events of a plain webhook; nil for none
}

// String names the kind and the host, without secrets.
func (t Target) String() string { return t.title + " at " + t.host }

// errTarget says what an address may be. It does not quote the address, which is a secret.
var errTarget = errors.New("must be addresses with commas: ntfy://ntfy.sh/TOPIC, that of an incoming webhook of Slack or Discord, " +
	"or another https:// one, with #whsec_… for a secret that signs; slack+https:// and discord+https:// say what a host of your own is")

// Parse reads an address; the error says what is allowed.
func Parse(text string) (t Target, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return t, errTarget // the error of url.Parse quotes the address
	}
	name, scheme, isNamed := strings.Cut(u.Scheme, "+")
	if u.Scheme == "ntfy" {
		scheme, isNamed = "https", true
	} else if !isNamed {
		scheme = u.Scheme
	}
	place := strings.ToLower(u.Hostname()) + u.Path
	i := slices.IndexFunc(receivers, func(r receiver) bool {
		if isNamed {
			return r.name == name
		}
		return slices.ContainsFunc(r.known, func(begin string) bool { return strings.HasPrefix(place, begin) })
	})
	if i < 0 || scheme != "https" && scheme != "http" {
		return t, errTarget
	}
	t.receiver, t.host, u.Scheme = receivers[i], u.Host, scheme
	if u.Fragment != "" {
		secret, ok := strings.CutPrefix(u.Fragment, "whsec_")
		t.key, err = base64.StdEncoding.DecodeString(secret)
		if !ok || err != nil || len(t.key) < 16 || t.name != webhook {
			return t, errTarget
		}
		u.Fragment = ""
	}
	if t.name == "ntfy" {
		t.topic, u.Path = strings.TrimPrefix(u.Path, "/"), "/"
		if !topicForm.MatchString(t.topic) || len(t.topic) > 64 || u.RawQuery != "" {
			return t, errTarget
		}
	}
	t.url = u.String()
	return t, nil
}

var topicForm = regexp.MustCompile(`^[-_0-9A-Za-z]+$`)

const (
	// sendTimeout bounds one try to send, including the reading of the answer.
	sendTimeout = 10 * time.Second
	// maxTries is the highest number of tries to send a notice.
	maxTries = 4
	// maxAnswer is the number of bytes read from an answer's body, maxHeader the limit for its headers in bytes.
	maxAnswer, maxHeader = 4 << 10, 16 << 10
	// maxWaiting is how many notices may wait for one receiver.
	maxWaiting = 50
)

// client follows no redirects and keeps no connections.
var client = http.Client{
	Timeout:       sendTimeout,
	Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// sender sends notices to one target, one after the other.
type sender struct {
	Target
	log   *slog.Logger
	queue chan Notice
}

// add queues a notice, or drops it if the queue is full.
func (s *sender) add(n Notice) {
	select {
	case s.queue <- n:
	default:
		s.log.Warn("a notice is dropped: too many wait", "to", s.String(), "list", n.List, "state", n.Event)
	}
}

func (s *sender) run(ctx context.Context) {
	for n := range s.queue {
		if err := s.deliver(ctx, n); err != nil {
			s.log.Warn("a notice was not received", "to", s.String(), "error", err)
		}
	}
}

// deliver sends a notice. After an error that may pass, it retries after 2, 8 and 32 seconds: [maxTries] tries in all.
func (s *sender) deliver(ctx context.Context, n Notice) error {
	for try, wait := 1, 2*time.Second; ; try, wait = try+1, 4*wait {
		passes, err := s.Send(ctx, n)
		if err == nil || !passes || try == maxTries || ctx.Err() != nil {
			return err
		}
		board.Sleep(ctx, wait)
	}
}

// Send tries once to send a notice. Its error contains no secret. passes reports whether a retry may succeed.
func (t Target) Send(ctx context.Context, n Notice) (passes bool, err error) {
	body, _ := json.Marshal(t.body(&n, t.topic)) // cannot fail: it has texts, numbers and the present time
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return false, errTarget // err would quote the address
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "todo-mcp")
	if t.name == webhook {
		t.sign(req.Header, n.ID, body)
	}
	res, err := client.Do(req)
	if err != nil {
		return true, failure(err)
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer)
	switch status := res.StatusCode; status / 100 {
	case 2:
		return false, nil
	case 3:
		return false, fmt.Errorf("it sends on to another address (%d), which is not followed", status)
	default:
		return status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500, fmt.Errorf("it answers %d", status)
	}
}

// sign adds the headers of Standard Webhooks: an id, the time, and with a key a signature.
func (t Target) sign(h http.Header, id string, body []byte) {
	at := strconv.FormatInt(time.Now().Unix(), 10)
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", at)
	if t.key != nil {
		mac := hmac.New(sha256.New, t.key)
		fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
		h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
}

// failure returns why no answer came. It hides the HTTP client's error, which quotes the address and the answer.
func failure(err error) error {
	var timeout net.Error
	var code syscall.Errno
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("the program ended before it answered")
	case errors.As(err, new(*net.DNSError)):
		return errors.New("its host is not found")
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return errors.New("its certificate is not valid")
	case errors.As(err, &code):
		return code
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("no answer within %s", sendTimeout)
	}
	return errors.New("it does not answer as a web server does")
}
