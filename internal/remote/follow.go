package remote

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
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
		c.http.CloseIdleConnections() // of a network that is gone
		try = max(try, 1)
		c.pause(ctx, try)
	}
}

// backOff waits 200 ms, then twice as long each time, up to 3 s.
func backOff(ctx context.Context, try int) {
	board.Sleep(ctx, min(100*time.Millisecond<<min(try, 10), 3*time.Second))
}

// followOnce reads all lists and then follows the stream of later changes over
// one connection. It returns the error that ended the connection, never nil.
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
	err = c.stream(ctx, newest, func() { watchdog.Reset(c.maxSilence) }, func(s todo.Snapshot) {
		show([]todo.Snapshot{s}, false)
	})
	return cmp.Or(context.Cause(ctx), err)
}

var (
	errSilent = errors.New("no sign of life")
	errEnded  = errors.New("the server ended the stream")
)

// stream calls show with each snapshot whose Seq is above after, and alive after each
// line. It returns the error that ended the stream, never nil.
func (c *Client) stream(ctx context.Context, after int64, alive func(), show func(todo.Snapshot)) error {
	res, err := c.send(ctx, "api/events", http.Header{
		"Accept": {"text/event-stream"}, "Accept-Encoding": {"identity"}, "Last-Event-Id": {strconv.FormatInt(after, 10)},
	}, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return readEvents(res.Body, alive, func(data []byte) {
		var d render.ListDocument
		if json.Unmarshal(data, &d) == nil && d.List != "" {
			show(d.Snapshot())
		}
	})
}

// readEvents calls data with what each server-sent event says, and alive after each line.
// A server says it in one line, as JSON without line breaks. readEvents returns the error
// that ended the stream, never nil.
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
