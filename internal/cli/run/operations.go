package run

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

// catchHangups returns a channel that receives each SIGHUP from now on: a service
// manager may send one at any time, and it ends no server. It receives none in a
// terminal, unless there is an audit log: there SIGHUP says that the terminal is
// closed, and ends the process.
func (a *service) catchHangups() chan os.Signal {
	hangups := make(chan os.Signal, 1)
	if a.Operator.Audit != "" || !a.IsTerminalIn() {
		signal.Notify(hangups, syscall.SIGHUP)
	}
	return hangups
}

// reopenAudit reopens the audit log, if there is one, at each hangup, until end is
// called.
func (a *service) reopenAudit(hangups chan os.Signal) (end func()) {
	var reopening sync.WaitGroup
	reopening.Go(func() {
		for range hangups {
			if a.Audit != nil {
				a.Audit.Reopen()
			}
		}
	})
	return func() {
		signal.Stop(hangups)
		close(hangups)
		reopening.Wait()
	}
}

// ready returns why this server should be sent no calls although its store works;
// nil if it should.
func (a *service) ready() error {
	if a.Audit == nil || a.Audit.Check() == nil { // it is logged
		return nil
	}
	return &edge.Error{Status: http.StatusServiceUnavailable, Text: "the audit log cannot be written; the server's log says why"}
}

// measure adds what a board and all edges say of themselves to the metrics.
func (a *service) measure(board *todo.Board, edges ...*edge.Edge) {
	a.Metrics.Gauge("todo_streams_open", "Open event streams, of pages, front ends and MCP clients.", func() (open float64) {
		for _, e := range edges {
			open += float64(e.OpenStreams())
		}
		return open
	})
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
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		serveUntilClosed(a, srv, l)
	}()
	fmt.Fprintf(a.Stderr, "todo-mcp: for operators: http://%s/metrics\n", l.Addr())
	return func() {
		_ = srv.Close()
		<-ended
	}, nil
}

// serveUntilClosed serves the address for operators until srv is closed. It logs why
// it ended otherwise: then nobody sees the metrics any more.
func serveUntilClosed(a *app.App, srv *http.Server, l net.Listener) {
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		a.Logger().Error("the address for operators is not served any more", "error", err)
	}
}
