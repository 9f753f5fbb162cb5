package memory_test

import (
	"testing"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(testing.TB) todo.Store { return memory.New() })
}

func TestKeep(t *testing.T) {
	storetest.RunKeep(t, func(_ testing.TB, keep todo.Keep) todo.Store { return memory.NewKeeping(keep) })
}
