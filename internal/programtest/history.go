//go:build linux

package programtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Parts is how many items each write of a [Writer] has. A store must keep all of them or none.
const Parts = 3

// Writer makes writes whose texts no other write has, so that a history can be searched for each write.
type Writer struct {
	Name   string
	Serial int
}

// Next returns the tool call of the next write, and the write's id. Every fourth write adds to the list; the others
// replace the whole list.
func (w *Writer) Next() (tool, args, write string) {
	w.Serial++
	write = fmt.Sprintf("%s-%d", w.Name, w.Serial)
	var items []string
	for part := range Parts {
		text := fmt.Sprintf("%s.%d", write, part)
		if w.Serial%4 == 0 {
			items = append(items, fmt.Sprintf("%q", text))
		} else {
			items = append(items, fmt.Sprintf(`{"content":%q,"activeForm":%q,"status":"pending"}`, text, text))
		}
	}
	if w.Serial%4 == 0 {
		return "create_todos", `{"items":[` + strings.Join(items, ",") + `]}`, write
	}
	return "TodoWrite", `{"todos":[` + strings.Join(items, ",") + `]}`, write
}

// Acknowledged is a write that was answered, with the list and the revision that the answer named.
type Acknowledged struct {
	List     string
	Revision int64
	Write    string
}

// Journal collects the acknowledged writes of several clients.
type Journal struct {
	mu   sync.Mutex
	Acks []Acknowledged
}

// Add adds a write and returns the new number of writes.
func (j *Journal) Add(a Acknowledged) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.Acks = append(j.Acks, a)
	return len(j.Acks)
}

// All returns a copy of the writes so far.
func (j *Journal) All() []Acknowledged {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.Acks)
}

// Len returns how many writes there are.
func (j *Journal) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.Acks)
}

// History has for each revision of each list, by write, how many items of the write the revision has.
type History map[string][]map[string]int

// Export reads the whole history of a store, given as for --store. It runs the command export in dir as a given user.
func Export(program, dir string, as *User, store string) (History, error) {
	cmd := exec.Command(program, "export", "--store", store)
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

func readHistory(in io.Reader) (History, error) {
	h := History{}
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

// Lost returns the acknowledged writes that are missing in the revision that the answer named.
func (h History) Lost(acks []Acknowledged) (lost []Acknowledged) {
	for _, a := range acks {
		if a.Revision < 1 || int64(len(h[a.List])) < a.Revision || h[a.List][a.Revision-1][a.Write] != Parts {
			lost = append(lost, a)
		}
	}
	return lost
}

// Torn describes each write of which a revision has some items but not all.
func (h History) Torn() (torn []string) {
	for list, revisions := range h {
		for i, writes := range revisions {
			for write, n := range writes {
				if n != Parts {
					torn = append(torn, fmt.Sprintf("%s in revision %d of %s: %d items of %d", write, i+1, list, n, Parts))
				}
			}
		}
	}
	return torn
}

// Made returns how often a write was made: in how many revisions it is new, compared with the list's previous revision.
func (h History) Made(write string) (n int) {
	for _, revisions := range h {
		for i, writes := range revisions {
			if writes[write] > 0 && (i == 0 || revisions[i-1][write] == 0) {
				n++
			}
		}
	}
	return n
}

// Check fails a test if an acknowledged write is lost or any write is stored in part. It returns how many are lost.
func (h History) Check(t testing.TB, acks []Acknowledged) (lost int) {
	t.Helper()
	if lost := h.Lost(acks); len(lost) > 0 {
		t.Errorf("%d of %d acknowledged writes are lost, the first is %+v", len(lost), len(acks), lost[0])
	}
	if torn := h.Torn(); len(torn) > 0 {
		t.Errorf("%d writes are there in part, the first is %s", len(torn), torn[0])
	}
	return len(h.Lost(acks))
}
