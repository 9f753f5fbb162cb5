package cli

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"todo-mcp/internal/audit"
	"todo-mcp/internal/store"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

// observed returns a store that tells the metrics of its calls, if there are metrics.
func (a *app) observed(st todo.Store) todo.Store {
	if a.metrics == nil {
		return st
	}
	if l, ok := store.As[interface{ NoticeLag() time.Duration }](st); ok {
		a.metrics.Gauge("todo_store_notice_lag_seconds", "How long a notice of a save takes to reach every server on the database.",
			func() float64 { return l.NoticeLag().Seconds() })
	}
	return store.Observed(st, a.metrics.Store)
}

// audited returns a store whose saves and purges are written to --audit-log, if
// there is one.
func (a *app) audited(st todo.Store) todo.Store {
	switch path := a.operator.audit; path {
	case "":
		return st
	case "-":
		a.audit = audit.ToWriter(a.Stderr, a.logger())
	default:
		a.audit = audit.ToFile(path, a.logger())
	}
	if a.command == "import" {
		return audit.Imported(st, a.audit)
	}
	return audit.Store(st, a.audit)
}

// catchHangups returns a channel that receives each SIGHUP from now on: a service
// manager may send one at any time, and it ends no server. It receives none in a
// terminal, unless there is an audit log: there SIGHUP says that the terminal is
// closed, and ends the process.
func (a *app) catchHangups() chan os.Signal {
	hangups := make(chan os.Signal, 1)
	if a.operator.audit != "" || !a.isTerminalIn() {
		signal.Notify(hangups, syscall.SIGHUP)
	}
	return hangups
}

// reopenAudit reopens the audit log, if there is one, at each hangup, until end is
// called.
func (a *app) reopenAudit(hangups chan os.Signal) (end func()) {
	var reopening sync.WaitGroup
	reopening.Go(func() {
		for range hangups {
			if a.audit != nil {
				a.audit.Reopen()
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
func (a *app) ready() error {
	if a.audit == nil || a.audit.Check() == nil { // it is logged
		return nil
	}
	return &edge.Error{Status: http.StatusServiceUnavailable, Text: "the audit log cannot be written; the server's log says why"}
}

// operatorSettings are the settings of [operatorRows].
type operatorSettings struct {
	addr  string
	audit string
	drain time.Duration
}

// auditRow is the setting for the audit log, of every command that writes.
func auditRow() setting {
	return define(text().named("FILE"), "audit-log", "", func(s *settings) *string { return &s.operator.audit },
		"file to which a line of JSON is appended for each saved revision: who, which list, what kind of change; - is stderr, empty none")
}

// operatorRows are the settings for who runs a server for others.
func operatorRows() []setting {
	return []setting{
		define(address(true, "127.0.0.1:8766, or :8766 for every interface"), "admin-addr", "", func(s *settings) *string { return &s.operator.addr },
			"address for operators: /metrics, /livez, /readyz, /debug/pprof; never a public one; empty: none, and /metrics is on --addr if nobody signs in"),
		define(units("SECONDS", time.Second, 0, 3600), "drain", 0, func(s *settings) *time.Duration { return &s.operator.drain },
			"how many seconds calls are still taken after `serve` is told to stop, while /readyz says so; 5 behind a balancer"),
	}
}

// measure adds what a board and all edges say of themselves to the metrics.
func (a *app) measure(board *todo.Board, edges ...*edge.Edge) {
	a.metrics.Gauge("todo_streams_open", "Open event streams, of pages, front ends and MCP clients.", func() (open float64) {
		for _, e := range edges {
			open += float64(e.OpenStreams())
		}
		return open
	})
	if a.audit != nil {
		a.metrics.Gauge("todo_audit_waiting_bytes", "Lines of the audit log that could not be written yet.", func() float64 { return float64(a.audit.Waiting()) })
	}
	a.metrics.Gauge("todo_watchers", "Watchers of lists in this process, those of streams and of subscriptions.", func() float64 { return float64(board.Watching()) })
}

// serveAdmin serves --admin-addr, if there is one, until end is called.
func (a *app) serveAdmin(e *edge.Edge) (end func(), err error) {
	if a.operator.addr == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", a.operator.addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w (--admin-addr takes another)", a.operator.addr, err)
	}
	srv := &http.Server{Handler: e.Admin(a.metrics, edge.IsLoopback(a.operator.addr)), ReadHeaderTimeout: edge.HeaderTimeout}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.serveUntilClosed(srv, l)
	}()
	fmt.Fprintf(a.Stderr, "todo-mcp: for operators: http://%s/metrics\n", l.Addr())
	return func() {
		_ = srv.Close()
		<-ended
	}, nil
}

// serveUntilClosed serves the address for operators until srv is closed. It logs why
// it ended otherwise: then nobody sees the metrics any more.
func (a *app) serveUntilClosed(srv *http.Server, l net.Listener) {
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		a.logger().Error("the address for operators is not served any more", "error", err)
	}
}
