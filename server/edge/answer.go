package edge

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"
)

const (
	// pieceSize is how many bytes of an answer a client must read within the
	// write timeout: as little as 26 kB/s is fast enough.
	pieceSize = 256 << 10
	// finalWriteTimeout is how long a client may still take for a piece after the
	// server has begun to stop.
	finalWriteTimeout = time.Second
)

// answer is a response whose client must read in time: one that does not loses
// its connection, and the memory of the answer is free (BAD-INPUT 61). A
// [sse.Stream] has the same bound of its own.
//
// There is a deadline only while something is written: in HTTP/2 it ends the answer
// when it passes, also if the handler still waits for the store.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	edge    *Edge
	status  int  // that was written; 0 is 200
	stream  bool // it became a [sse.Stream]

	mu      sync.Mutex
	writing bool
}

// bound returns w as an answer. The caller must call done when the request has
// been handled.
func (e *Edge) bound(w http.ResponseWriter) (a *answer, done func()) {
	a = &answer{ResponseWriter: w, control: http.NewResponseController(w), edge: e}
	a.limit(false) // the deadline of the request before stays with the connection
	stop := context.AfterFunc(e.closing, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.extend()
	})
	return a, func() {
		stop()
		a.limit(true) // the HTTP server still writes what it has buffered
	}
}

// limit gives the client time for one piece that is being written, or takes the
// deadline away.
func (a *answer) limit(writing bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writing = writing
	a.extend()
}

// extend sets the deadline, which is shorter when the server has begun to stop. The
// caller must hold mu.
func (a *answer) extend() {
	var deadline time.Time
	if timeout := a.edge.config.Streams.WriteTimeout; a.writing {
		if a.edge.closing.Err() != nil {
			timeout = min(timeout, finalWriteTimeout)
		}
		deadline = time.Now().Add(timeout)
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
				a.edge.config.Log.Info("answer given up, its client does not read it")
			}
			return written, err
		}
		if p = p[n:]; len(p) == 0 {
			a.limit(false)
			return written, nil
		}
	}
}

// Flush implements http.Flusher, by which mcp-go recognises that it can stream.
func (a *answer) Flush() {
	a.limit(true)
	_ = a.control.Flush()
	a.limit(false)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
