package setup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/hook"
)

// wakeTimeout is for how long an agent at rest is waited for.
const wakeTimeout = 12 * time.Hour

// wake waits while the agent of an event rests, and is [Told] when a person gives it something to
// do. It ends with its host, and when a newer one waits for the same chat. Without a terminal
// Claude Code would wait for it; of a store behind a server nothing is told.
func wake(ctx context.Context, a *app.App, server string) error {
	ctx, cancel := context.WithTimeout(ctx, wakeTimeout)
	defer cancel()
	event, err := hook.Read(a.Stdin)
	if event = event.WithHost(); err != nil || event.Process == "" || server != "" || a.Getenv("CLAUDE_CODE_ENTRYPOINT") == "sdk-cli" {
		return err
	}
	event.Language, a.Brief = a.Language, true
	id := sha256.Sum256([]byte(event.Session))
	mine, file := []byte(strconv.Itoa(os.Getpid())), filepath.Join(filepath.Dir(app.SilentLog(a.Getenv)), "wake-"+hex.EncodeToString(id[:8]))
	isNewest := func() bool {
		now, err := os.ReadFile(file)
		return err == nil && string(now) == string(mine)
	}
	_, b, done, err := a.Open()
	if err != nil {
		return err
	}
	defer done()
	if err := os.WriteFile(file, mine, 0o600); err != nil {
		return err
	}
	defer func() {
		if isNewest() {
			_ = os.Remove(file) // what stays there names no process that waits
		}
	}()
	text, err := event.Wake(ctx, b.As(""), func() bool { return !isNewest() })
	if err != nil || text == "" {
		return err
	}
	return Told(text)
}
