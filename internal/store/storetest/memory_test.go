package storetest_test

import (
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(testing.TB) board.Store { return storetest.NewMemory() })
}
