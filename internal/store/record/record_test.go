package record_test

import (
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/record"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

var update = flag.Bool("update", false, "rewrite the golden record")

func fullSnapshot() todo.Snapshot {
	at := time.Date(2026, 11, 20, 9, 0, 0, 123456789, time.UTC)
	item := todo.Item{ID: "3", Text: "Deploy <b>", Active: "Deploying", Status: todo.Blocked, Reason: "no key", Priority: "high", DueDate: "2026-12-01", Owner: "reader", WaitsFor: "1,2",
		BegunBy: todo.PersonChat, PersonEdit: todo.PersonEdit{Text: "Deploy <b>", Replaced: "a\nb", Repeats: 1, Revision: 6}, Created: at, Started: at.Add(time.Second), Ended: at.Add(time.Minute)}
	return todo.Snapshot{
		List: todo.List{ID: "abc", Principal: "p", Conversation: "session:x", Client: "claude-code",
			Name: "release", ParentConversation: "session:main", Parent: "main", Agent: "searcher", Workspace: "/work/app", Mirrored: true, Previous: "before", Chat: "chat", Created: at},
		Revision: 7, Items: []todo.Item{item}, LastID: 9, Updated: at, Worked: at.Add(-time.Hour), GivenTitle: "Ship it",
		Order: todo.PersonEdit{Replaced: "3,1", Text: "1,3", Repeats: 1, Revision: 5}, Archived: true, ReplacedBy: "next", Deleted: true,
		Writer:    todo.Writer{Client: "claude-code", Variant: "TodoWrite", Agent: "searcher", User: "ann", Person: true, Process: "p1"},
		Other:     6,
		Operation: todo.Operation{ID: "op", Digest: "d"},
		Report: todo.Report{Dropped: []todo.Item{item}, Notes: []string{"a note"},
			By: todo.People, Unseen: []todo.Difference{{Kind: todo.Changed, Before: item, After: item}}, Titled: "Ship it", Ordered: []string{"a"},
			Kept: []todo.Difference{{Kind: todo.Moved}}, Elsewhere: "e", Continues: "c", PutAway: todo.PutAway{Title: "t", Open: []todo.Item{item}}},
		Seq: 12,
	}
}

// Existing files contain this format, so it must not change: a snapshot with most fields set is encoded as in the
// golden file and decoded without loss.
func TestStoredRow(t *testing.T) {
	want := fullSnapshot()
	body := checktest.Must(record.Body(want))(t)
	list := checktest.Must(record.Encode(want.List))(t)
	row := string(body) + "\n" + string(list) + "\n"
	golden := filepath.Join("testdata", "row.json")
	if *update {
		checktest.Check(t, os.WriteFile(golden, []byte(row), 0o644))
	}
	stored := checktest.Must(os.ReadFile(golden))(t)
	if diff := cmp.Diff(string(stored), row); diff != "" {
		t.Errorf("the stored format changed (-golden +now):\n%s", diff)
	}
	got := checktest.Must(record.Snapshot(body, list, want.Seq))(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the decoded snapshot differs (-want +got):\n%s", diff)
	}
}

// Worked is stored only in a person's revision. For an agent's revision, it is the time of the write (Updated).
func TestWorked(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for name, want := range map[string]todo.Snapshot{
		"an agent's":                       {Updated: at, Worked: at},
		"a person's":                       {Updated: at, Worked: at.Add(-time.Hour), Writer: todo.Writer{Person: true}},
		"a person's at the same time":      {Updated: at, Worked: at, Writer: todo.Writer{Person: true}},
		"a person's where no agent worked": {Updated: at, Writer: todo.Writer{Person: true}},
	} {
		want.Items = []todo.Item{}
		body := checktest.Must(record.Body(want))(t)
		got, err := record.Snapshot(body, []byte(`{}`), 0)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
		if stored := strings.Contains(string(body), "worked"); stored != (want.Writer.Person && !want.Worked.IsZero()) {
			t.Errorf("%s is stored as %s", name, body)
		}
	}
}

// Snapshot refuses damaged bytes as corrupt, or returns a snapshot that can be encoded and decoded again without a
// change.
func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(`{"revision":1,"items":[{"id":"1","text":"A","status":"pending"}],"last_id":1,"updated":"2026-01-02T03:04:05Z"}`), []byte(`{"id":"a","principal":"","created":"2026-01-02T03:04:05Z"}`))
	f.Add([]byte(`{"revision":-1,"items":null}`), []byte(`{"id":"a","scope":{},"previous":"b","chat":"c"}`))
	f.Add([]byte(`{"items":[{"text":"\ud800\u0000"}]} x`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, body, list []byte) {
		s, err := record.Snapshot(body, list, 7)
		if err != nil {
			if !errors.Is(err, board.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		bodyAgain, err1 := record.Body(s)
		listAgain, err2 := record.Encode(s.List)
		if err := errors.Join(err1, err2); err != nil {
			return // a year beyond 9999 cannot be encoded, so no store wrote it
		}
		again, err := record.Snapshot(bodyAgain, listAgain, 7)
		if s.Items == nil {
			s.Items = []todo.Item{}
		}
		if diff := cmp.Diff(s, again); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}

// UnixNano turns times outside the range of Unix nanoseconds into its bounds, so that they keep their order.
func TestUnixNano(t *testing.T) {
	for _, c := range []struct {
		t    time.Time
		want int64
	}{
		{time.Time{}, math.MinInt64},
		{time.Unix(0, math.MinInt64), math.MinInt64},
		{time.Unix(-1, 5), -999_999_995},
		{time.Unix(1, 5), 1_000_000_005},
		{time.Unix(0, math.MaxInt64), math.MaxInt64},
		{time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), math.MaxInt64},
	} {
		if got := record.UnixNano(c.t); got != c.want {
			t.Errorf("%v: %d, want %d", c.t, got, c.want)
		}
	}
}
