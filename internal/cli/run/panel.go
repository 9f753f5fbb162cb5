package run

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/edge"
)

// takeoverInterval is how often a stdio process with --panel tries to listen on a port that is taken.
const takeoverInterval = time.Second

// panelWait limits how long a client's first answer is delayed to learn who holds the panel's port.
const panelWait = 500 * time.Millisecond

// listenPanel listens for the panel and sets a.panel, the URL that clients get. It returns nil if another
// process has the port.
func (a *service) listenPanel(ctx context.Context) net.Listener {
	ctx, cancel := context.WithTimeout(ctx, panelWait)
	defer cancel()
	l, err := net.Listen("tcp", a.Addr)
	switch {
	case err == nil:
		a.panel = "http://" + l.Addr().String() + "/"
		a.ends = append(a.ends, func() { l.Close() })
		return l
	case IsOwnPanel(ctx, a.Addr):
		a.panel = "http://" + a.Addr + "/"
	}
	return nil
}

// sidePanel serves the panel beside a stdio server, in the background until end is called or ctx ends. first may
// be nil.
func (a *service) sidePanel(ctx context.Context, b *board.Board, first net.Listener) error {
	config, err := a.serverConfig(b)
	if err != nil {
		return err
	}
	config.List, config.Hook = "", nil // they apply to the stdio client only
	s, err := server.New(config)
	if err != nil {
		return err
	}
	if a.panel != "" {
		fmt.Fprintf(a.Stderr, "todo-mcp: the panel is at %s\n", a.panel)
	}
	ctx, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { a.keepPanel(ctx, s, first) })
	a.ends = append(a.ends, s.Close, work.Wait, stop)
	return nil
}

// keepPanel serves the panel whenever its port is free, until ctx ends. It warns once if another program holds
// the port (BAD-INPUT 84).
func (a *service) keepPanel(ctx context.Context, s *server.Server, l net.Listener) {
	strangers := 0 // consecutive tries at which another program held the port
	for ; ctx.Err() == nil; l = nil {
		var err error
		if l == nil {
			l, err = net.Listen("tcp", a.Addr)
		}
		strangers++
		switch {
		case err == nil:
			a.servePanel(ctx, l, s)
			strangers = 0
		case IsOwnPanel(ctx, a.Addr):
			strangers = 0
		case strangers == 2 && ctx.Err() == nil: // at the first try it may be a todo-mcp that is ending
			a.Logger().Warn("no panel: another program holds its port; --addr takes another", "address", a.Addr, "error", err)
		}
		board.Sleep(ctx, takeoverInterval)
	}
}

func (a *service) servePanel(ctx context.Context, l net.Listener, s *server.Server) {
	defer l.Close()
	h, err := a.newWeb(s)
	if err == nil {
		a.Logger().Info("panel", "address", "http://"+l.Addr().String()+"/")
		defer a.FollowSessions(ctx, s.Board.As(""))()
		err = h.Serve(ctx, l)
	}
	if err != nil {
		a.Logger().Error("panel", "error", err)
	}
}

// IsOwnPanel reports whether a todo-mcp answers on an address. It uses no proxy and follows no redirect.
func IsOwnPanel(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/livez", nil)
	if err != nil {
		return false
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.Header.Get("Server") == edge.ServerName
}
