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
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/time/rate"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

const (
	idleTimeout    = 2 * time.Minute
	maxHeader      = 32 << 10    // bytes (BAD-INPUT 15)
	writeBuffer    = 64 << 10    // bytes that the system keeps for a client that does not read; more speeds up no reader
	certificateAge = time.Second // the shortest time between two reads of a certificate's files
	probeAge       = time.Second // the shortest time between two write tests of the store
)

// connections is a listener that closes idle connections of its server when it can accept no more, so that many open
// connections keep no new client out (BAD-INPUT 59).
//
// It also limits the system's buffer for each connection's output. The default is megabytes, outside the memory of this
// process. A large change fills the buffer of every stream whose client does not read (BAD-INPUT 61, 63).
type connections struct {
	net.Listener
	server *http.Server
}

// Accept implements net.Listener. The HTTP server calls it again after an error.
func (l *connections) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		l.server.SetKeepAlivesEnabled(false) // closes idle connections
		l.server.SetKeepAlivesEnabled(true)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(writeBuffer)
	}
	return conn, err
}

// Serve serves until ctx ends. During [Config.Drain] it still answers requests, but /readyz fails and each answer
// closes its connection, so that senders turn elsewhere before a request is refused. Then it ends streams, waits up to
// the stop timeout for other requests, and returns nil. It returns an error when the listener fails before ctx ends.
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
	time.Sleep(e.config.Drain)
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

// LoadCertificate returns a TLS configuration with a certificate and its key in PEM files; nil if certFile is empty.
// Changed files are read again. While reading them fails, which is logged, the old certificate stays.
func LoadCertificate(certFile, keyFile string, log *slog.Logger) (*tls.Config, error) {
	if certFile == "" {
		return nil, nil
	}
	current, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	var latest atomic.Pointer[tls.Certificate]
	latest.Store(&current)
	seldom := rate.Sometimes{Interval: certificateAge}
	get := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		seldom.Do(func() {
			if renewed, err := tls.LoadX509KeyPair(certFile, keyFile); err == nil {
				latest.Store(&renewed)
			} else {
				log.Error("the certificate that was read before is still used", "error", err)
			}
		})
		return latest.Load(), nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: get}, nil
}

// ready answers /readyz: whether lists can be read and written (BAD-INPUT 79), the server is not about to stop
// (BAD-INPUT 58), and [Config.Ready] returns no error.
func ready(w http.ResponseWriter, r *Request) error {
	if r.edge.stopping.Load() {
		Text(w, http.StatusServiceUnavailable, "stopping")
		return nil
	}
	if _, err := r.Lists.Find(r.Context(), board.Query{Limit: 1}); err != nil {
		return err
	}
	if err := r.edge.probe.check(r); err != nil {
		return err
	}
	if ready := r.edge.config.Ready; ready != nil {
		if err := ready(); err != nil {
			return err
		}
	}
	fmt.Fprintln(w, "ok")
	if warning := r.Warning(); warning != "" {
		fmt.Fprintln(w, warning)
	}
	return nil
}

// writeProbe tests whether the store can be written.
type writeProbe struct {
	mu     sync.Mutex
	seldom rate.Sometimes
	err    error // of the last test
}

// check returns the result of a hidden write, made at most once in each probeAge: frequent probes seldom write.
func (p *writeProbe) check(r *Request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seldom.Do(func() {
		deadline, _ := r.Context().Deadline()
		ctx, cancel := context.WithDeadline(context.WithoutCancel(r.Context()), deadline) // others await the result
		defer cancel()
		p.err = r.Lists.TryWrite(ctx)
	})
	return p.err
}

// Admin returns the handler of the address for operators: /metrics, /livez and /readyz, none of which has list content.
// It needs no sign-in, and allows any Host unless onlyLoopback is true; pages of other sites are refused.
func (e *Edge) Admin(metrics http.Handler, onlyLoopback bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /livez", e.mux)
	mux.Handle("GET /readyz", e.mux)
	mux.Handle("GET /metrics", metrics)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := e.guard(r, false, !onlyLoopback); err != nil {
			e.fail(w, r, Text, err)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	})
}
