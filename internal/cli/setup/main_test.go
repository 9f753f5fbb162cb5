package setup_test

import (
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/cli"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m, cli.Run, cli.ExitCode) }
