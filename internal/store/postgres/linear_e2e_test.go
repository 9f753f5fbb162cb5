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

// BAD-INPUT 53, 54: the saves and reads of three lists through two stores, whose
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
	t.Logf("%d applied, %d conflicts, %d refused, %d unknown of which %d had happened", r.applied, r.conflicts, len(r.refused), r.unknown, r.happened)
	if r.unknown == 0 || r.conflicts == 0 {
		t.Error("no connection was cut in the middle of a save, or no save lost against another")
	}
	if got := porcupine.CheckOperationsTimeout(saveModel(), r.calls, time.Minute); got != porcupine.Ok {
		t.Errorf("the calls are not linearizable: %s", got)
	}
	r.checkFalsified()
}

// saveCall is a save of a revision, or, without an operation, a read.
type saveCall struct {
	list      string
	revision  int64
	operation string
}

// saveAnswer is what a call returned: a revision and the operation that made it, or
// that another save was first.
type saveAnswer struct {
	revision  int64
	operation string
	conflict  bool
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
				return got.revision == call.revision && !got.conflict && revisions[call.revision-1] == call.operation, state
			case got.conflict:
				return newest != call.revision-1, state
			}
			return newest == call.revision-1 && got.revision == call.revision, state.(string) + " " + call.operation
		},
	}
}

// recorder collects the calls of all clients.
type recorder struct {
	*testing.T
	mu                                    sync.Mutex
	began                                 time.Time
	calls                                 []porcupine.Operation
	refused                               []string // operations
	applied, conflicts, unknown, happened int
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
	made := map[string]bool{}
	for _, list := range []string{"l0", "l1", "l2"} {
		found, err := s.History(r.Context(), list, 0, 0)
		if err != nil {
			r.Fatal(err)
		}
		for i, f := range found {
			if f.Revision != int64(i+1) || made[f.Operation.ID] {
				r.Errorf("%s has revision %d of %s in place of %d", list, f.Revision, f.Operation.ID, i+1)
			}
			made[f.Operation.ID] = true
		}
		newest := found[len(found)-1]
		r.add(-1, saveCall{list: list}, time.Since(r.began), saveAnswer{revision: newest.Revision, operation: newest.Operation.ID})
	}
	for _, operation := range r.refused {
		if made[operation] {
			r.Errorf("%s was refused and is there", operation)
		}
	}
	r.calls = slices.DeleteFunc(r.calls, func(c porcupine.Operation) bool {
		return c.Output.(saveAnswer).unknown && !made[c.Input.(saveCall).operation]
	})
	r.boundUnknown()
}

// boundUnknown says of the calls that happened without an answer that they did
// before the first answer which shows it; one that was made after that answer is a
// repeat without an effect. Without this the checker tries every set of them at every
// step, which no machine ends.
func (r *recorder) boundUnknown() {
	shown := map[string]int64{}
	for _, c := range r.calls {
		call, got := c.Input.(saveCall), c.Output.(saveAnswer)
		operation := call.operation + got.operation // each call has one of them
		if at, before := shown[operation]; !got.unknown && !got.conflict && (!before || c.Return < at) {
			shown[operation] = c.Return
		}
	}
	var calls []porcupine.Operation
	for _, c := range r.calls {
		call := c.Input.(saveCall)
		if c.Output.(saveAnswer).unknown {
			if c.Output, c.Return = (saveAnswer{revision: call.revision}), shown[call.operation]; c.Return < c.Call {
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
		return c.Input.(saveCall).revision == 5 && !c.Output.(saveAnswer).conflict
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
		now, err := c.load()
		if err != nil {
			continue // it was cut
		}
		c.serial++
		next := snapshot(c.list, now.Revision+1)
		next.Operation = todo.Operation{ID: fmt.Sprintf("c%d-%d", c.number, c.serial), Digest: "d"}
		for c.save(next) { // an unknown outcome is repeated
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

// save saves a revision, often with the connection cut meanwhile, and reports
// whether the outcome is unknown.
func (c *saver) save(next todo.Snapshot) (unknown bool) {
	if rand.IntN(4) == 0 {
		cut := time.AfterFunc(time.Duration(rand.Int64N(int64(max(2*c.took, time.Millisecond)))), c.line.Cut)
		defer cut.Stop()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	call := saveCall{c.list, next.Revision, next.Operation.ID}
	called := time.Since(c.began)
	_, err := c.store.Save(ctx, next)
	var conflict *todo.ConflictError
	switch {
	case err == nil:
		c.took = time.Since(c.began) - called
		c.add(c.number, call, called, saveAnswer{revision: next.Revision})
		c.count(&c.applied)
	case errors.Is(err, todo.ErrUnknownOutcome):
		c.add(c.number, call, called, saveAnswer{unknown: true})
		return true
	case errors.As(err, &conflict):
		c.add(c.number, call, called, saveAnswer{conflict: true})
		c.count(&c.conflicts)
	default:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.refused = append(c.refused, next.Operation.ID)
	}
	return false
}

func (r *recorder) count(n *int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*n++
}
