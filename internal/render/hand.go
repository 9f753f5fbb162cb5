package render

import (
	"todo-mcp/internal/account"
	"todo-mcp/internal/todo"
)

// AgainstHand says what of a person's an agent overrode with a revision, or that it sent
// again what a person had replaced, which changed nothing. It returns "" for others.
// before is the revision before it.
func AgainstHand(before, revision todo.Snapshot) string {
	items, order := account.Overrode(before, revision)
	switch {
	case len(items) > 0 && order:
		return "overrode your words and order"
	case len(items) > 0:
		return "overrode your words"
	case order:
		return "overrode your order"
	case account.Repeated(before, revision):
		return "repeated what you replaced"
	}
	return ""
}
