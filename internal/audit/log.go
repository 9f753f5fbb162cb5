// Package audit writes who changed which list: a line of JSON for each revision
// that was saved, whoever saved it and by whatever way, and for each list that
// somebody removed for good. What a store removes by itself, to make room or a day
// after it was deleted, has no line. A line never has a text of a list.
//
// A line is written after the save is durable. A log that cannot be written stops
// no save: its lines wait in memory, [Log.Check] fails, and they are written when
// that is possible again. Of what does not fit a line says how much was lost.
// What still cannot be written as the process ends is lost, and is reported.
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
	out    func(lines []byte) (n int, err error) // as [io.Writer]
	report *slog.Logger

	mu      sync.Mutex
	waiting []byte // lines that are to be written
	lost    int    // how many lines did not fit since the last was written
	failing error  // of the last try to write
}

// ToFile returns a log that appends to a file, which it makes, for its owner alone.
// It opens the file each time: after another program has renamed it, the next line
// begins a new one. Failures to write it are reported, once until it works again.
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

// Check writes what waits, or makes sure that the log can be written, and returns why
// it cannot.
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
	_ = l.flush() // it was reported
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

// try writes what waits, in one write, and then how much was lost. When it fails, the
// lines that were written whole wait no more, and a line break goes before the rest of one
// that was not.
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
