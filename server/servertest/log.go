package servertest

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
)

// Log collects the lines of a log. The zero value is ready to use.
type Log struct {
	mu   sync.Mutex
	data bytes.Buffer
}

// Logger returns a logger that writes to the log.
func (l *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.data.Write(p)
}

// Take returns the lines since the last call; nil when there are none.
func (l *Log) Take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSpace(l.data.String())
	l.data.Reset()
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
