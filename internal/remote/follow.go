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

// Follow calls show with all lists (all is true), then with each that changes,
// until ctx ends. When the connection breaks it calls lost, tries again and
// begins anew. It returns early when the server refuses for good.
func (c *Client) Follow(ctx context.Context, show func(lists []todo.Snapshot, all bool), lost func(error)) error {
	defer c.http.CloseIdleConnections()
	met := false
	for try := 1; ; try++ {
		err := c.connection(ctx, func(lists []todo.Snapshot, all bool) {
			met, try = true, 0
			show(lists, all)
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if final(err, met) {
			return fmt.Errorf("follow %s: %w", c.base.Redacted(), err)
		}
		lost(err)
		c.pause(ctx, max(try, 1))
	}
}

// final reports whether it is of no use to try again: the server knows us not,
// or what answered the first time was no such server. Later on a wrong answer
// may be a proxy's, while the server starts.
func final(err error, met bool) bool {
	no := (*Refused)(nil)
	switch {
	case errors.As(err, &no):
		known := no.Status == http.StatusUnauthorized || no.Status == http.StatusForbidden
		busy := no.Status >= 500 || no.Status == http.StatusTooManyRequests || no.Status == http.StatusRequestTimeout
		return known || !met && !busy
	case errors.Is(err, errNotOurs):
		return !met
	}
	return false
}

// connection reads all lists and then follows the stream of what comes after
// them. It returns why it ended; never nil.
func (c *Client) connection(ctx context.Context, show func([]todo.Snapshot, bool)) error {
	lists, err := c.documents(ctx, "api/lists", nil)
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
	errSilent = errors.New("no sign of life")
	errEnded  = errors.New("the server ended the stream")

	errTooLong = errors.New("an event is too long")
)

// stream follows the changes after a place in the server's order.
func (c *Client) stream(ctx context.Context, after int64, show func(todo.Snapshot)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(c.silence, func() { cancel(errSilent) })
	defer watchdog.Stop()
	res, err := c.get(ctx, "api/events", nil, http.Header{
		"Accept": {"text/event-stream"}, "Accept-Encoding": {"identity"}, "Last-Event-Id": {strconv.FormatInt(after, 10)},
	})
	if err != nil {
		return because(ctx, err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for {
		e, err := readEvent(lines, func() { watchdog.Reset(c.silence) })
		if err != nil {
			return because(ctx, err)
		}
		var d render.ListDocument
		if json.Unmarshal(e, &d) == nil && d.List != "" {
			show(d.Snapshot())
		}
	}
}

// because prefers the reason why we hung up ourselves.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if errors.Is(err, io.EOF) {
		return errEnded
	}
	return err
}

// readEvent reads up to the end of an event that has data, and returns that.
// alive is called for each line.
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
		if len(data) > maxAnswer {
			return nil, errTooLong
		}
	}
}

// readLine reads a line without its end, of maxAnswer bytes at most.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > maxAnswer:
			return nil, errTooLong
		}
	}
}
