package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// Follow calls show with all lists (all is true), then with each list that
// changes, until ctx ends. When the connection breaks it calls lost, reconnects
// after a pause and calls show with all lists again. It returns ctx's error, or,
// before ctx ends, an error that a retry cannot mend (see isPermanent).
func (c *Client) Follow(ctx context.Context, show func(lists []todo.Snapshot, all bool), lost func(error)) error {
	defer c.http.CloseIdleConnections()
	connected := false
	for try := 1; ; try++ {
		err := c.followOnce(ctx, func(lists []todo.Snapshot, all bool) {
			connected, try = true, 0
			show(lists, all)
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if isPermanent(err, connected) {
			return fmt.Errorf("follow %s: %w", c.base.Redacted(), err)
		}
		lost(err)
		try = max(try, 1)
		c.pause(ctx, try)
	}
}

// isPermanent reports whether a retry is pointless: the server rejects our
// credentials, or the first response did not come from a todo-mcp server. Once
// connected has been true, a wrong response is worth a retry: it may come from
// a proxy while the server restarts.
func isPermanent(err error, connected bool) bool {
	refusal := (*Refused)(nil)
	switch {
	case errors.As(err, &refusal):
		unauthorized := refusal.Status == http.StatusUnauthorized || refusal.Status == http.StatusForbidden
		temporary := refusal.Status >= 500 || refusal.Status == http.StatusTooManyRequests || refusal.Status == http.StatusRequestTimeout
		return unauthorized || !connected && !temporary
	case errors.Is(err, errNotTodoServer):
		return !connected
	}
	return false
}

// followOnce reads all lists and then follows the stream of later changes over
// one connection. It returns the error that ended the connection, never nil.
func (c *Client) followOnce(ctx context.Context, show func([]todo.Snapshot, bool)) error {
	lists, err := c.getSnapshots(ctx, "api/lists", nil)
	if err != nil {
		return err
	}
	newest := int64(0)
	for _, l := range lists {
		newest = max(newest, l.Seq)
	}
	show(lists, true)
	return c.stream(ctx, newest, func(s todo.Snapshot) { show([]todo.Snapshot{s}, false) })
}

var (
	errSilent  = errors.New("no sign of life")
	errEnded   = errors.New("the server ended the stream")
	errTooLong = errors.New("an event is too long")
)

// stream calls show with each snapshot whose Seq is above after. It returns the
// error that ended the stream, never nil.
func (c *Client) stream(ctx context.Context, after int64, show func(todo.Snapshot)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(c.maxSilence, func() { cancel(errSilent) })
	defer watchdog.Stop()
	res, err := c.send(ctx, http.MethodGet, "api/events", nil, http.Header{
		"Accept": {"text/event-stream"}, "Accept-Encoding": {"identity"}, "Last-Event-Id": {strconv.FormatInt(after, 10)},
	}, nil)
	if err != nil {
		return streamError(ctx, err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for {
		e, err := readEvent(lines, func() { watchdog.Reset(c.maxSilence) })
		if err != nil {
			return streamError(ctx, err)
		}
		var d render.ListDocument
		if json.Unmarshal(e, &d) == nil && d.List != "" {
			show(d.Snapshot())
		}
	}
}

// streamError returns the cause of ctx's cancellation if ctx was cancelled,
// errEnded for an end of file, and err otherwise.
func streamError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if errors.Is(err, io.EOF) {
		return errEnded
	}
	return err
}

// readEvent reads server-sent events up to the end of the first one with data,
// and returns that data, at most maxResponse bytes. It calls alive after each
// line.
func readEvent(r *bufio.Reader, alive func()) ([]byte, error) {
	var data []byte
	for {
		line, err := readLine(r)
		if err != nil {
			return nil, err
		}
		alive()
		if len(line) == 0 && len(data) > 0 {
			return data, nil
		}
		if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(append(data, bytes.TrimPrefix(rest, []byte(" "))...), '\n')
		}
		if len(data) > maxResponse {
			return nil, errTooLong
		}
	}
}

// readLine returns the next line without its line break; errTooLong if it is
// longer than maxResponse bytes.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		chunk, err := r.ReadSlice('\n')
		line = append(line, chunk...)
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > maxResponse:
			return nil, errTooLong
		}
	}
}
