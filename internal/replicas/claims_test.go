//go:build e2e && linux

package replicas

import (
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

// D5: agents of three replicas share the steps of a list.
func TestClaims(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, newDatabase(t).address, "--tools", "all")
	var agents []*chattest.Chat
	for n := range 6 {
		agents = append(agents, converse(t, f.replicas[n%3], "work"))
	}
	calls := chattest.Claims(t, agents, programtest.Size(40, 400))
	report.Add(t, programtest.Row{Fault: "claims at once", Tried: "6 agents of 3 replicas take, do and give back steps of one list", Acknowledged: calls,
		Notes: "linearizable, checked by porcupine"})
}
