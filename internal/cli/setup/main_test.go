package setup_test

import (
	"testing"

	"todo-mcp/internal/cli"
	"todo-mcp/internal/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, cli.Run, cli.ExitCode) }
