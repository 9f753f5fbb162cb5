//go:build e2e && linux

package faults

import (
	"os"
	"testing"

	_ "github.com/todo-mcp/todo-mcp/internal/cli" // so that go test runs these tests again when the program changes
	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

// program is the path of the real binary, and report what the tests found; both
// are of one run of the tests.
var (
	program string
	report  programtest.Table
)

func TestMain(m *testing.M) { os.Exit(programtest.Run(m, &program, &report)) }

// row is what one fault did, and size how much of something the form that runs does.
type row = programtest.Row

func size(short, whenLong int) int { return programtest.Size(short, whenLong) }

// notRun is the line of a fault that this machine has no means for.
func notRun(t *testing.T, fault, why string) {
	t.Helper()
	report.Add(t, row{Fault: fault, Tried: programtest.NotRun + why})
}
