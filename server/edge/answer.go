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
	a.end() // the deadline of the request before stays with the connection
	stop := context.AfterFunc(e.closing, a.shorten)
	return a, func() {
		stop()
		a.begin() // the HTTP server still writes what it has buffered
	}
}

// begin gives the client time for one piece, and end takes the deadline away.
func (a *answer) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writing = true
	a.extend()
}

// end is described at begin.
func (a *answer) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writing = false
	_ = a.control.SetWriteDeadline(time.Time{})
}

// shorten leaves less time for the piece that is being written when the server
// begins to stop.
func (a *answer) shorten() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.writing {
		a.extend()
	}
}

// extend sets the deadline. The caller must hold mu.
func (a *answer) extend() {
	timeout := a.edge.config.Streams.WriteTimeout
	if a.edge.closing.Err() != nil {
		timeout = min(timeout, finalWriteTimeout)
	}
	_ = a.control.SetWriteDeadline(time.Now().Add(timeout))
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
		a.begin()
		n, err := a.ResponseWriter.Write(piece)
		written += n
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				a.edge.config.Log.Info("answer given up, its client does not read it (see --write-timeout)")
			}
			return written, err
		}
		if p = p[n:]; len(p) == 0 {
			a.end()
			return written, nil
		}
	}
}

// Flush implements http.Flusher, by which mcp-go recognises that it can stream.
func (a *answer) Flush() {
	a.begin()
	_ = a.control.Flush()
	a.end()
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
