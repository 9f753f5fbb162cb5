//go:build e2e

package postgres

import (
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

func snapshot(id string, revision int64) todo.Snapshot {
	return todo.Snapshot{List: todo.List{ID: id, Created: time.Now().UTC()}, Revision: revision, Items: []todo.Item{}, Updated: time.Now().UTC()}
}

// A process counts as alive on other servers until it leaves.
func TestAliveOnOtherServers(t *testing.T) {
	a, b := both(t)
	leave := must(a.Attend("p1"))(t)
	if !b.Alive("p1") || b.Alive("p2") {
		t.Error("not alive, or the other is")
	}
	must(b.pool.Exec(t.Context(), `UPDATE todo_mcp.processes SET until = now()`))(t)
	b.alive.known = map[string]seen{}
	if b.Alive("p1") {
		t.Error("alive after its row expired")
	}
	a.sayAlive(t.Context(), "p1")
	b.alive.known = map[string]seen{}
	if !b.Alive("p1") {
		t.Error("not alive although it said so again")
	}
	leave()
	b.alive.known = map[string]seen{}
	if b.Alive("p1") {
		t.Error("alive after it left")
	}
}
