package edge

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"
)

const (
	// pieceSize is how many bytes of an answer a client must read within the
	// client timeout: as little as 26 kB/s is fast enough.
	pieceSize = 256 << 10
	// finalWriteTimeout is how long a client may still take for a piece after its
	// stream has ended or the server has begun to stop.
	finalWriteTimeout = time.Second
)

// answer is a response whose client must read in time: one that does not loses
// its connection, and the memory of the answer is free (BAD-INPUT 12, 61).
//
// There is a deadline only while something is written: in HTTP/2 it ends the answer
// when it passes, also if the handler still waits for the store.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration // for a piece
	log     *slog.Logger
	status  int  // that was written; 0 is 200
	stream  bool // it became a [sse.Stream]

	mu      sync.Mutex
	writing bool
	over    bool // the request has been handled: the response may not be touched
}

// bound returns w as an answer. The caller must call done when the request has
// been handled.
func (e *Edge) bound(w http.ResponseWriter) (a *answer, done func()) {
	a = &answer{ResponseWriter: w, control: http.NewResponseController(w), timeout: e.config.ClientTimeout, log: e.config.Log}
	a.limit(false) // the deadline of the request before stays with the connection
	stop := a.endWith(e.closing)
	return a, func() {
		stop()
		// The HTTP server still reads the rest of the request's body, and then writes what
		// it has buffered.
		a.mu.Lock()
		defer a.mu.Unlock()
		a.timeout *= 2
		a.writing = true
		a.extend()
		a.over = true
	}
}

// endWith shortens the time for a piece when ctx ends, also for the one that is being
// written.
func (a *answer) endWith(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.timeout = min(a.timeout, finalWriteTimeout)
		if !a.over {
			a.extend()
		}
	})
}

// limit gives the client time for one piece that is being written, or takes the
// deadline away.
func (a *answer) limit(writing bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writing = writing
	a.extend()
}

// extend sets the deadline. The caller must hold mu.
func (a *answer) extend() {
	var deadline time.Time
	if a.writing {
		deadline = time.Now().Add(a.timeout)
	}
	_ = a.control.SetWriteDeadline(deadline)
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (written int, err error) {
	for {
		piece := p[:min(len(p), pieceSize)]
		a.limit(true)
		n, err := a.ResponseWriter.Write(piece)
		written += n
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				a.log.Info("answer given up, its client does not read it", "stream", a.stream)
			}
			return written, err
		}
		if p = p[n:]; len(p) == 0 {
			a.limit(false)
			return written, nil
		}
	}
}

// FlushError is for http.ResponseController.
func (a *answer) FlushError() error {
	a.limit(true)
	defer a.limit(false)
	return a.control.Flush()
}

// Flush implements http.Flusher, by which mcp-go recognises that it can stream.
func (a *answer) Flush() { _ = a.FlushError() }

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
