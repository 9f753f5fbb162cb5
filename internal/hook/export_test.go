package hook

import (
	"context"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

// LookAtSessions takes in the files in a folder of Claude Code's once.
func LookAtSessions(ctx context.Context, home string, lists board.Lists) {
	SessionLooks()(ctx, home, lists)
}

// SessionLooks returns a function that takes in what changed in the files of such a folder since its last call.
func SessionLooks() func(ctx context.Context, home string, lists board.Lists) {
	return make(sessions).lookAtClaudeCode
}

// LookAtCodex takes in the files in a folder of Codex' once.
func LookAtCodex(ctx context.Context, home string, lists board.Lists) {
	make(sessions).lookAtCodex(ctx, home, lists)
}
