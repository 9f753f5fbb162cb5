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
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"todo-mcp/internal/render"
)

// maxWaiting is how many bytes of lines wait for a log that cannot be written.
const maxWaiting = 1 << 20

// Log is an audit log. It is safe for concurrent use.
type Log struct {
	open   func() (io.WriteCloser, error)
	report *slog.Logger

	mu      sync.Mutex
	out     io.WriteCloser // nil until the first line, and after Reopen
	waiting []byte         // lines that are to be written
	lost    int            // how many lines did not fit since the last was written
	failing error          // of the last try to write
}

// ToFile returns a log that appends to a file, which it makes, for its owner alone,
// with the first line. Failures to write it are reported, once until it works again.
func ToFile(path string, report *slog.Logger) *Log {
	return &Log{report: report, open: func() (io.WriteCloser, error) {
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a file", path)
		}
		return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	}}
}

// ToWriter returns a log that writes to out, each line at once, and does not close it.
func ToWriter(out io.Writer, report *slog.Logger) *Log {
	return &Log{report: report, open: func() (io.WriteCloser, error) { return keptOpen{out}, nil }}
}

type keptOpen struct{ io.Writer }

func (keptOpen) Close() error { return nil }

// Check writes what waits, or makes sure that the log can be opened, and returns why
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

// Reopen closes the file, so that the next line goes to one that has its name by
// then: another program has renamed it.
func (l *Log) Reopen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.close()
}

// Close writes what waits and closes the log.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if len(l.waiting) > 0 {
		err = l.flush()
	}
	l.close()
	return err
}

func (l *Log) close() {
	if l.out != nil {
		_ = l.out.Close() // every line was written at once
		l.out = nil
	}
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
	if l.out == nil {
		out, err := l.open()
		if err != nil {
			return fmt.Errorf("audit log: %w", err)
		}
		l.out = out
	}
	for len(l.waiting) > 0 {
		n, err := l.out.Write(l.waiting)
		if err != nil {
			whole := bytes.LastIndexByte(l.waiting[:n], '\n') + 1
			l.waiting = l.waiting[whole:]
			if n > whole {
				l.waiting = append([]byte("\n"), l.waiting...)
			}
			return fmt.Errorf("audit log: %w", err)
		}
		l.waiting = nil
		if l.lost > 0 {
			l.waiting = fmt.Appendf(nil, `{"time":%q,"action":"lost","lines":%d}`+"\n", time.Now().UTC().Format(time.RFC3339Nano), l.lost)
			l.lost = 0
		}
	}
	return nil
}
