//go:build e2e && linux

package faults

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	_ "modernc.org/sqlite" // checks the file without todo-mcp
)

// parts is how many items each write of a [writer] has. They are written together
// or not at all.
const parts = 3

// writer makes writes that a history can be searched for: the texts of each are
// its own.
type writer struct {
	name   string
	serial int
}

// next returns a call of the next write and its id. It is mostly a whole list in
// place of the last, now and then an addition to it.
func (w *writer) next() (tool, args, write string) {
	w.serial++
	write = fmt.Sprintf("%s-%d", w.name, w.serial)
	var items []string
	for part := range parts {
		text := fmt.Sprintf("%s.%d", write, part)
		if w.serial%4 == 0 {
			items = append(items, fmt.Sprintf("%q", text))
		} else {
			items = append(items, fmt.Sprintf(`{"content":%q,"activeForm":%q,"status":"pending"}`, text, text))
		}
	}
	if w.serial%4 == 0 {
		return "create_todos", `{"items":[` + strings.Join(items, ",") + `]}`, write
	}
	return "TodoWrite", `{"todos":[` + strings.Join(items, ",") + `]}`, write
}

// write makes the next write. When it is refused or no answer comes, it returns an
// error and the write's id.
func (w *writer) write(c client) (done acknowledged, write string, err error) {
	tool, args, write := w.next()
	a, err := c.call(tool, args, inOperation(write))
	if err == nil {
		err = a.refused()
	}
	return acknowledged{a.list(), a.revision(), write}, write, err
}

// acknowledged is a write that was answered: it is in that revision of the list.
type acknowledged struct {
	list     string
	revision int64
	write    string
}

// journal collects the acknowledged writes of several clients.
type journal struct {
	mu   sync.Mutex
	acks []acknowledged
}

// add adds a write and returns how many there are now.
func (j *journal) add(a acknowledged) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.acks = append(j.acks, a)
	return len(j.acks)
}

func (j *journal) len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.acks)
}

// history is the writes in each revision of each list: how many items of each.
type history map[string][]map[string]int

// export reads the whole history of a store as a fresh process tells it.
func export(t *testing.T, path string) (history, error) {
	t.Helper()
	return exportAs(t.TempDir(), nil, path)
}

func exportAs(dir string, as *user, path string) (history, error) {
	cmd := exec.Command(program, "export", "--store", "sqlite:"+path)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("export: %w %s", err, failed.String())
	}
	return readHistory(bytes.NewReader(out))
}

func readHistory(in io.Reader) (history, error) {
	h := history{}
	for lines := json.NewDecoder(in); ; {
		var r struct {
			List     struct{ ID string }
			Revision int64
			Items    []struct{ Text string }
		}
		err := lines.Decode(&r)
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err != nil {
			return nil, err
		}
		if want := int64(len(h[r.List.ID]) + 1); r.Revision != want {
			return nil, fmt.Errorf("list %s has revision %d in place of %d", r.List.ID, r.Revision, want)
		}
		writes := map[string]int{}
		for _, i := range r.Items {
			write, _, _ := strings.Cut(i.Text, ".")
			writes[write]++
		}
		h[r.List.ID] = append(h[r.List.ID], writes)
	}
}

// lost returns the acknowledged writes that are not in the revision that their
// answer named.
func (h history) lost(acks []acknowledged) (lost []acknowledged) {
	for _, a := range acks {
		if a.revision < 1 || int64(len(h[a.list])) < a.revision || h[a.list][a.revision-1][a.write] != parts {
			lost = append(lost, a)
		}
	}
	return lost
}

// torn returns the writes of which a revision has some items and not the others.
func (h history) torn() (torn []string) {
	for list, revisions := range h {
		for i, writes := range revisions {
			for write, n := range writes {
				if n != parts {
					torn = append(torn, fmt.Sprintf("%s in revision %d of %s: %d items of %d", write, i+1, list, n, parts))
				}
			}
		}
	}
	return torn
}

// made returns how many revisions of all lists first have a write.
func (h history) made(write string) (n int) {
	for _, revisions := range h {
		for i, writes := range revisions {
			if writes[write] > 0 && (i == 0 || revisions[i-1][write] == 0) {
				n++
			}
		}
	}
	return n
}

// checkStore checks the file at path after a fault, which no process has open: a
// fresh process reads every acknowledged write, no revision is missing, no write is
// there in part, and the file is whole. It returns how many writes were lost.
func checkStore(t *testing.T, path string, acks []acknowledged) (history, int) {
	t.Helper()
	return checkStoreAs(t, t.TempDir(), nil, path, acks)
}

func checkStoreAs(t *testing.T, dir string, as *user, path string, acks []acknowledged) (history, int) {
	t.Helper()
	h, err := exportAs(dir, as, path)
	if err != nil {
		t.Errorf("the store cannot be read any more: %v", err)
		return nil, len(acks)
	}
	lost := h.lost(acks)
	if len(lost) > 0 {
		t.Errorf("%d of %d acknowledged writes are lost, the first is %+v", len(lost), len(acks), lost[0])
	}
	if torn := h.torn(); len(torn) > 0 {
		t.Errorf("%d writes are there in part, the first is %s", len(torn), torn[0])
	}
	checkIntegrity(t, path)
	return h, len(lost)
}

// checkIntegrity has SQLite check the file, if there is one.
func checkIntegrity(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity_check: %s, %v", verdict, err)
	}
}

// The check finds what it is to find: a lost write, one that is there in part, and
// a missing revision.
func TestHistoryFindsLosses(t *testing.T) {
	const good = `{"list":{"id":"l"},"revision":1,"items":[{"text":"a-1.0"},{"text":"a-1.1"},{"text":"a-1.2"}]}
{"list":{"id":"l"},"revision":2,"items":[{"text":"a-1.0"},{"text":"a-1.1"},{"text":"a-1.2"},{"text":"b-1.0"}]}
`
	h, err := readHistory(strings.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	there := acknowledged{"l", 1, "a-1"}
	all := []acknowledged{there, {"l", 2, "b-1"}, {"l", 3, "a-1"}, {"m", 1, "a-1"}, {"l", 1, "c-1"}, {}}
	if lost := h.lost(all); !slices.Equal(lost, all[1:]) {
		t.Errorf("lost: %v", lost)
	}
	if torn := h.torn(); len(torn) != 1 || !strings.HasPrefix(torn[0], "b-1 in revision 2") {
		t.Errorf("in part: %v", torn)
	}
	if h.made("a-1") != 1 || h.made("c-1") != 0 {
		t.Errorf("made %d and %d times", h.made("a-1"), h.made("c-1"))
	}
	if _, err := readHistory(strings.NewReader(strings.Replace(good, `"revision":2`, `"revision":3`, 1))); err == nil {
		t.Error("a missing revision was not found")
	}
}
