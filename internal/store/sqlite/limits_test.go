package sqlite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

// large returns revision 1 of a list as large as one may be.
func large(id string) todo.Snapshot {
	s := snapshot(id, 1)
	s.Items = nil
	for n := range todo.MaxSize / todo.MaxText {
		s.Items = append(s.Items, todo.Item{ID: fmt.Sprint(n + 1), Text: fmt.Sprintf("%02d %s", n, strings.Repeat("x", todo.MaxText-3)), Status: todo.Pending})
	}
	return s
}

// sizes returns the sizes of a store's file and of its log.
func sizes(t testing.TB, path string) (file, log int64) {
	t.Helper()
	for suffix, size := range map[string]*int64{"": &file, "-wal": &log} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		*size = info.Size()
	}
	return file, log
}

// BAD-INPUT 66: changes of the largest list write no more than its revisions, and the
// log does not stay as large as it was; every revision is read as it was written.
func TestLargeRevisions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s := open(t, path)
	defer s.Close()
	next := large("a")
	const changes = 100
	for n := range changes {
		next.Items = append([]todo.Item{}, next.Items...)
		next.Items[n%len(next.Items)].Text = fmt.Sprintf("%0200d", n)
		if _, err := storetest.Save(t.Context(), s, next); err != nil {
			t.Fatal(err)
		}
		next.Revision++
	}
	file, log := sizes(t, path)
	if whole := int64(todo.MaxSize); file > changes*whole*5/4 || log > 2*maxLog {
		t.Errorf("66: %d revisions of a list of 256 kB: the file has %d bytes, the log %d", changes, file, log)
	}
	t.Logf("%d revisions of a list of 256 kB: file %d kB, log %d kB", changes, file/1000, log/1000)
	want := large("a").Items
	for n := range changes {
		want[n%len(want)].Text = fmt.Sprintf("%0200d", n)
		if got, err := s.Load(t.Context(), "a", int64(n+1)); err != nil || !cmp.Equal(want, got.Items) {
			t.Fatalf("66: revision %d is not as it was written, %v", n+1, err)
		}
	}
}

// contents is all that a store returns.
func contents(t testing.TB, s *Store) (string, error) {
	t.Helper()
	found, err := s.Find(t.Context(), todo.Query{Deleted: true})
	if err != nil {
		return "", err
	}
	text := ""
	for _, f := range found {
		revisions, err := s.History(t.Context(), f.List.ID, 0, 0)
		if err != nil {
			return "", err
		}
		cursors, err := s.Cursors(t.Context(), todo.Key{Principal: f.List.Principal, Conversation: f.List.Conversation})
		if err != nil {
			return "", err
		}
		if len(revisions) == 0 || !cmp.Equal(revisions[len(revisions)-1], f) {
			return "", errors.New("the newest revision is not the newest")
		}
		text += fmt.Sprintf("%+v %+v\n", revisions, cursors)
	}
	return text, nil
}

// BAD-INPUT 78: of bits that flip in the file, each is noticed by a read or by a
// check, or does not matter.
func TestFlippedBits(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "todo.db")
	s := open(t, path)
	for n := range 12 {
		next := snapshot(fmt.Sprint("list", n), 1)
		next.List.Conversation, next.Operation.ID = fmt.Sprint("session:", n), fmt.Sprint("op", n)
		for i := range 40 {
			next.Items = append(next.Items, todo.Item{ID: fmt.Sprint(i + 1), Text: fmt.Sprintf("%d %d %0150d", n, i, i), Status: todo.Pending})
		}
		for r := range 4 {
			next.Items = append([]todo.Item{}, next.Items...)
			next.Items[r].Status = todo.Completed
			cursor := todo.Cursor{Key: todo.Key{Conversation: next.List.Conversation}, List: next.List.ID, Current: true, Seen: next.Revision}
			if _, err := storetest.Save(t.Context(), s, next, cursor); err != nil {
				t.Fatal(err)
			}
			next.Revision++
			next.Operation.ID += "x"
		}
	}
	want, err := contents(t, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	read, checked, harmless := 0, 0, 0
	for range 60 {
		bit := random.IntN(8 * len(data))
		damaged := append([]byte{}, data...)
		damaged[bit/8] ^= 1 << (bit % 8)
		copied := filepath.Join(t.TempDir(), "todo.db")
		if err := os.WriteFile(copied, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(copied)
		if err != nil {
			read++
			continue
		}
		got, readErr := contents(t, s)
		problems := 0
		_, checkErr := s.Check(t.Context(), func(string) { problems++ })
		switch {
		case readErr != nil:
			read++
		case problems > 0 || checkErr != nil:
			checked++
		case got == want:
			harmless++
		default:
			t.Errorf("78: bit %d of byte %d: nobody noticed\n%s", bit%8, bit/8, cmp.Diff(want, got))
		}
		s.Close()
	}
	t.Logf("60 bits: %d noticed when read, %d when checked, %d in nobody's bytes", read, checked, harmless)
	if read < 30 {
		t.Errorf("78: only %d of 60 were noticed when read", read)
	}
}
