package edge

import (
	"context"
	"errors"
	"net/http"
	"os"
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
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	edge    *Edge
	status  int  // that was written; 0 is 200
	stream  bool // it became a [sse.Stream]
}

// bound returns w as an answer. The caller must call done when the request has
// been handled.
func (e *Edge) bound(w http.ResponseWriter) (a *answer, done func()) {
	a = &answer{ResponseWriter: w, control: http.NewResponseController(w), edge: e}
	a.extend() // the deadline of the request before stays with the connection
	stop := context.AfterFunc(e.closing, a.extend)
	return a, func() {
		stop()
		a.extend() // the HTTP server still writes what it has buffered
	}
}

// extend gives the client time for one piece more.
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
		a.extend()
		n, err := a.ResponseWriter.Write(piece)
		written += n
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				a.edge.config.Log.Info("answer given up, its client does not read it (see --write-timeout)")
			}
			return written, err
		}
		if p = p[n:]; len(p) == 0 {
			return written, nil
		}
	}
}

// Flush implements http.Flusher, by which mcp-go recognises that it can stream.
func (a *answer) Flush() {
	a.extend()
	_ = a.control.Flush()
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
