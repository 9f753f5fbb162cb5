package edge

import (
	"context"
	"errors"
	"net/http"
	"os"
	"time"
)

const (
	// pieceSize is how many bytes of an answer a client must read within the client
	// timeout: as little as 26 kB/s is fast enough.
	pieceSize = 256 << 10
	// finalWriteTimeout is how long a client may still take for what is being written as
	// the server ends.
	finalWriteTimeout = time.Second
	// maxUnsent is how many bytes of large answers may wait to be read by clients, half of
	// them by one client: sixteen of the largest pages of lists.
	maxUnsent = 128 << 20
	// smallAnswer is the size in bytes from which an answer counts as large.
	smallAnswer = 16 << 10
)

// answer is a response whose client must read in time: one that does not loses
// its connection, and the memory of the answer is free (BAD-INPUT 61).
//
// There is a deadline only while something is written: in HTTP/2 it ends the answer
// when it passes, also if the handler still waits for the store.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	edge    *Edge
	status  int      // that was written; 0 is 200
	stream  bool     // it became a [sse.Stream]
	request *Request // nil before it is known who asks
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

// bound bounds how long the client may take for what is written from now on, also by the end of
// the edge.
func (a *answer) bound() {
	within := a.edge.config.ClientTimeout
	if a.edge.closing.Err() != nil {
		within = min(within, finalWriteTimeout)
	}
	_ = a.control.SetWriteDeadline(time.Now().Add(within))
}

// FlushError is for http.ResponseController.
func (a *answer) FlushError() error {
	a.bound()
	defer a.control.SetWriteDeadline(time.Time{}) //nolint:errcheck // the next write finds out
	defer context.AfterFunc(a.edge.closing, a.bound)()
	return a.control.Flush()
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Write answers with a status and a whole body. It returns an [*Error] with status 429
// when too much is unsent; then it has written nothing. w must be what the handler was
// given.
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
