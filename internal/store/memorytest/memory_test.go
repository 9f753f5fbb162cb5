package memorytest_test

import (
	"testing"

	"todo-mcp/internal/board"
	"todo-mcp/internal/store/memorytest"
	"todo-mcp/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(testing.TB) board.Store { return memorytest.New() })
}
