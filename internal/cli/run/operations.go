package run

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

// ready returns why this server should be sent no calls although its store works;
// nil if it should.
func (a *service) ready() error {
	if a.Audit == nil || a.Audit.Check() == nil { // it is logged
		return nil
	}
	return &edge.Error{Status: http.StatusServiceUnavailable, Text: "the audit log cannot be written; the server's log says why"}
}

// measure adds what a board and its edge say of themselves to the metrics.
func (a *service) measure(board *todo.Board, e *edge.Edge) {
	a.Metrics.Gauge("todo_streams_open", "Open event streams, of pages, front ends and MCP clients.",
		func() float64 { return float64(e.OpenStreams()) })
	if a.Audit != nil {
		a.Metrics.Gauge("todo_audit_waiting_bytes", "Lines of the audit log that could not be written yet.", func() float64 { return float64(a.Audit.Waiting()) })
	}
	a.Metrics.Gauge("todo_watchers", "Watchers of lists in this process, those of streams and of subscriptions.", func() float64 { return float64(board.Watching()) })
}

// serveAdmin serves --admin-addr, if there is one, until end is called.
func serveAdmin(a *app.App, e *edge.Edge) (end func(), err error) {
	if a.Operator.Addr == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", a.Operator.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w (--admin-addr takes another)", a.Operator.Addr, err)
	}
	srv := &http.Server{Handler: e.Admin(a.Metrics, edge.IsLoopback(a.Operator.Addr)), ReadHeaderTimeout: edge.ClientTimeout}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) { // nobody sees the metrics any more
			a.Logger().Error("the address for operators is not served any more", "error", err)
		}
	})
	fmt.Fprintf(a.Stderr, "todo-mcp: for operators: http://%s/metrics\n", l.Addr())
	return func() {
		_ = srv.Close()
		serving.Wait()
	}, nil
}
