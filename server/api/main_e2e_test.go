//go:build e2e

package api_test

import (
	"os"
	"testing"

	"github.com/todo-mcp/todo-mcp/server/servertest"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }
