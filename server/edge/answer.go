package edge

import (
	"context"
	"errors"
	"net/http"
	"os"
	"time"
)

const (
	pieceSize         = 256 << 10   // bytes that a client must read within the client timeout: 26 kB/s is enough
	finalWriteTimeout = time.Second // for a client that still reads as the server ends
	// maxUnsent is how many bytes of large answers clients may leave unread, one client half of it:
	// sixteen of the largest pages of lists.
	maxUnsent   = 128 << 20
	smallAnswer = 16 << 10 // the size in bytes from which an answer is large
)

// answer is a response that its client must read in time. Else the connection is closed, and the memory of the answer
// is free (BAD-INPUT 61).
//
// A deadline is set only while something is written: in HTTP/2 a deadline ends the answer when it passes, even while
// the handler waits for the store.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	edge    *Edge
	status  int      // 0 means 200
	stream  bool     // it became a [sse.Stream]
	request *Request // nil until it is known who asks
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
	if a.stream && len(p) >= smallAnswer {
		sent, err := a.edge.unsent.take(a.request, &p[0], len(p), maxUnsent)
		if err != nil {
			return 0, err
		}
		defer sent()
	}
	defer context.AfterFunc(a.edge.closing, a.bound)()
	for {
		piece := p[:min(len(p), pieceSize)]
		a.bound()
		n, err := a.ResponseWriter.Write(piece)
		written += n
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				a.edge.config.Log.Info("answer given up, its client does not read it", "stream", a.stream)
			}
			return written, err
		}
		if p = p[n:]; len(p) == 0 {
			_ = a.control.SetWriteDeadline(time.Time{})
			return written, nil
		}
	}
}

// bound sets the deadline of a write that begins now, or goes on as the edge closes.
func (a *answer) bound() {
	within := a.edge.config.ClientTimeout
	if a.edge.closing.Err() != nil {
		within = min(within, finalWriteTimeout)
	}
	_ = a.control.SetWriteDeadline(time.Now().Add(within))
}

// FlushError is called by http.ResponseController.
func (a *answer) FlushError() error {
	a.bound()
	defer a.control.SetWriteDeadline(time.Time{}) //nolint:errcheck
	defer context.AfterFunc(a.edge.closing, a.bound)()
	return a.control.Flush()
}

// Unwrap is called by http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Write answers with a status and a whole body. w must be what the handler was given. It returns an [*Error] with
// status 429, and has written nothing, when too much is unread.
func Write(w http.ResponseWriter, status int, mediaType string, body []byte) error {
	if len(body) >= smallAnswer {
		a := w.(*answer)
		sent, err := a.edge.unsent.take(a.request, &body[0], len(body), maxUnsent)
		if err != nil {
			return err
		}
		defer sent()
	}
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_, _ = w.Write(body)
	return nil
}
