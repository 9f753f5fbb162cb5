package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"todo-mcp/internal/store/sqlite"
	"todo-mcp/internal/todo"
)

// fakeConsole is a console that records what was written.
type fakeConsole struct {
	keyInput io.ReadCloser
	mu       sync.Mutex
	written  bytes.Buffer
	changed  chan struct{}
	rawModes int // how many calls of raw were not undone
	sizeFunc func() (int, int)
}

func newConsole(keys io.ReadCloser) *fakeConsole {
	return &fakeConsole{keyInput: keys, changed: make(chan struct{}, 1), sizeFunc: func() (int, int) { return 60, 10 }}
}

func (c *fakeConsole) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
	return c.written.Write(p)
}

func (c *fakeConsole) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.written.String()
}

// waitFor waits up to 5 seconds until text was written.
func (c *fakeConsole) waitFor(t *testing.T, text string) {
	t.Helper()
	for deadline := time.After(5 * time.Second); !strings.Contains(c.text(), text); {
		select {
		case <-c.changed:
		case <-deadline:
			t.Fatalf("%q was not written; got %q", text, c.text())
		}
	}
}

func (c *fakeConsole) keys() (io.Reader, func(), error) {
	return c.keyInput, func() { c.keyInput.Close() }, nil
}

func (c *fakeConsole) size() (int, int) { return c.sizeFunc() }
func (c *fakeConsole) raw() (func(), error) {
	c.rawModes++
	return func() { c.rawModes-- }, nil
}
func (c *fakeConsole) resized() (<-chan os.Signal, func()) { return nil, func() {} }
func (c *fakeConsole) suspend()                            {}

// checkRestored checks that the terminal was left last, and in no raw mode.
func (c *fakeConsole) checkRestored(t *testing.T) {
	t.Helper()
	if !strings.HasSuffix(c.text(), leaveScreen) || c.rawModes != 0 {
		t.Errorf("not restored: raw mode entered %d times without being left; written %q", c.rawModes, c.text())
	}
}

func newBoard(t *testing.T) *todo.Board {
	t.Helper()
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "todo.db"))
	if err != nil {
		t.Fatal(err)
	}
	board := todo.NewBoard(store)
	t.Cleanup(func() { board.Close(); store.Close() })
	return board
}

func writeItems(t *testing.T, board *todo.Board, name string, texts ...string) {
	t.Helper()
	_, err := board.As("").Apply(context.Background(), todo.Write{
		Target: todo.Target{Conversation: todo.Conversation{Key: "name:" + name, Name: name}},
		Change: func(d *todo.Draft) error { d.Append(texts...); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Run draws changes on the board, reads the history, suspends, and quits on q.
func TestRun(t *testing.T) {
	board := newBoard(t)
	writeItems(t, board, "release", "Write tests")
	keys, typing := io.Pipe()
	c := newConsole(keys)
	done := make(chan error)
	go func() { done <- run(t.Context(), Local{board.As("")}, c, Options{Where: "here", List: "release"}) }()
	c.waitFor(t, "Write tests")
	writeItems(t, board, "release", "Ship it")
	c.waitFor(t, "Ship it")
	io.WriteString(typing, "\x1b[D")
	c.waitFor(t, "revision 2 of 2")
	io.WriteString(typing, "\x1a\x1bq") // suspended and back, Escape, quit
	if err := <-done; err != nil {
		t.Error(err)
	}
	c.checkRestored(t)
	if got := strings.Count(c.text(), enterScreen); got != 2 {
		t.Errorf("entered the screen %d times", got)
	}
}

// draw writes only the lines that changed, and nothing if none did.
func TestDrawWritesOnlyChangedLines(t *testing.T) {
	var out bytes.Buffer
	s := &screen{out: &out}
	frames := []struct {
		lines []string
		want  string
	}{
		{[]string{"a", "b"}, "\x1b[2J\x1b[1;1H\x1b[2Ka\x1b[2;1H\x1b[2Kb"},
		{[]string{"a", "b"}, ""},
		{[]string{"a", "c"}, "\x1b[2;1H\x1b[2Kc"},
		{[]string{"a"}, "\x1b[2;1H\x1b[2K"},
	}
	for i, f := range frames {
		out.Reset()
		if err := s.draw(f.lines); err != nil {
			t.Fatal(err)
		}
		if f.want != "" {
			f.want = beginFrame + f.want + endFrame
		}
		if out.String() != f.want {
			t.Errorf("frame %d: %q, want %q", i, out.String(), f.want)
		}
	}
}

// brokenSource is a source that fails as follow does.
type brokenSource struct{ follow func() error }

func (b brokenSource) Follow(context.Context, func([]todo.Snapshot, bool), func(error)) error {
	return b.follow()
}
func (brokenSource) History(context.Context, string) ([]todo.Snapshot, error) { return nil, nil }

// Run restores the terminal however it ends: by an error or a panic of the
// source, a signal, or a panic of the viewer.
func TestTerminalRestored(t *testing.T) {
	failures := map[string]func() error{
		"no such server":  func() error { return errors.New("no such server") },
		"panic: nil list": func() error { panic("nil list") },
	}
	for want, follow := range failures {
		c := newConsole(io.NopCloser(strings.NewReader("")))
		if err := run(t.Context(), brokenSource{follow}, c, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		c.checkRestored(t)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("SIGTERM"))
	c := newConsole(io.NopCloser(strings.NewReader("")))
	if err := run(ctx, Local{newBoard(t).As("")}, c, Options{}); err != nil {
		t.Errorf("after a signal: %v", err)
	}
	c.checkRestored(t)

	c = newConsole(io.NopCloser(strings.NewReader("")))
	c.sizeFunc = func() (int, int) { panic("viewer") }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = run(t.Context(), Local{newBoard(t).As("")}, c, Options{})
	}()
	c.checkRestored(t)
}

// Plain writes lists as lines, with what changed, and ends when its reader is
// gone.
func TestPlain(t *testing.T) {
	board := newBoard(t)
	writeItems(t, board, "release", "Write \x1b[2Jtests")
	writeItems(t, board, "other", "Something else")
	r, w := io.Pipe()
	done := make(chan error)
	noon := func() time.Time { return time.Now().UTC() }
	go func() {
		done <- Plain(t.Context(), Local{board.As("")}, w, io.Discard, Options{List: "release", Now: noon})
	}()
	read := func() string {
		buf := make([]byte, 4096)
		n, err := r.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(buf[:n]), "\n") // without the time
		return text
	}
	if got, want := read(), "release (rev 1, 0 of 1 done)\n[ ] #1 Write \\x1b[2Jtests\n\n"; got != want {
		t.Errorf("first %q, want %q", got, want)
	}
	writeItems(t, board, "other", "Not to be seen")
	writeItems(t, board, "release", "Ship")
	if got, want := read(), "  + Ship\nrelease (rev 2, 0 of 2 done)\n[ ] #1 Write \\x1b[2Jtests\n[ ] #2 Ship\n\n"; got != want {
		t.Errorf("then %q, want %q", got, want)
	}
	r.Close()
	writeItems(t, board, "release", "Nobody reads this")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Plain ends when the reader of its pipe is gone, even if nothing changes.
func TestPlainReaderGone(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	if err := Plain(t.Context(), Local{newBoard(t).As("")}, w, io.Discard, Options{}); err != nil {
		t.Error(err)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if readerGone(f) {
		t.Error("readerGone is true for a regular file")
	}
}

// Plain says that it waits for a list and that the source is lost, and continues
// when the source is back.
func TestPlainLost(t *testing.T) {
	var out, errOut strings.Builder
	history := releaseHistory()
	source := scriptedSource(func(show func([]todo.Snapshot, bool), lost func(error)) {
		show(nil, true)
		show(history[:1], false)
		lost(fmt.Errorf("get: %w", errors.New("connection refused\x1b")))
		show(history[1:2], true)
		show(history[1:2], true)
	})
	if err := Plain(t.Context(), source, &out, &errOut, Options{List: "release", Where: "there", Now: noon}); err != nil {
		t.Error(err)
	}
	want := `No list is called "release" yet; waiting for it.
2026-03-04 11:00:00 claude-code/TodoWrite
release (rev 1, 0 of 2 done)
[>] #1 Write tests
[ ] #2 Ship

2026-03-04 11:40:00 claude-code/TodoWrite
  ~ Write tests: in progress → completed
  ~ Ship: pending → in progress
release (rev 2, 1 of 2 done)
[x] #1 Write tests
[>] #2 Ship

`
	if out.String() != want {
		t.Errorf("out:\n%s\nwant:\n%s", out.String(), want)
	}
	if want := "todo-mcp: there: reconnecting (connection refused\\x1b)\n"; errOut.String() != want {
		t.Errorf("errOut: %q", errOut.String())
	}
}

type scriptedSource func(show func([]todo.Snapshot, bool), lost func(error))

func (s scriptedSource) Follow(_ context.Context, show func([]todo.Snapshot, bool), lost func(error)) error {
	s(show, lost)
	return nil
}
func (scriptedSource) History(context.Context, string) ([]todo.Snapshot, error) { return nil, nil }
