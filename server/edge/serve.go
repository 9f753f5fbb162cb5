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
)

// smallBuffers is a listener whose connections hold little of what their clients
// do not read. By itself the system takes some megabytes for each, beyond what
// this process is seen to use, and copies a large change to every silent stream
// before those that read have it (BAD-INPUT 61, 63).
type smallBuffers struct{ net.Listener }

// writeBuffer is how many bytes the system keeps for a client that does not read;
// on this machine nobody reads faster with more.
const writeBuffer = 64 << 10

func (l smallBuffers) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(writeBuffer)
	}
	return conn, err
}

// Serve serves until ctx ends. Then it ends streams, lets other requests in
// progress finish for up to the stop timeout, and returns nil. It returns an error when l
// fails.
func (e *Edge) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{Handler: e, TLSConfig: e.config.TLS, ReadHeaderTimeout: e.config.HeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(e.config.Log.Handler(), slog.LevelDebug)}
	failed := make(chan error, 1)
	go func() {
		if e.config.TLS != nil {
			failed <- srv.ServeTLS(smallBuffers{l}, "", "")
		} else {
			failed <- srv.Serve(smallBuffers{l})
		}
	}()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	e.Close()
	shutdown, cancel := context.WithTimeout(context.Background(), e.config.StopTimeout)
	defer cancel()
	err := srv.Shutdown(shutdown)
	if errors.Is(err, context.DeadlineExceeded) {
		e.config.Log.Warn("requests in progress are cut off (see --stop-timeout)", "after", e.config.StopTimeout)
		err = srv.Close()
	}
	<-failed
	return err
}
