//go:build e2e && linux

package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// BAD-INPUT 131: `prune` of thousands of lists while agents write → No write waits longer than a
// moment
func TestPruneInSteps(t *testing.T) {
	dir := t.TempDir()
	store := "sqlite:" + filepath.Join(dir, "todo.db")
	var lines strings.Builder
	long, lists := strings.Repeat("x", 1000), size(4000, 30000)
	for n := range lists {
		for revision := range int64(5) {
			at := time.Date(2025, 1, 1, 0, 0, n, 0, time.UTC)
			s := todo.Snapshot{List: todo.List{ID: fmt.Sprintf("old%023d", n), Conversation: fmt.Sprint("c", n/500), Client: "tester", Created: at}, Revision: revision + 1, LastID: 1, Updated: at, Worked: at,
				Items: []todo.Item{{ID: "1", Text: long[revision:], Status: todo.Completed, Created: at}}}
			line, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			lines.Write(append(line, '\n'))
		}
	}
	file := filepath.Join(dir, "lists.ndjson")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	importFile(t, file, store)
	before := sizeOf(t, filepath.Join(dir, "todo.db"))
	s := mustServe(t, "--store", store)
	chat := s.session(t, "")
	chat.Writes("p:One p:Two")
	pruned := make(chan error, 1)
	go func() {
		printed, err := onStore(store, "prune", "--older-than", "1", "--yes")
		if err != nil || !strings.HasPrefix(printed, fmt.Sprintf("Deleted %d of ", lists)) {
			err = fmt.Errorf("%w: %s", err, printed)
		}
		pruned <- err
	}()
	var longest time.Duration
	log, writes := int64(0), 0
	for done := false; !done; writes++ {
		select {
		case err := <-pruned:
			if done = true; err != nil {
				t.Error(err)
			}
		default:
		}
		began := time.Now()
		chat.Writes(fmt.Sprintf("p:One p:Two p:Three-%d", writes))
		longest = max(longest, time.Since(began))
		if info, err := os.Stat(filepath.Join(dir, "todo.db-wal")); err == nil {
			log = max(log, info.Size())
		}
	}
	after := sizeOf(t, filepath.Join(dir, "todo.db"))
	t.Logf("%d lists; %d writes meanwhile, the longest waited %v; the file %d → %d kB, its log up to %d kB", lists, writes, longest, before/1000, after/1000, log/1000)
	if writes < 20 || longest > 2*time.Second {
		t.Errorf("131: %d writes, the longest waited %v", writes, longest)
	}
	if after > before/2 {
		t.Errorf("131: the file has %d of %d bytes still", after, before)
	}
	if log > 32e6 {
		t.Errorf("131: the log grew to %d bytes", log)
	}
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
