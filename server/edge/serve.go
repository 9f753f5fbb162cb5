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
	// headerTimeout bounds how long a header may take to arrive (BAD-INPUT 10).
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	// maxHeader bounds a header, in bytes (BAD-INPUT 15).
	maxHeader = 32 << 10
	// stopWithin bounds how long requests in hand may take at the end (BAD-INPUT
	// 58).
	stopWithin = 8 * time.Second
)

// Serve serves until ctx ends; then streams are closed and requests in hand
// answered.
func (e *Edge) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{Handler: e, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(e.config.Log.Handler(), slog.LevelDebug)}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	e.Close()
	stop, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	err := srv.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close()
	}
	<-failed
	return err
}
