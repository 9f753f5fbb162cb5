package run

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/edge"
)

// takeoverInterval is how often a stdio process with --panel tries to listen on
// the panel's port, so that it takes over when the process that serves the
// panel ends.
const takeoverInterval = time.Second

// listenPanel listens for the panel, if no other process does, and remembers the
// panel's address, which clients are told. It returns nil when another process
// has the port.
func listenPanel(ctx context.Context, a *app.App) net.Listener {
	ctx, cancel := context.WithTimeout(ctx, panelWait)
	defer cancel()
	l, err := net.Listen("tcp", a.Addr)
	switch {
	case err == nil:
		a.Panel = "http://" + l.Addr().String() + "/"
	case IsOwnPanel(ctx, a.Addr):
		a.Panel = "http://" + a.Addr + "/"
	default:
		return nil
	}
	return l
}

// panelWait is for how long a client's first answer may wait to learn whose panel
// holds the port.
const panelWait = 500 * time.Millisecond

// sidePanel serves the panel in the background, next to a stdio server, until
// ctx ends. It begins on first, which it closes; nil is none. While another
// process uses the port it tries again at intervals, and if that is another
// program it says so once (BAD-INPUT 84).
// wait returns when the panel has stopped.
func sidePanel(ctx context.Context, a *app.App, board *todo.Board, first net.Listener) (wait func(), err error) {
	config, err := serverConfig(a, board)
	if err != nil {
		return nil, err
	}
	config.List = "" // --list applies to the stdio client only
	s, err := server.New(config)
	if err != nil {
		return nil, err
	}
	if a.Panel != "" {
		fmt.Fprintf(a.Stderr, "todo-mcp: the panel is at %s\n", a.Panel)
	}
	var work sync.WaitGroup
	work.Go(func() {
		defer s.Close()
		keepPanel(ctx, a, s, first)
	})
	return work.Wait, nil
}

// keepPanel serves the panel whenever its port is free, until ctx ends.
func keepPanel(ctx context.Context, a *app.App, s *server.Server, first net.Listener) {
	if first != nil {
		servePanel(ctx, a, first, s)
	}
	strangers := 0 // how many times in a row another program held the port
	for ctx.Err() == nil {
		l, err := net.Listen("tcp", a.Addr)
		switch {
		case err == nil:
			servePanel(ctx, a, l, s)
			strangers = 0
		case !IsOwnPanel(ctx, a.Addr):
			strangers++
		default:
			strangers = 0
		}
		// A todo-mcp that is just ending does not answer either, so that the
		// first time says nothing yet.
		if strangers == 2 && ctx.Err() == nil {
			a.Logger().Warn("no panel: another program holds its port; --addr takes another", "address", a.Addr, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(takeoverInterval):
		}
	}
}

// IsOwnPanel reports whether a todo-mcp answers on an address.
func IsOwnPanel(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/livez", nil)
	if err != nil {
		return false
	}
	req.Close = true
	res, err := panelClient.Do(req)
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.Header.Get("Server") == edge.ServerName
}

// panelClient asks this machine alone: no proxy, and no redirect to elsewhere.
var panelClient = &http.Client{
	Transport:     &http.Transport{Proxy: nil},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// servePanel serves the panel on l until ctx ends, and logs errors.
func servePanel(ctx context.Context, a *app.App, l net.Listener, s *server.Server) {
	log := a.Logger()
	defer l.Close()
	h, err := NewWeb(a, s)
	if err == nil {
		log.Info("panel", "address", "http://"+l.Addr().String()+"/")
		err = h.Serve(ctx, l)
	}
	if err != nil {
		log.Error("panel", "error", err)
	}
}
