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

// A long history shows its last 100 revisions, each with what it changed, and says how to
// see all; as JSON it is whole.
func TestLongHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "todo.db")
	store, err := sqlite.Open(file, todo.Keep{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	const newest = 250
	err = store.Update(t.Context(), todo.Key{Conversation: "c"}, func(tx todo.Tx) error {
		for n := range int64(newest) {
			_, err := tx.Save(t.Context(), todo.Snapshot{List: todo.List{ID: "list000001", Created: time.Now()}, Revision: n + 1,
				Updated: time.Now(), Items: []todo.Item{{ID: "1", Text: fmt.Sprint("Step ", n+1), Status: todo.Pending}}})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	show := func(args ...string) string {
		t.Helper()
		return programtest.Succeeds(t, append([]string{"history", "list000001", "--store", "sqlite:" + file}, args...)...)
	}
	short := show()
	if n := strings.Count(short, "\nrevision "); n != 100 || !strings.Contains(short, "What was before revision 151 is shown by --all.\n\nrevision 151 ") || !strings.Contains(short, "Step 150 → Step 151") {
		t.Errorf("%d revisions: %.500s", n, short)
	}
	if all := show("--all"); strings.Count(all, "\nrevision ") != newest || strings.Contains(all, "--all") {
		t.Errorf("all: %.500s", all)
	}
	if n := strings.Count(show("--json"), `"revision":`); n != newest {
		t.Errorf("%d revisions as JSON", n)
	}
}
