package edge

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

const (
	idleTimeout = 2 * time.Minute
	// maxHeader is the largest header, in bytes (BAD-INPUT 15).
	maxHeader = 32 << 10
)

// connections is a listener that closes the idle connections of its server when it can
// accept no more: keeping many open must not keep others out (BAD-INPUT 59).
//
// Its connections hold little of what their clients do not read. By itself the system
// takes some megabytes for each, beyond what this process is seen to use, and copies a
// large change to every silent stream before the reading ones have it (BAD-INPUT 61, 63).
type connections struct {
	net.Listener
	server *http.Server
}

// writeBuffer is how many bytes the system keeps for a client that does not read;
// on this machine nobody reads faster with more.
const writeBuffer = 64 << 10

// Accept implements net.Listener. The HTTP server calls it again after an error.
func (l *connections) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		l.server.SetKeepAlivesEnabled(false) // which closes what is idle
		l.server.SetKeepAlivesEnabled(true)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(writeBuffer)
	}
	return conn, err
}

// Serve serves until ctx ends, and for [Config.Drain] longer. In that time requests are
// answered, but /readyz says that the server stops, and each answer that its connection
// does: who sends requests here can turn elsewhere before any is refused. Then Serve ends
// streams, lets other requests in progress finish for up to the stop timeout, and returns
// nil. It returns an error when the listener fails.
func (e *Edge) Serve(ctx context.Context, on net.Listener) error {
	srv := &http.Server{Handler: e, TLSConfig: e.config.TLS, HTTP2: &http.HTTP2Config{WriteByteTimeout: e.config.ClientTimeout},
		ReadHeaderTimeout: e.config.ClientTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(e.config.Log.Handler(), slog.LevelDebug)}
	l, failed := &connections{on, srv}, make(chan error, 1)
	go func() {
		if e.config.TLS != nil {
			failed <- srv.ServeTLS(l, "", "")
		} else {
			failed <- srv.Serve(l)
		}
	}()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	e.stopping.Store(true)
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-time.After(e.config.Drain):
	}
	e.Close()
	shutdown, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	err := srv.Shutdown(shutdown)
	if errors.Is(err, context.DeadlineExceeded) {
		e.config.Log.Warn("requests in progress are cut off", "after", stopTimeout)
		err = srv.Close()
	}
	<-failed
	return err
}

// certificateAge is for how long the files of a certificate are not read again.
const certificateAge = time.Second

// LoadCertificate returns a configuration for TLS with a certificate and its key
// in PEM files. When these change, connections that begin later have the new
// certificate; while the new ones cannot be read, which is logged, they have the
// old one.
func LoadCertificate(certFile, keyFile string, log *slog.Logger) (*tls.Config, error) {
	current, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	var mu sync.Mutex
	latest, loaded := &current, time.Now()
	get := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(loaded) >= certificateAge {
			loaded = now
			if renewed, err := tls.LoadX509KeyPair(certFile, keyFile); err == nil {
				latest = &renewed
			} else {
				log.Error("the certificate that was read before is still used", "error", err)
			}
		}
		return latest, nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: get}, nil
}
