package server

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// The defaults of [HTTPConfig]'s stream limits.
const (
	defaultKeepAlive    = 15 * time.Second
	defaultWriteTimeout = 10 * time.Second
	defaultMaxStreams   = 4096
)

// admit takes a place for a long-lived stream; when there is none it answers
// 429 (BAD-INPUT 13). leave gives the place back.
func (h *HTTP) admit(w http.ResponseWriter) (leave func(), ok bool) {
	if h.open.Add(1) > int64(h.config.MaxStreams) {
		h.open.Add(-1)
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many open streams", http.StatusTooManyRequests)
		return nil, false
	}
	return func() { h.open.Add(-1) }, true
}

// liveWriter is a response that may be an event stream for long: it gets a
// comment when idle, so that proxies and clients know it lives, and a reader
// that does not take what is written in time loses it (BAD-INPUT 12). mcp-go
// does neither.
type liveWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration

	mu    sync.Mutex
	wrote bool // since the last look
	ended chan struct{}
	done  sync.WaitGroup
}

// keepLive wraps a response until end is called.
func (h *HTTP) keepLive(w http.ResponseWriter) *liveWriter {
	l := &liveWriter{ResponseWriter: w, control: http.NewResponseController(w), timeout: h.config.WriteTimeout, ended: make(chan struct{})}
	l.done.Go(func() { l.run(h.config.KeepAlive) })
	return l
}

func (l *liveWriter) end() {
	close(l.ended)
	l.done.Wait()
}

func (l *liveWriter) run(every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			l.beat()
		case <-l.ended:
			return
		}
	}
}

// beat writes a comment if the response is an event stream and was idle.
func (l *liveWriter) beat() {
	l.mu.Lock()
	defer l.mu.Unlock()
	idle := !l.wrote
	l.wrote = false
	if idle && strings.HasPrefix(l.Header().Get("Content-Type"), "text/event-stream") {
		_ = l.control.SetWriteDeadline(time.Now().Add(l.timeout))
		_, _ = l.ResponseWriter.Write([]byte(": alive\n\n"))
		_ = l.control.Flush()
	}
}

// WriteHeader keeps the header from changing under beat.
func (l *liveWriter) WriteHeader(status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrote = true
	l.ResponseWriter.WriteHeader(status)
}

func (l *liveWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrote = true
	_ = l.control.SetWriteDeadline(time.Now().Add(l.timeout))
	return l.ResponseWriter.Write(p)
}

// Flush implements http.Flusher, by which mcp-go knows that it can stream.
func (l *liveWriter) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.control.Flush()
}
