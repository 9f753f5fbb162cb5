//go:build e2e

package postgres

import (
	"testing"
	"time"

	"todo-mcp/internal/board"
	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

func snapshot(id string, revision int64) todo.Snapshot {
	return todo.Snapshot{List: todo.List{ID: id, Created: time.Now().UTC()}, Revision: revision, Items: []todo.Item{}, Updated: time.Now().UTC()}
}

// Seq goes on when the database was restored into a cluster whose transactions have
// smaller ids.
func TestSeqAfterARestore(t *testing.T) {
	s := open(t, newDatabase(t))
	defer s.Close()
	ctx := t.Context()
	before, err := storetest.Save(ctx, s, snapshot("a", 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storetest.SaveChat(ctx, s, todo.Chat{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"lists", "history", "chats"} {
		if _, err := s.pool.Exec(ctx, "UPDATE todo_mcp."+table+" SET seq = seq + (1000000000::bigint << 16)"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.pool.Exec(ctx, "UPDATE todo_mcp.store SET place = 'of another cluster'"); err != nil {
		t.Fatal(err)
	}
	if found, err := s.Find(ctx, board.Query{AfterSeq: before.Seq}); err != nil || len(found) != 1 {
		t.Errorf("watchers see %d of what was restored, %v", len(found), err)
	}
	if chats, err := s.Chats(ctx, board.ChatQuery{AfterSeq: before.Seq}); err != nil || len(chats) != 1 {
		t.Errorf("watchers see %d chats of what was restored, %v", len(chats), err)
	}
	if _, err := s.pool.Exec(ctx, "UPDATE todo_mcp.chats SET seq = seq + (1000000000::bigint << 16)"); err != nil { // a chat is the newest
		t.Fatal(err)
	}
	after, err := storetest.Save(ctx, s, snapshot("b", 1))
	if err != nil || after.Seq <= before.Seq+2000000000<<16 {
		t.Errorf("seq %d after %d of a chat", after.Seq, before.Seq+2000000000<<16)
	}
	if err != nil || after.Seq <= before.Seq+1000000000<<16 {
		t.Errorf("seq %d after %d, %v", after.Seq, before.Seq+1000000000<<16, err)
	}
}

// A process counts as alive on other servers until it leaves.
func TestAliveOnOtherServers(t *testing.T) {
	a, b := both(t)
	leave, err := a.Attend("p1")
	if err != nil {
		t.Fatal(err)
	}
	if !b.Alive("p1") || b.Alive("p2") {
		t.Error("not alive, or the other is")
	}
	if _, err := b.pool.Exec(t.Context(), `UPDATE todo_mcp.processes SET until = now()`); err != nil {
		t.Fatal(err)
	}
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
