package cli

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/edge"
)

// takeoverInterval is how often a stdio process with --panel tries to listen on
// the panel's port, so that it takes over when the process that serves the
// panel ends.
const takeoverInterval = time.Second

// sidePanel serves the panel in the background, next to a stdio server, until
// ctx ends. While another process uses the port it tries again at intervals, and
// if that is another program it says so once (BAD-INPUT 84).
// wait returns when the panel has stopped.
func (a *app) sidePanel(ctx context.Context, board *todo.Board) (wait func(), err error) {
	config, err := a.serverConfig(board)
	if err != nil {
		return nil, err
	}
	config.List = "" // --list applies to the stdio client only
	s, err := server.New(config)
	if err != nil {
		return nil, err
	}
	var work sync.WaitGroup
	work.Go(func() {
		defer s.Close()
		strangers := 0 // how many times in a row another program held the port
		for {
			l, err := net.Listen("tcp", a.addr)
			switch {
			case err == nil:
				a.servePanel(ctx, l, s)
				strangers = 0
			case !isOwnPanel(ctx, a.addr):
				strangers++
			default:
				strangers = 0
			}
			// A todo-mcp that is just ending does not answer either, so that the
			// first time says nothing yet.
			if strangers == 2 && ctx.Err() == nil {
				a.logger().Warn("no panel: another program holds its port; --addr takes another", "address", a.addr, "error", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(takeoverInterval):
			}
		}
	})
	return work.Wait, nil
}

// isOwnPanel reports whether a todo-mcp answers on an address.
func isOwnPanel(ctx context.Context, addr string) bool {
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
func (a *app) servePanel(ctx context.Context, l net.Listener, s *server.Server) {
	log := a.logger()
	defer l.Close()
	h, err := a.newWeb(s)
	if err == nil {
		log.Info("panel", "address", "http://"+l.Addr().String()+"/")
		err = h.Serve(ctx, l)
	}
	if err != nil {
		log.Error("panel", "error", err)
	}
}
