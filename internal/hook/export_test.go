package hook

import (
	"context"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

// LookAtSessions takes in the files in a folder of Claude Code's once.
func LookAtSessions(ctx context.Context, home string, lists board.Lists) {
	make(sessions).lookAtClaudeCode(ctx, home, lists)
}

// LookAtCodex takes in the files in a folder of Codex' once.
func LookAtCodex(ctx context.Context, home string, lists board.Lists) {
	make(sessions).lookAtCodex(ctx, home, lists)
}
