package cli

import (
	"context"
	"net"
	"sync"
	"time"

	"todo-mcp/internal/todo"
	"todo-mcp/server"
)

// takeoverInterval is how often a stdio process with --panel tries to listen on
// the panel's port, so that it takes over when the process that serves the
// panel ends.
const takeoverInterval = time.Second

// sidePanel serves the panel in the background, next to a stdio server, until
// ctx ends. While another process uses the port it tries again at intervals.
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
		for {
			if l, err := net.Listen("tcp", a.addr); err == nil {
				a.servePanel(ctx, l, s)
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
