// Package remote follows and edits the lists of a todo-mcp server over HTTP.
//
// [Client.Follow] misses no change: it first passes all lists to its caller,
// then every list that changes, and does both again after each reconnection. It
// treats a server that falls silent as lost. The token is sent to the server
// and appears in no error.
//
// When a list changes faster than it is read, only the newest revision arrives;
// [Client.History] returns those in between. Of more than 2000 lists, only the
// 2000 that changed last are read at the start.
package remote

import (
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
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

const (
	// maxSilence is how long a stream may send nothing before it counts as lost;
	// the server sends a keep-alive every 4 seconds.
	maxSilence = 10 * time.Second
	// requestTimeout bounds a request for a document, and the wait for the
	// response headers of a stream.
	requestTimeout = 30 * time.Second
	// maxLists is from how many lists on no further page of them is read.
	maxLists = 2000
	// maxResponse is the largest response body that is read, in bytes: 2000 lists of
	// fifty items of a line each are a quarter of it.
	maxResponse = 64 << 20
	// maxEvent is the longest line of a stream, in bytes. The largest list there may be
	// has 256 kB of text, each character of which JSON may escape in six.
	maxEvent = 8 << 20
)

// Client reads lists from one server. It is safe for concurrent use.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
	// pause waits before a reconnection, the try-th in a row, counted from 1. It
	// returns early when ctx ends.
	pause      func(ctx context.Context, try int)
	maxSilence time.Duration
}

// New returns a client of the server at an http or https URL. A token is
// printable ASCII without spaces; the empty token sends no credentials. The client follows
// no redirect, so that the token reaches this server alone.
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
	// No HTTP/2: its transport would reuse a dead connection for the next try.
	transport.ForceAttemptHTTP2 = false
	transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{base: base, token: token, http: &http.Client{Transport: transport, CheckRedirect: stay},
		pause: backOff, maxSilence: maxSilence}, nil
}

// Where returns the server's address for display, without the password.
func (c *Client) Where() string { return render.Safe(c.base.Redacted()) }

// Standing is how a list stands.
type Standing struct {
	todo.Standing
	// Edits is what became of what people changed in the list.
	account.Edits
}

// Standings reads how the server's open lists stand, by id, whatever lists are asked for.
func (c *Client) Standings(ctx context.Context, _ []todo.Snapshot) (map[string]Standing, error) {
	var standings []struct {
		List string `json:"list"`
		Standing
	}
	_, err := c.call(ctx, "api/states", nil, &standings)
	out := make(map[string]Standing, len(standings))
	for _, s := range standings {
		out[s.List] = s.Standing
	}
	return out, err
}

// Edit makes an edit in the name of a person. Of the outcome the server says After
// and Changed alone.
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

// Hook passes on what a host tells a hook, which is JSON of at most [todo.MaxRequest] bytes,
// and returns what the host is to read. With finish the end of a turn is kept from coming too
// early.
func (c *Client) Hook(ctx context.Context, event json.RawMessage, finish bool) (answer json.RawMessage, err error) {
	path := "hook"
	if finish {
		path += "?finish"
	}
	_, err = c.call(ctx, path, event, &answer)
	return answer, err
}

// History reads all revisions of a list that the server keeps, oldest first.
func (c *Client) History(ctx context.Context, list string) ([]todo.Snapshot, error) {
	all, err := c.snapshots(ctx, "api/lists/"+url.PathEscape(list)+"/history", math.MaxInt)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	return all, nil
}

// snapshots reads an array of list documents, the lists or the revisions of one, page by
// page until it has at least limit of them.
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

// call gets a document, or posts a body as JSON unless it is nil, and reads the JSON of the
// answer into out. It returns the query of the next page, as in "?after=25"; empty for the
// last one.
func (c *Client) call(ctx context.Context, path string, body, out any) (next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	header, sent := http.Header{}, []byte(nil)
	if body != nil {
		if sent, err = json.Marshal(body); err != nil {
			return "", fmt.Errorf("encode request: %w", err)
		}
		header.Set("Content-Type", "application/json")
	}
	res, err := c.send(ctx, path, header, sent)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(http.MaxBytesReader(nil, res.Body, maxResponse))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return "", errTooLarge
	}
	if err != nil {
		return "", err
	}
	if json.Unmarshal(data, out) != nil {
		return "", errNotTodoServer
	}
	next, _, _ = strings.Cut(strings.TrimPrefix(res.Header.Get("Link"), "<"), ">")
	return next, nil
}

// send requests a path, with its query, below the server's address, by POST if there is a
// body. It returns a [*refused] for any status but 200; otherwise the caller closes the
// answer's body.
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

// errNotTodoServer is the error for a response that is not the JSON that was asked for,
// and errTooLarge for one that no todo-mcp server sends.
var (
	errNotTodoServer = errors.New("what answers there is not a todo-mcp server")
	errTooLarge      = fmt.Errorf("%w: its answer is too large", errNotTodoServer)
)

// refused is the error for a response with a status other than 200.
type refused struct {
	status int
	text   string // the server's reason, safe to print; may be empty
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
	if to := res.Header.Get("Location"); to != "" { // it would be sent the token
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

// isPermanent reports whether a retry is pointless: the server rejects our
// credentials, or the first response did not come from a todo-mcp server. Once
// connected has been true, a wrong response is worth a retry: it may come from
// a proxy while the server restarts.
func isPermanent(err error, connected bool) bool {
	r, isRefused := errors.AsType[*refused](err)
	if !isRefused {
		return !connected && errors.Is(err, errNotTodoServer)
	}
	switch r.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return true
	case http.StatusTooManyRequests, http.StatusRequestTimeout:
		return false
	}
	return !connected && r.status < 500
}
