//go:build e2e && linux

package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
)

// BAD-INPUT 49
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store", "todos.db")
	var acks journal
	var kills atomic.Int64
	enough := size(300, 10_000)
	began := time.Now()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			w := newWriter(fmt.Sprint("w", i))
			for acks.Len() < enough {
				if err := writeUntilKilled(t, path, fmt.Sprint("list-", i/2), w, &acks, enough); err != nil {
					t.Error(err)
					return
				}
				kills.Add(1)
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	_, lost := checkStore(t, path, acks.Acks)
	report.Add(t, row{
		Fault: "kill -9", Tried: "4 processes on one file, 2 on each list, killed while they write",
		Times: fmt.Sprintf("%d kills", kills.Load()), Acknowledged: acks.Len(), Lost: lost,
		Notes: fmt.Sprintf("revisions dense, file whole; %.0f writes/s", float64(acks.Len())/took.Seconds()),
	})
}

// writeUntilKilled starts a process that writes a list, and kills it at a random
// moment: after some answers, and then some time into the next call.
func writeUntilKilled(t *testing.T, path, list string, w *writer, acks *journal, enough int) error {
	a, err := newAgent(t, "--store", "sqlite:"+path, "--list", list)
	if err != nil {
		return err
	}
	defer a.Kill()
	for n := rand.IntN(size(20, 80)); acks.Len() < enough; n-- {
		if n == 0 {
			moment := time.AfterFunc(time.Duration(rand.IntN(12_000))*time.Microsecond, func() { _ = a.Cmd.Process.Kill() })
			defer moment.Stop()
		}
		done, err := w.write(a.Chat)
		if errors.Is(err, chattest.ErrGone) && n <= 0 {
			return nil
		}
		if err != nil {
			return err
		}
		acks.Add(done)
	}
	return nil
}
