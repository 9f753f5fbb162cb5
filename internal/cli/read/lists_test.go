package read_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/programtest"
	"todo-mcp/internal/store/sqlite"
	"todo-mcp/internal/todo"
)

// Of very many lists the last 2,000 are looked at when nothing is asked for, which is said;
// whoever asks for some, or for all, finds the others.
func TestManyLists(t *testing.T) {
	file := filepath.Join(t.TempDir(), "todo.db")
	store, err := sqlite.Open(file, todo.Keep{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	save := func(from, to int) {
		t.Helper()
		err := store.Update(t.Context(), todo.Key{Conversation: "c"}, func(tx todo.Tx) error {
			for n := from; n < to; n++ {
				_, err := tx.Save(t.Context(), todo.Snapshot{List: todo.List{ID: fmt.Sprintf("list%06d", n), Workspace: "/src/app", Created: time.Now()}, Revision: 1,
					Updated: time.Now(), Items: []todo.Item{{ID: "1", Text: fmt.Sprintf("Step of %06d", n), Status: todo.Pending}}})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	const oldest, note = "Step of 000000 ", "The last 2000 lists were looked at; --all shows all."
	lists := func(has, says bool, args ...string) {
		t.Helper()
		got := programtest.Succeeds(t, append(append([]string{"lists"}, args...), "--store", "sqlite:"+file)...)
		if strings.Contains(got, oldest) != has || strings.Contains(got, note) != says || !strings.Contains(got, "Step of 001998 ") {
			t.Errorf("%q: the oldest %t, said %t", args, strings.Contains(got, oldest), strings.Contains(got, note))
		}
	}
	save(0, 1999)
	lists(true, false)
	save(1999, 2001)
	lists(false, true)
	for _, asked := range []string{"--all", "--state=open", "--project=app", "--search=Step"} {
		lists(true, false, asked)
	}
}
