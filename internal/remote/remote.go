// Package remote follows the lists of a todo-mcp server over HTTP.
//
// It promises that what [Client.Follow] hands over leaves no gap: it begins
// with all lists, goes on with every change after them, and does both again
// after each break. A server that falls silent counts as lost. The token is
// sent to the server and appears in no error.
//
// It may drop revisions between two that it hands over, as the server does for
// a slow reader, and lists beyond the last changed 2000.
package remote

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

const (
	// silence is how long a stream may say nothing; the server sends a sign of
	// life every 15 seconds.
	silence = 40 * time.Second
	// answerWithin bounds every other request.
	answerWithin = 30 * time.Second
	// maxAnswer bounds an answer and a line of a stream, in bytes.
	maxAnswer = 256 << 20
)

// Client reads lists from one server. It is safe for concurrent use.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
	// pause waits before a try, counted from 1; it returns early when ctx ends.
	pause   func(ctx context.Context, try int)
	silence time.Duration
}

// New returns a client of the server at an http or https URL; token may be
// empty.
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
	transport.ResponseHeaderTimeout = answerWithin
	// No HTTP/2: there a dead connection would be used for the next try, too.
	transport.ForceAttemptHTTP2 = false
	transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	return &Client{base: base, token: token, http: &http.Client{Transport: transport}, pause: backOff, silence: silence}, nil
}

// Where is the server's address as people read it, without a password.
func (c *Client) Where() string { return render.Safe(c.base.Redacted()) }

// backOff waits 200 ms, then twice as long each time, up to 3 s.
func backOff(ctx context.Context, try int) {
	d := min(100*time.Millisecond<<min(try, 10), 3*time.Second)
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// Refused is an answer of the server's that says no.
type Refused struct {
	Status int    // HTTP's
	Text   string // why, safe to print; may be empty
}

// Error implements error.
func (r *Refused) Error() string {
	text := r.Text
	if text == "" {
		text = http.StatusText(r.Status)
	}
	switch r.Status {
	case http.StatusUnauthorized:
		return "the server asks for another token: give one with --token or TODO_TOKEN"
	case http.StatusNotFound:
		return "not found: " + text
	}
	return fmt.Sprintf("the server answers %d: %s", r.Status, text)
}

// get asks for a path below the server's address. The caller closes the body.
func (c *Client) get(ctx context.Context, path string, query url.Values, header http.Header) (*http.Response, error) {
	u := c.base.JoinPath(path)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		return nil, refused(res)
	}
	return res, nil
}

func refused(res *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	var said struct {
		Error string `json:"error"`
	}
	text := ""
	if json.Unmarshal(body, &said) == nil {
		text = said.Error
	} else if strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") {
		text = string(body)
	}
	return &Refused{Status: res.StatusCode, Text: render.Safe(strings.TrimSpace(text))}
}

// errNotOurs is an answer that makes no sense.
var errNotOurs = errors.New("what answers there is not a todo-mcp server")

// documents asks for lists or revisions.
func (c *Client) documents(ctx context.Context, path string, query url.Values) ([]todo.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	res, err := c.get(ctx, path, query, nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	var docs []render.ListDocument
	if err := json.Unmarshal(body, &docs); err != nil || docs == nil {
		return nil, errNotOurs
	}
	out := make([]todo.Snapshot, len(docs))
	for i, d := range docs {
		out[i] = d.Snapshot()
	}
	return out, nil
}

// History reads all revisions of a list that the server has, oldest first.
func (c *Client) History(ctx context.Context, list string) ([]todo.Snapshot, error) {
	var all []todo.Snapshot
	for after := int64(0); ; {
		query := url.Values{"after": {strconv.FormatInt(after, 10)}}
		part, err := c.documents(ctx, "api/lists/"+url.PathEscape(list)+"/history", query)
		if err != nil {
			return nil, fmt.Errorf("read history: %w", err)
		}
		if len(part) == 0 || part[len(part)-1].Revision <= after {
			return all, nil
		}
		all, after = append(all, part...), part[len(part)-1].Revision
	}
}
