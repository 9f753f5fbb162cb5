//go:build e2e

package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"todo-mcp/internal/board"
	"todo-mcp/internal/store/postgrestest"
	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

func snapshot(id string, revision int64) todo.Snapshot {
	return todo.Snapshot{List: todo.List{ID: id, Created: time.Now().UTC()}, Revision: revision, Items: []todo.Item{}, Updated: time.Now().UTC()}
}

// Who reads on from the last Seq misses no save, also one that began before others
// and is committed after them.
func TestPositionMissesNothing(t *testing.T) {
	url := newDatabase(t)
	s := open(t, url)
	defer s.Close()
	ctx := t.Context()
	if _, err := storetest.Save(ctx, s, snapshot("first", 1)); err != nil {
		t.Fatal(err)
	}
	slow, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close(ctx)
	tx, err := slow.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	position, err := s.Position(ctx)
	if err != nil {
		t.Fatal(err)
	}
	// As an update does it: the list's row has the transaction's seq.
	if _, err := tx.Exec(ctx, `INSERT INTO todo_mcp.lists SELECT 'slow', principal, client, workspace, parent, parent_conversation, mirrored, conversation, begun,
		replace(meta, 'first', 'slow'), revision, todo_mcp.seq(1), updated, deleted, bytes, spare, excerpt FROM todo_mcp.lists WHERE id = 'first'`); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, `INSERT INTO todo_mcp.history SELECT 'slow', revision, todo_mcp.seq(1), updated, operation, body FROM todo_mcp.history WHERE list = 'first'`); err != nil {
		t.Fatal(err)
	}
	var slowSeq int64
	if err := tx.QueryRow(ctx, `SELECT todo_mcp.seq(1)`).Scan(&slowSeq); err != nil {
		t.Fatal(err)
	}
	if _, err := storetest.Save(ctx, s, snapshot("quick", 1)); err != nil {
		t.Fatal(err)
	}
	var read []string
	readOn := func() {
		t.Helper()
		found, err := s.Find(ctx, board.Query{AfterSeq: position, OldestFirst: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			read, position = append(read, f.List.ID), f.Seq
		}
	}
	readOn()
	if now, err := s.Position(ctx); err != nil || now >= slowSeq {
		t.Errorf("position %d while the save of %d is not committed, %v", now, slowSeq, err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	readOn()
	if fmt.Sprint(read) != "[slow quick]" {
		t.Errorf("read %q", read)
	}
	// The newest first are all that are committed.
	if found, err := s.Find(ctx, board.Query{}); err != nil || len(found) != 3 {
		t.Errorf("found %d, %v", len(found), err)
	}
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

// newLine makes a line to the tests' server, and returns it with an address of a
// database by way of it.
func newLine(t *testing.T, address string) (line *postgrestest.Line, through string) {
	t.Helper()
	line, err := postgrestest.NewLine(server(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(line.Close)
	if through, err = line.Through(address); err != nil {
		t.Fatal(err)
	}
	return line, through
}
