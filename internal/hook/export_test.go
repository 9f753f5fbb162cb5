package hook

import (
	"context"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

// LookAtSessions records once the states in the session files below home, a folder of Claude Code.
func LookAtSessions(ctx context.Context, home string, lists board.Lists) {
	SessionLooks()(ctx, home, lists)
}

// SessionLooks returns a function like LookAtSessions that skips the files that did not change since its last call.
func SessionLooks() func(ctx context.Context, home string, lists board.Lists) {
	return make(sessions).lookAtClaudeCode
}

// LookAtCodex records once the failed turns in the chats' files below home, a folder of Codex.
func LookAtCodex(ctx context.Context, home string, lists board.Lists) {
	make(sessions).lookAtCodex(ctx, home, lists)
}
