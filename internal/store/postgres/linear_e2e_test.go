//go:build e2e

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"todo-mcp/internal/board"
	"todo-mcp/internal/store/postgrestest"
	"todo-mcp/internal/todo"
)

// call is an update that saved a revision of a list, or a read of one.
type call struct {
	list, operation  string
	called, returned time.Time
	revision         int64
	saves            bool
}

// calls are what several clients did.
type calls struct {
	mu      sync.Mutex
	all     []call
	refused map[string]bool // operations
	unknown int
}

func (c *calls) add(one call) {
	one.returned = time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, one)
}

// check returns what is wrong with the calls if these operations made the revisions of
// the lists. Since each save names its revision, they could have been made one after the
// other exactly if those that came after each other have revisions in this order.
func (c *calls) check(made map[string][]string) error {
	for list, operations := range made {
		seen := map[string]bool{}
		for _, operation := range operations {
			if seen[operation] || c.refused[operation] {
				return fmt.Errorf("%s: %s was refused, or is there twice", list, operation)
			}
			seen[operation] = true
		}
	}
	for _, one := range c.all {
		if one.revision > int64(len(made[one.list])) || one.revision > 0 && made[one.list][one.revision-1] != one.operation {
			return fmt.Errorf("%+v is not what the history of %q says", one, made[one.list])
		}
		for _, before := range c.all {
			if before.list == one.list && before.returned.Before(one.called) && (before.revision > one.revision || one.saves && before.revision == one.revision) {
				return fmt.Errorf("%+v came before %+v", before, one)
			}
		}
	}
	return nil
}

// BAD-INPUT 53, 54: the updates and reads of three lists through two stores, whose
// connections are cut at any moment, could have been made one after the other, each
// between its call and its return. What was acknowledged is there, what was refused
// is not, and what is unknown can be repeated with its operation id.
func TestLinearizableWithCutConnections(t *testing.T) {
	each := 60
	if os.Getenv("TODO_LONG") != "" {
		each = 600
	}
	url := newDatabase(t)
	done := &calls{refused: map[string]bool{}}
	var all sync.WaitGroup
	for store := range 2 {
		line, through := newLine(t, url)
		s := open(t, through)
		defer s.Close()
		for client := range 3 {
			c := &saver{calls: done, store: s, line: line, number: store*3 + client, list: fmt.Sprint("l", client)}
			all.Go(func() { c.work(each) })
		}
	}
	all.Wait()
	direct := open(t, url)
	defer direct.Close()
	made := map[string][]string{}
	for client := range 3 {
		list := fmt.Sprint("l", client)
		revisions, err := direct.History(t.Context(), list, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range revisions {
			if made[list] = append(made[list], s.Operation.ID); s.Revision != int64(i+1) {
				t.Errorf("%s has revision %d at place %d", list, s.Revision, i)
			}
		}
	}
	t.Logf("%d calls, %d refused, %d unknown", len(done.all), len(done.refused), done.unknown)
	if err := done.check(made); err != nil || done.unknown == 0 {
		t.Errorf("%d were cut in the middle of a commit; %v", done.unknown, err)
	}
	// The check finds a read of what was replaced before, and a save that is lost.
	stale := call{list: "l0", operation: made["l0"][0], called: time.Now(), revision: 1}
	done.all = append(done.all, stale)
	if done.check(made) == nil {
		t.Error("a stale read was not found")
	}
	done.all, made["l1"] = done.all[:len(done.all)-1], append(made["l1"][:3], made["l1"][4:]...)
	if done.check(made) == nil {
		t.Error("a lost save was not found")
	}
}

// saver saves and reads one list through one store.
type saver struct {
	*calls
	store  *Store
	line   *postgrestest.Line
	number int
	list   string
	took   time.Duration // by a save that was not cut
}

func (c *saver) work(times int) {
	for n := range times {
		read := call{list: c.list, called: time.Now()}
		now, err := c.store.Load(context.Background(), c.list, 0)
		if err != nil && !errors.Is(err, board.ErrNotFound) {
			continue // it was cut
		}
		read.revision, read.operation = now.Revision, now.Operation.ID
		c.add(read)
		save := call{list: c.list, operation: fmt.Sprintf("c%d-%d", c.number, n), called: time.Now(), saves: true}
		save.revision, err = c.save(save.operation)
		unknown := 0
		for ; errors.Is(err, board.ErrUnknownOutcome); unknown++ {
			save.revision, err = c.save(save.operation)
		}
		if err == nil {
			c.add(save)
		}
		c.mu.Lock()
		c.unknown += unknown
		if err != nil && unknown == 0 {
			c.refused[save.operation] = true
		}
		c.mu.Unlock()
	}
}

// save saves the next revision, often with the connection cut meanwhile, and returns the
// revision that the operation made, now or before.
func (c *saver) save(operation string) (revision int64, err error) {
	if rand.IntN(4) == 0 {
		cut := time.AfterFunc(time.Duration(rand.Int64N(int64(max(2*c.took, time.Millisecond)))), c.line.Cut)
		defer cut.Stop()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	began := time.Now()
	err = c.store.Update(ctx, board.Key{Chat: fmt.Sprint(c.number)}, func(tx board.Tx) error {
		before, err := tx.Find(ctx, board.Query{Operation: operation})
		if err != nil || len(before) > 0 {
			revision = append(before, todo.Snapshot{})[0].Revision
			return err
		}
		now, err := tx.Load(ctx, c.list, 0)
		if err != nil && !errors.Is(err, board.ErrNotFound) {
			return err
		}
		next := snapshot(c.list, now.Revision+1)
		next.Operation = todo.Operation{ID: operation, Digest: "d"}
		saved, err := tx.Save(ctx, next)
		revision = saved.Revision
		return err
	})
	if err == nil {
		c.took = time.Since(began)
	}
	return revision, err
}
