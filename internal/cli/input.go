package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// isTerminalIn reports whether standard input is a terminal, in which a person can
// be asked.
func (a *app) isTerminalIn() bool { return isTerminal(a.Stdin) }

func isTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

var errStopped = errors.New("stopped")

// typedInput returns standard input, read so that reading fails when ctx ends, as
// with Ctrl-C: a person need not first end what they were typing. There is one
// reader of it, which several questions share: a read that has begun cannot be
// taken back, so that its goroutine is left to the end of the process and would
// take the answer to the next question from another reader.
func (a *app) typedInput(ctx context.Context) *bufio.Reader {
	if a.typed == nil {
		a.typed = bufio.NewReader(stoppable(ctx, a.Stdin))
	}
	return a.typed
}

// ask asks the user in the terminal and returns the answer in lower case; empty when
// there is none.
func (a *app) ask(ctx context.Context, question string) (string, error) {
	if err := a.say("%s ", question); err != nil {
		return "", err
	}
	answer, _ := a.typedInput(ctx).ReadString('\n')
	return strings.ToLower(strings.TrimSpace(answer)), nil
}

func stoppable(ctx context.Context, in io.Reader) io.Reader {
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { w.CloseWithError(errStopped) })
	go func() {
		_, err := io.Copy(w, in)
		w.CloseWithError(err)
	}()
	return r
}
