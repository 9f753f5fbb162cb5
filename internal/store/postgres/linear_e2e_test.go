//go:build e2e

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"todo-mcp/internal/store/postgrestest"
	"todo-mcp/internal/todo"
)

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
	r := &recorder{T: t, began: time.Now()}
	var all sync.WaitGroup
	for store := range 2 {
		line, through := newLine(t, url)
		s := open(t, through)
		defer s.Close()
		for client := range 3 {
			c := &saver{recorder: r, store: s, line: line, number: store*3 + client, list: fmt.Sprint("l", client)}
			all.Go(func() { c.work(each) })
		}
	}
	all.Wait()
	direct := open(t, url)
	defer direct.Close()
	r.settle(direct)
	t.Logf("%d applied, %d refused, %d unknown of which %d had happened", r.applied, len(r.refused), r.unknown, r.happened)
	if r.unknown == 0 {
		t.Error("no connection was cut in the middle of a commit")
	}
	if got := porcupine.CheckOperationsTimeout(saveModel(), r.calls, time.Minute); got != porcupine.Ok {
		t.Errorf("the calls are not linearizable: %s", got)
	}
	r.checkFalsified()
}

// saveCall is an update that saves the next revision of a list, or, without an
// operation, a read.
type saveCall struct{ list, operation string }

// saveAnswer is what a call returned: a revision and, for a read, the operation that
// made it.
type saveAnswer struct {
	revision  int64
	operation string
	unknown   bool
}

// saveModel is the sequential specification of one list: the operations that made
// its revisions, one after the other.
func saveModel() porcupine.Model {
	return porcupine.Model{
		Partition: func(calls []porcupine.Operation) (parts [][]porcupine.Operation) {
			byList := map[string]int{}
			for _, c := range calls {
				list := c.Input.(saveCall).list
				if _, known := byList[list]; !known {
					byList[list] = len(parts)
					parts = append(parts, nil)
				}
				parts[byList[list]] = append(parts[byList[list]], c)
			}
			return parts
		},
		Init: func() any { return "" },
		Step: func(state, input, output any) (bool, any) {
			revisions, call, got := strings.Fields(state.(string)), input.(saveCall), output.(saveAnswer)
			newest := int64(len(revisions))
			switch {
			case call.operation == "":
				return got.revision == newest && (newest == 0 || revisions[newest-1] == got.operation), state
			case slices.Contains(revisions, call.operation):
				return slices.Index(revisions, call.operation) == int(got.revision-1), state
			}
			return got.revision == newest+1, state.(string) + " " + call.operation
		},
	}
}

// recorder collects the calls of all clients.
type recorder struct {
	*testing.T
	mu                         sync.Mutex
	began                      time.Time
	calls                      []porcupine.Operation
	refused                    []string // operations
	applied, unknown, happened int
}

func (r *recorder) add(client int, call saveCall, called time.Duration, got saveAnswer) {
	returned := int64(time.Since(r.began))
	r.mu.Lock()
	defer r.mu.Unlock()
	if got.unknown {
		r.unknown++
		returned = math.MaxInt64
	}
	r.calls = append(r.calls, porcupine.Operation{ClientId: client, Input: call, Call: int64(called), Output: got, Return: returned})
}

// settle reads the history of all lists, and says of each call that may have
// happened whether it did; one that did not is no call.
func (r *recorder) settle(s *Store) {
	made := map[string]int64{} // revisions by operation
	for _, list := range []string{"l0", "l1", "l2"} {
		found, err := s.History(r.Context(), list, 0, 0)
		if err != nil {
			r.Fatal(err)
		}
		for i, f := range found {
			if f.Revision != int64(i+1) || made[f.Operation.ID] > 0 {
				r.Errorf("%s has revision %d of %s in place of %d", list, f.Revision, f.Operation.ID, i+1)
			}
			made[f.Operation.ID] = f.Revision
		}
		newest := found[len(found)-1]
		r.add(-1, saveCall{list: list}, time.Since(r.began), saveAnswer{revision: newest.Revision, operation: newest.Operation.ID})
	}
	for _, operation := range r.refused {
		if made[operation] > 0 {
			r.Errorf("%s was refused and is there", operation)
		}
	}
	r.calls = slices.DeleteFunc(r.calls, func(c porcupine.Operation) bool {
		return c.Output.(saveAnswer).unknown && made[c.Input.(saveCall).operation] == 0
	})
	r.boundUnknown(made)
}

// boundUnknown says of the calls that happened without an answer that they did
// before the first answer which shows it, by this revision of the list or a later one;
// one that was made after that answer is a repeat without an effect. Without this the
// checker tries every set of them at every step, which no machine ends.
func (r *recorder) boundUnknown(made map[string]int64) {
	shown := func(list string, revision int64) int64 {
		first := int64(math.MaxInt64)
		for _, c := range r.calls {
			if got := c.Output.(saveAnswer); !got.unknown && c.Input.(saveCall).list == list && got.revision >= revision {
				first = min(first, c.Return)
			}
		}
		return first
	}
	var calls []porcupine.Operation
	for _, c := range r.calls {
		call := c.Input.(saveCall)
		if c.Output.(saveAnswer).unknown {
			revision := made[call.operation]
			if c.Output, c.Return = (saveAnswer{revision: revision}), shown(call.list, revision); c.Return < c.Call {
				continue
			}
			r.happened++
		}
		calls = append(calls, c)
	}
	r.calls = calls
}

// checkFalsified checks that the checker finds what is wrong: a save that was
// acknowledged and lost, and a read of what another save had replaced before.
func (r *recorder) checkFalsified() {
	r.Helper()
	read := slices.IndexFunc(r.calls, func(c porcupine.Operation) bool { return c.ClientId == -1 })
	save := slices.IndexFunc(r.calls, func(c porcupine.Operation) bool {
		return c.Input.(saveCall).operation != "" && c.Output.(saveAnswer).revision == 5
	})
	for name, falsify := range map[string]func(c *porcupine.Operation){
		"a stale read": func(*porcupine.Operation) {
			got := r.calls[read].Output.(saveAnswer)
			got.revision--
			r.calls[read].Output = got
		},
		"a lost save": func(c *porcupine.Operation) {
			call := c.Input.(saveCall)
			call.operation = "lost"
			c.Input = call
		},
	} {
		right := slices.Clone(r.calls)
		falsify(&r.calls[save])
		if got := porcupine.CheckOperationsTimeout(saveModel(), r.calls, time.Minute); got != porcupine.Illegal {
			r.Errorf("%s was not found: %s", name, got)
		}
		r.calls = right
	}
}

// saver saves and reads one list through one store.
type saver struct {
	*recorder
	store  *Store
	line   *postgrestest.Line
	number int
	list   string
	serial int
	took   time.Duration // by a save that was not cut
}

func (c *saver) work(times int) {
	for range times {
		if _, err := c.load(); err != nil {
			continue // it was cut
		}
		c.serial++
		operation := todo.Operation{ID: fmt.Sprintf("c%d-%d", c.number, c.serial), Digest: "d"}
		unknown := false
		for c.save(operation, unknown) { // an unknown outcome is repeated
			unknown = true
		}
	}
}

func (c *saver) load() (todo.Snapshot, error) {
	called := time.Since(c.began)
	now, err := c.store.Load(context.Background(), c.list, 0)
	if err == nil || errors.Is(err, todo.ErrNotFound) {
		c.add(c.number, saveCall{list: c.list}, called, saveAnswer{revision: now.Revision, operation: now.Operation.ID})
		return now, nil
	}
	return now, err
}

// save saves the next revision, often with the connection cut meanwhile, and reports
// whether the outcome is unknown. repeats is true when that of an earlier try is.
func (c *saver) save(operation todo.Operation, repeats bool) (unknown bool) {
	if rand.IntN(4) == 0 {
		cut := time.AfterFunc(time.Duration(rand.Int64N(int64(max(2*c.took, time.Millisecond)))), c.line.Cut)
		defer cut.Stop()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	call := saveCall{c.list, operation.ID}
	called := time.Since(c.began)
	saved, err := c.update(ctx, operation)
	switch {
	case err == nil:
		c.took = time.Since(c.began) - called
		c.add(c.number, call, called, saveAnswer{revision: saved})
		c.count(&c.applied)
	case errors.Is(err, todo.ErrUnknownOutcome):
		c.add(c.number, call, called, saveAnswer{unknown: true})
		return true
	case !repeats:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.refused = append(c.refused, operation.ID)
	}
	return false
}

// update returns the revision that an operation made, now or before.
func (c *saver) update(ctx context.Context, operation todo.Operation) (revision int64, err error) {
	err = c.store.Update(ctx, todo.Key{Conversation: fmt.Sprint(c.number)}, func(tx todo.Tx) error {
		before, err := tx.Find(ctx, todo.Query{Operation: operation.ID})
		if err != nil || len(before) > 0 {
			for _, b := range before {
				revision = b.Revision
			}
			return err
		}
		now, err := tx.Load(ctx, c.list, 0)
		if err != nil && !errors.Is(err, todo.ErrNotFound) {
			return err
		}
		next := snapshot(c.list, now.Revision+1)
		next.Operation = operation
		saved, err := tx.Save(ctx, next)
		revision = saved.Revision
		return err
	})
	return revision, err
}

func (r *recorder) count(n *int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*n++
}
