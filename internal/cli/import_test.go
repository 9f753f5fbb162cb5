package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
)

// breaking is a store that fails every save after some.
type breaking struct {
	todo.Store
	saves int
}

var errBroken = errors.New("disk on fire")

func (b *breaking) Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	if b.saves--; b.saves < 0 {
		return todo.Snapshot{}, errBroken
	}
	return b.Store.Save(ctx, next)
}

// When the store fails in the middle of an import, the error says how much was
// written, and a second import of the file writes the rest.
func TestImportGoesOnAfterAFault(t *testing.T) {
	var file bytes.Buffer
	encode := json.NewEncoder(&file)
	for n := range 4 {
		began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		if err := encode.Encode(todo.Snapshot{
			List:     todo.List{ID: "a", Scope: todo.Scope{Conversation: "name:a", Exclusive: true}, Created: began},
			Revision: int64(n + 3), Items: []todo.Item{}, Updated: began.Add(time.Duration(n) * time.Second),
		}); err != nil {
			t.Fatal(err)
		}
	}
	histories, err := readExport(&file)
	if err != nil {
		t.Fatal(err)
	}
	store := &breaking{Store: memory.New(), saves: 3}
	run := func() error {
		i := importer{store: store}
		plan, err := i.plan(t.Context(), histories)
		if err != nil {
			return err
		}
		return i.write(t.Context(), plan)
	}
	if err := run(); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "3 of 4 revisions were imported") {
		t.Errorf("a fault: %v", err)
	}
	store.saves = 4
	if err := run(); err != nil || store.saves != 3 {
		t.Errorf("the second import: %v, %d saves", err, 4-store.saves)
	}
	if got, err := store.History(t.Context(), "a", 0, 0); err != nil || len(got) != 4 || got[3].Revision != 4 {
		t.Errorf("after the second import: %v, %v", got, err)
	}
}
