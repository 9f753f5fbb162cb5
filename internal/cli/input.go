package cli

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/term"
)

// isTerminalIn reports whether standard input is a terminal, in which a person can
// be asked.
func (a *app) isTerminalIn() bool {
	f, ok := a.Stdin.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

var errStopped = errors.New("stopped")

// stoppable returns a reader of in that fails when ctx ends, as with Ctrl-C: a
// person need not first end what they were typing. A read of in that has begun
// cannot be taken back, so that its goroutine is left to the end of the process.
func stoppable(ctx context.Context, in io.Reader) io.Reader {
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { w.CloseWithError(errStopped) })
	go func() {
		_, err := io.Copy(w, in)
		w.CloseWithError(err)
	}()
	return r
}
