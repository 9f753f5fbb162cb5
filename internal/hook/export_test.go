package hook

import (
	"context"
	"path/filepath"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

// LookAtSessions takes in the files in a folder of Claude Code's once.
func LookAtSessions(ctx context.Context, home string, lists board.Lists) {
	sessions{filepath.Join(home, "sessions"), make(map[string]time.Time)}.look(ctx, lists)
}

// LookAtCodex takes in the files in a folder of Codex' once.
func LookAtCodex(ctx context.Context, home string, lists board.Lists) {
	sessions{read: make(map[string]time.Time)}.lookAtCodex(ctx, home, lists)
}
