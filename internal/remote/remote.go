// Package remote follows and edits the lists of a todo-mcp server over HTTP.
//
// [Client.Follow] misses no list that changes, and treats a silent server as lost. If a list changes faster than Follow
// reads, only the newest revision arrives; [Client.History] has the others. At the start Follow reads the 2000 lists
// that changed last. The token is sent only to the server and is in no error.
package remote

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

const (
	maxSilence     = 10 * time.Second // a stream without a line for this long is lost; the server writes one every 4 s
	requestTimeout = 30 * time.Second // of a request with its answer; only a stream has maxSilence instead
	maxLists       = 2000             // once this many lists are read, no further page is read
	maxResponse    = 64 << 20         // bytes of a response; 2000 lists of fifty short items need 16 MB
	maxEvent       = 8 << 20          // bytes of a stream's line; the largest list, all escaped, needs 1.5 MB
)

// Client reads and edits one server's lists, and passes hook events to the server. It is safe for concurrent use.
type Client struct {
	base       *url.URL
	token      string
	http       *http.Client
	pause      func(ctx context.Context) // waits before a reconnection
	maxSilence time.Duration
}

// New returns a client. It follows no redirects, which could send the token elsewhere. The token may be empty.
func New(server, token string) (*Client, error) {
	base, err := url.Parse(server)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("server %q: must be a URL such as http://127.0.0.1:8765", server)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("token: must be printable ASCII without spaces")
	}
	base = &url.URL{Scheme: base.Scheme, User: base.User, Host: base.Host, Path: base.Path}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = requestTimeout
	// HTTP/2 is off: over HTTP/2 the next try would reuse a dead connection.
	transport.ForceAttemptHTTP2 = false
	transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{base: base, token: token, http: &http.Client{Transport: transport, CheckRedirect: stay},
		pause: func(ctx context.Context) { board.Sleep(ctx, time.Second) }, maxSilence: maxSilence}, nil
}

// Where returns the server's address for display, without the password.
func (c *Client) Where() string { return render.Safe(c.base.Redacted()) }

// Standings returns the states of all open lists and ignores its second argument.
func (c *Client) Standings(ctx context.Context, _ []todo.Snapshot) (states []account.ListState, err error) {
	_, err = c.call(ctx, "api/states", nil, &states)
	return states, err
}

// Edit makes a person's edit. The outcome has only After and Changed.
func (c *Client) Edit(ctx context.Context, list string, e todo.Edit) (board.Outcome, error) {
	var d struct {
		render.ListDocument
		Changed bool `json:"changed"`
	}
	if _, err := c.call(ctx, "lists/"+url.PathEscape(list)+"/edit", e, &d); err != nil {
		return board.Outcome{}, err
	}
	return board.Outcome{After: d.Snapshot(), Changed: d.Changed}, nil
}

// Hook sends a hook's event, JSON of at most [todo.MaxRequest] bytes, to the server, and returns the answer for the
// host. If finish is true, the answer may keep the host's turn from ending.
func (c *Client) Hook(ctx context.Context, event json.RawMessage, finish bool) (answer json.RawMessage, err error) {
	path := "hook"
	if finish {
		path += "?finish"
	}
	_, err = c.call(ctx, path, event, &answer)
	return answer, err
}

// History returns the kept revisions of a list, oldest first.
func (c *Client) History(ctx context.Context, list string) ([]todo.Snapshot, error) {
	return c.snapshots(ctx, "api/lists/"+url.PathEscape(list)+"/history", math.MaxInt)
}

// snapshots reads pages of list documents until it has at least limit documents, or all.
func (c *Client) snapshots(ctx context.Context, path string, limit int) (all []todo.Snapshot, err error) {
	for page := ""; ; {
		var docs []render.ListDocument
		next, err := c.call(ctx, path+page, nil, &docs)
		if err != nil {
			return nil, err
		}
		if docs == nil {
			return nil, errNotTodoServer
		}
		for _, d := range docs {
			all = append(all, d.Snapshot())
		}
		if next == "" || next == page || len(all) >= limit {
			return all, nil
		}
		page = next
	}
}

// call posts body as JSON, or makes a GET request if body is nil, and parses the response into out. It returns the
// query of the next page, such as "?after=25"; empty for the last page.
func (c *Client) call(ctx context.Context, path string, body, out any) (next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	header, sent := http.Header{}, []byte(nil)
	if body != nil {
		sent, _ = json.Marshal(body) // cannot fail: it is an edit, or JSON already
		header.Set("Content-Type", "application/json")
	}
	res, err := c.send(ctx, path, header, sent)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(http.MaxBytesReader(nil, res.Body, maxResponse))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return "", errTooLarge
	case err != nil:
		return "", err
	case json.Unmarshal(data, out) != nil:
		return "", errNotTodoServer
	}
	next, _, _ = strings.Cut(strings.TrimPrefix(res.Header.Get("Link"), "<"), ">")
	return next, nil
}

// send requests a path, by POST unless body is nil. Any status but 200 is a [*refused]. The caller closes the body.
func (c *Client) send(ctx context.Context, path string, header http.Header, body []byte) (*http.Response, error) {
	path, query, _ := strings.Cut(path, "?")
	u, method := c.base.JoinPath(path), http.MethodGet
	if u.RawQuery = query; body != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = header
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		return nil, newRefused(res)
	}
	return res, nil
}

var (
	errNotTodoServer = errors.New("the program that answers there is not a todo-mcp server")
	errTooLarge      = fmt.Errorf("%w: its answer is too large", errNotTodoServer)
)

// refused is the error for a status other than 200.
type refused struct {
	status int
	text   string // the server's reason, safe to print
}

func newRefused(res *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	var reply struct {
		Error string `json:"error"`
	}
	text := ""
	if json.Unmarshal(body, &reply) == nil {
		text = reply.Error
	} else if strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") {
		text = string(body)
	}
	if to := res.Header.Get("Location"); to != "" { // redirects are not followed
		text = "it sends on to " + to + "; give that address if you trust it"
	}
	return &refused{res.StatusCode, render.Safe(strings.TrimSpace(text))}
}

// Error implements error.
func (r *refused) Error() string {
	text := cmp.Or(r.text, http.StatusText(r.status))
	switch r.status {
	case http.StatusUnauthorized:
		return "the server asks for another token: give one with --token or TODO_TOKEN"
	case http.StatusNotFound:
		return "not found: " + text
	}
	return fmt.Sprintf("the server answers %d: %s", r.status, text)
}

// isPermanent reports whether a retry is pointless: access is refused, or a client never yet connected gets an answer
// that is not a todo-mcp server's. A proxy may give a connected client such an answer while the server restarts.
func isPermanent(err error, connected bool) bool {
	r, isRefused := errors.AsType[*refused](err)
	switch {
	case !isRefused:
		return !connected && errors.Is(err, errNotTodoServer)
	case r.status == http.StatusUnauthorized, r.status == http.StatusForbidden:
		return true
	}
	return !connected && r.status < 500 && r.status != http.StatusTooManyRequests && r.status != http.StatusRequestTimeout
}

// Follow first calls show with all lists and true, then with each changed list and false. After a broken connection it
// calls lost, waits, reconnects and begins again. It returns ctx's error, or an error that a retry cannot mend.
func (c *Client) Follow(ctx context.Context, show func(lists []todo.Snapshot, all bool), lost func(error)) error {
	defer c.http.CloseIdleConnections()
	connected := false
	for {
		err := c.followOnce(ctx, func(lists []todo.Snapshot, all bool) {
			connected = true
			show(lists, all)
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if isPermanent(err, connected) {
			return fmt.Errorf("follow %s: %w", c.base.Redacted(), err)
		}
		lost(err)
		c.http.CloseIdleConnections() // the network may have changed
		c.pause(ctx)
	}
}

// followOnce reads all lists, then follows changes until the connection ends. It returns why, never nil.
func (c *Client) followOnce(ctx context.Context, show func([]todo.Snapshot, bool)) error {
	lists, err := c.snapshots(ctx, "api/lists", maxLists)
	if err != nil {
		return err
	}
	newest := int64(0)
	for _, l := range lists {
		if !l.IsChat() {
			newest = max(newest, l.Seq)
		}
	}
	show(lists, true)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(c.maxSilence, func() { cancel(errSilent) })
	defer watchdog.Stop()
	res, err := c.send(ctx, "api/events", http.Header{
		"Accept": {"text/event-stream"}, "Accept-Encoding": {"identity"}, "Last-Event-Id": {strconv.FormatInt(newest, 10)},
	}, nil)
	if err == nil {
		defer res.Body.Close()
		err = readEvents(res.Body, func() { watchdog.Reset(c.maxSilence) }, func(data []byte) {
			var d render.ListDocument
			if json.Unmarshal(data, &d) == nil && d.List != "" {
				show([]todo.Snapshot{d.Snapshot()}, false)
			}
		})
	}
	return cmp.Or(context.Cause(ctx), err)
}

var (
	errSilent = errors.New("no sign of life")
	errEnded  = errors.New("the server ended the stream")
)

// readEvents calls alive for each line of the stream, and data with the data line of each event. It never returns nil.
func readEvents(in io.Reader, alive func(), data func([]byte)) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		alive()
		if said, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:")); ok {
			data(said)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return errTooLarge
	}
	return cmp.Or(lines.Err(), errEnded)
}
