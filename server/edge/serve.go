package edge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	idleTimeout = 2 * time.Minute
	// maxHeader is the largest header, in bytes (BAD-INPUT 15).
	maxHeader = 32 << 10
	// shutdownTimeout is how long requests in progress may take after the server
	// begins to stop (BAD-INPUT 58).
	shutdownTimeout = 8 * time.Second
)

// Serve serves until ctx ends. Then it ends streams, lets other requests in
// progress finish for up to 8 s, and returns nil. It returns an error when l
// fails.
func (e *Edge) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{Handler: e, ReadHeaderTimeout: e.config.HeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(e.config.Log.Handler(), slog.LevelDebug)}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	e.Close()
	shutdown, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	err := srv.Shutdown(shutdown)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close()
	}
	<-failed
	return err
}
