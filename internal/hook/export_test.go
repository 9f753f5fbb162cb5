package hook

import (
	"context"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

// LookAtSessions records once what the session files in a folder of Claude Code say.
func LookAtSessions(ctx context.Context, home string, lists board.Lists) {
	SessionLooks()(ctx, home, lists)
}

// SessionLooks returns a function that records the session files in such a folder that changed since its last call.
func SessionLooks() func(ctx context.Context, home string, lists board.Lists) {
	return make(sessions).lookAtClaudeCode
}

// LookAtCodex records once the failed turns in the files in a folder of Codex.
func LookAtCodex(ctx context.Context, home string, lists board.Lists) {
	make(sessions).lookAtCodex(ctx, home, lists)
}
