package edge

import (
	"errors"
	"log/slog"
	"net/http"
	"os"
	"time"
)

// pieceSize is how many bytes of an answer a client must read within the client
// timeout: as little as 26 kB/s is fast enough.
const pieceSize = 256 << 10

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
}

// allow gives the client time to read what is written from now on; 0 is any time.
func (a *answer) allow(d time.Duration) {
	var deadline time.Time
	if d > 0 {
		deadline = time.Now().Add(d)
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
		a.allow(a.timeout)
		n, err := a.ResponseWriter.Write(piece)
		written += n
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				a.log.Info("answer given up, its client does not read it", "stream", a.stream)
			}
			return written, err
		}
		if p = p[n:]; len(p) == 0 {
			a.allow(0)
			return written, nil
		}
	}
}

// FlushError is for http.ResponseController.
func (a *answer) FlushError() error {
	a.allow(a.timeout)
	defer a.allow(0)
	return a.control.Flush()
}

// Flush implements http.Flusher, by which mcp-go recognises that it can stream.
func (a *answer) Flush() { _ = a.FlushError() }

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
