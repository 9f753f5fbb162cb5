package cli

import (
	"context"
	"net"
	"sync"
	"time"

	"todo-mcp/internal/todo"
	"todo-mcp/server"
)

// takeover is how often a stdio process that should serve the panel looks
// whether the port is free: when the one that serves it ends, another does.
const takeover = time.Second

// sidePanel serves the panel beside a stdio server, for as long as nobody else
// does, until ctx ends; wait returns when it has stopped.
func (a *app) sidePanel(ctx context.Context, board *todo.Board) (wait func(), err error) {
	config, err := a.serverConfig(board)
	if err != nil {
		return nil, err
	}
	config.List = "" // the name is the stdio client's alone
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
			case <-time.After(takeover):
			}
		}
	})
	return work.Wait, nil
}

func (a *app) servePanel(ctx context.Context, l net.Listener, s *server.Server) {
	log := a.logger()
	h, err := a.newWeb(s)
	if err == nil {
		log.Info("panel", "address", "http://"+l.Addr().String()+"/")
		err = h.Serve(ctx, l)
	}
	if err != nil {
		log.Error("panel", "error", err)
	}
}
