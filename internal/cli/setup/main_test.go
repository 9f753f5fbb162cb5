package setup_test

import (
	"testing"

	"todo-mcp/internal/cli"
	"todo-mcp/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m, cli.Run, cli.ExitCode) }
