// Package audit writes who changed which list: a line of JSON for each saved revision, and for each list that
// somebody removed for good. Lists that a store removes by itself, to make room or a day after they were deleted,
// have no line. A line never has a text of a list.
//
// A line is written after the save is durable. While the log cannot be written, saves go on, lines wait in memory and
// [Log.Check] fails. A line says how many did not fit in memory. What still waits when the process ends is lost, and
// reported.
package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/render"
)

// maxWaiting is how many bytes of lines wait for a log that cannot be written.
const maxWaiting = 1 << 20

// Log is an audit log. It is safe for concurrent use.
type Log struct {
	out    func(lines []byte) (n int, err error) // as io.Writer.Write
	report *slog.Logger

	mu      sync.Mutex
	waiting []byte // lines to write
	lost    int    // how many lines did not fit since the last write
	failing error  // of the last write
}

// ToFile returns a log that appends to a file for its owner alone. It opens the file for each write, so that a log
// may be rotated by renaming. The first of several failures is reported.
func ToFile(path string, report *slog.Logger) *Log {
	return &Log{report: report, out: func(lines []byte) (int, error) {
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return 0, fmt.Errorf("%s is not a file", path)
		}
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return 0, err
		}
		n, err := f.Write(lines)
		return n, errors.Join(err, f.Close())
	}}
}

// ToWriter returns a log that writes to out, each line at once.
func ToWriter(out io.Writer, report *slog.Logger) *Log { return &Log{report: report, out: out.Write} }

// Check writes what waits, and returns why the log cannot be written.
func (l *Log) Check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flush()
}

// Waiting returns how many bytes of lines wait to be written.
func (l *Log) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

func (l *Log) write(lines ...line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, entry := range lines {
		data, err := json.Marshal(entry)
		if err != nil || len(l.waiting)+len(data) > maxWaiting {
			l.lost++
			continue
		}
		l.waiting = append(append(l.waiting, render.SafeJSON(data)...), '\n')
	}
	_ = l.flush() // flush reports it
}

// flush writes what waits. Its first failure in a row is reported.
func (l *Log) flush() error {
	err := l.try()
	if err != nil && l.failing == nil {
		l.report.Error("the audit log cannot be written; lines wait in memory, and the server is not ready", "error", err)
	}
	l.failing = err
	return err
}

// try writes what waits in one write, and then how many lines were lost. After a failure it keeps what was not
// written whole, behind a line break if a part of it was.
func (l *Log) try() error {
	n, err := l.out(l.waiting)
	if err != nil {
		whole := bytes.LastIndexByte(l.waiting[:n], '\n') + 1
		l.waiting = l.waiting[whole:]
		if n > whole {
			l.waiting = append([]byte("\n"), l.waiting...)
		}
		return fmt.Errorf("audit log: %w", err)
	}
	l.waiting = nil
	if l.lost == 0 {
		return nil
	}
	l.waiting = fmt.Appendf(nil, `{"time":%q,"action":"lost","lines":%d}`+"\n", time.Now().UTC().Format(time.RFC3339Nano), l.lost)
	l.lost = 0
	return l.try()
}
