package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Plan returns the items of a plan with texts of usual length, the first item in progress.
func Plan(items int) (plan []todo.Item) {
	for n := range items {
		plan = append(plan, todo.Item{ID: fmt.Sprint(n + 1), Text: fmt.Sprint("Step ", n+1, ": change what the plan says"),
			Active: fmt.Sprint("Changing what the plan says in step ", n+1), Status: todo.Pending, Created: baseTime})
	}
	plan[0].Status, plan[0].Started = todo.InProgress, baseTime
	return plan
}

// ProjectSize is how many lists a project of [Crowd] has.
const ProjectSize = 10

// ProjectName returns the name of project n of [Crowd]. Lists and conversations of two projects differ only in this
// name. All names have the same length.
func ProjectName(n int) string { return fmt.Sprintf("project%07d", n) }

// Crowd returns the first revision of list n of a store with many lists, and the Seen of the chat that holds the list.
// Every ten lists form a project, whose last list belongs to a sub-agent of the project's first chat.
func Crowd(n int) (todo.Snapshot, board.Seen) {
	name, member := ProjectName(n/ProjectSize), n%ProjectSize
	conversation := func(member int) string { return fmt.Sprint("session:", name, "-", member) }
	s := todo.Snapshot{
		List: todo.List{ID: fmt.Sprint("list-", name, "-", member), Conversation: conversation(member), Client: "tester",
			Workspace: "/work/" + name, Created: baseTime},
		Revision: 1, Items: Plan(5), LastID: 5, Updated: baseTime.Add(time.Duration(member) * time.Second),
		Writer: todo.Writer{Client: "tester", Variant: "TodoWrite", Process: "p"},
	}
	if member == ProjectSize-1 {
		s.List.Agent, s.List.ParentConversation = "tests", conversation(0)
	}
	return s, current(conversation(member), s.List.ID)
}

// Step is an operation on a store that tool calls or front ends need. Do runs it for the n-th time; the store has the
// lists of [Crowd].
type Step struct {
	Name string
	Do   func(t testing.TB, s board.Store, n int)
}

// Steps returns the operations that must not take longer in a store with more lists.
func Steps() []Step {
	own := ""
	held, _ := Crowd(33)
	workspace := held.List.Workspace
	main, _ := Crowd(30)
	return []Step{
		{"begin a list", beginAnother},
		{"write a held list", writeHeld},
		{"read a held list", readHeld},
		{"read what was saved last", readNewest},
		{"read a history", func(t testing.TB, s board.Store, _ int) {
			revisions, err := s.History(t.Context(), held.List.ID, 0, 10)
			checkFound(t, len(revisions), 1, err)
		}},
		// The queries for lists to continue, repeated calls, a status line, the panel and a resumed stream.
		finds("lists that may be continued", ProjectSize, board.Query{Principal: &own, Client: "tester", Workspace: &workspace,
			UpdatedSince: baseTime.Add(-board.CandidateAge), Limit: 100}),
		finds("a repeated call", 0, board.Query{Operation: "none"}),
		finds("lists of a project", ProjectSize, board.Query{Principal: &own, Workspace: &workspace, Limit: 100}),
		finds("the newest lists", 60, board.Query{Principal: &own, Limit: 60}),
		finds("the newest lists of everyone", 60, board.Query{Limit: 60}),
		finds("earlier lists", 20, board.Query{Principal: &own, BeforeSeq: 40, Limit: 20}),
		finds("lists after a Seq", 20, board.Query{Principal: &own, AfterSeq: 40, OldestFirst: true, Limit: 20}),
		finds("lists of sub-agents", 1, board.Query{Principal: &own, Parent: main.List.ID}),
		{"read who holds a list", func(t testing.TB, s board.Store, _ int) {
			on, err := s.SeenOn(t.Context(), "", main.List.ID)
			checkFound(t, len(on), 1, err)
		}},
		{"read a chat", func(t testing.TB, s board.Store, _ int) {
			c, err := s.Chat(t.Context(), held.List.Conversation)
			checkFound(t, len(c.Client), len("tester"), err)
		}},
		{"save a chat", func(t testing.TB, s board.Store, n int) {
			mustSaveChat(t, s, todo.Chat{ID: held.List.Conversation, Client: "tester", Asks: fmt.Sprint(n)})
		}},
		{"save a new chat", func(t testing.TB, s board.Store, n int) {
			mustSaveChat(t, s, todo.Chat{ID: fmt.Sprint("new", n), Used: time.Now()})
		}},
		{"read the chats that changed", func(t testing.TB, s board.Store, _ int) {
			newest := checktest.Must(s.Position(t.Context()))(t)
			checkFound(t, len(ids(t, s, board.ChatQuery{AfterSeq: newest - 1})), 1, nil)
		}},
		chatsOfLate("a user's", board.ChatQuery{Principal: &own, User: &own}),
		chatsOfLate("a principal's", board.ChatQuery{Principal: &own}),
		chatsOfLate("all", board.ChatQuery{}),
		{"set a key", func(t testing.TB, s board.Store, n int) {
			if err := SetKey(t.Context(), s, board.ChatKey{Text: fmt.Sprint(n)}, "c", time.Now().Add(time.Hour)); err != nil {
				t.Error(err)
			}
		}},
		{"purge a list", func(t testing.TB, s board.Store, n int) {
			gone, holder := Crowd(60 + n)
			mustSaveChat(t, s, todo.Chat{ID: holder.Chat})
			if purged, err := Purge(t.Context(), s, todo.Writer{}, time.Now(), gone.List.ID); err != nil || len(purged) != 1 {
				t.Errorf("%v, %v", purged, err)
			}
			if c, err := s.Chat(t.Context(), holder.Chat); err != nil || c.ID != "" {
				t.Errorf("%+v, %v", c, err)
			}
		}},
		finds("lists of sub-agents of everyone", 1, board.Query{Parent: main.List.ID, Deleted: true}),
	}
}

func finds(what string, want int, q board.Query) Step {
	return Step{"find " + what, func(t testing.TB, s board.Store, _ int) {
		found, err := s.Find(t.Context(), q)
		checkFound(t, len(found), want, err)
	}}
}

func chatsOfLate(whose string, q board.ChatQuery) Step {
	return Step{"read " + whose + " chats of late", func(t testing.TB, s board.Store, _ int) {
		q.UsedSince = time.Now().Add(-time.Hour)
		if all := ids(t, s, q); len(all) < 10 || len(all) > 12 {
			t.Errorf("%d chats", len(all))
		}
	}}
}

func checkFound(t testing.TB, got, want int, err error) {
	t.Helper()
	if err != nil || got != want {
		t.Fatalf("%d, want %d, %v", got, want, err)
	}
}

// beginAnother begins a list of a new conversation.
func beginAnother(t testing.TB, s board.Store, n int) {
	next, _ := Crowd(0)
	next.List.ID, next.List.Conversation = board.NewID(), fmt.Sprint("session:another", n)
	mustSave(t, s, next, current(next.List.Conversation, next.List.ID))
}

// writeHeld writes the next revision of the list that a conversation holds, as a call
// does.
func writeHeld(t testing.TB, s board.Store, n int) {
	_, holder := Crowd(55)
	mustUpdate(t, s, holder.Key, func(tx board.Tx) error {
		known, err := tx.Seen(t.Context(), holder.Key)
		if err != nil {
			return err
		}
		before, err := tx.Load(t.Context(), known[0].List, 0)
		if err != nil {
			return err
		}
		next := before
		next.Items = append([]todo.Item{}, before.Items...)
		next.Revision++
		next.Items[0].Text = fmt.Sprint("Step ", n)
		if _, err = tx.Save(t.Context(), next); err != nil {
			return err
		}
		holder.Revision = next.Revision
		return tx.See(t.Context(), holder)
	})
}

// readHeld reads the list that a conversation holds.
func readHeld(t testing.TB, s board.Store, _ int) {
	_, holder := Crowd(33)
	known, err := s.Seen(t.Context(), holder.Key)
	checkFound(t, len(known), 1, err)
	if _, err := s.Load(t.Context(), known[0].List, 0); err != nil {
		t.Fatal(err)
	}
}

// readNewest reads the newest list, as a board with watchers does after a save.
func readNewest(t testing.TB, s board.Store, _ int) {
	newest, err := s.Position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Find(t.Context(), board.Query{AfterSeq: newest - 1, OldestFirst: true, Deleted: true})
	checkFound(t, len(found), 1, err)
}

// RunCheck tests that a check of a store finds nothing at first, and then each damage to lists and revisions. exec runs
// SQL on the store's tables; schema is the prefix of their names.
func RunCheck(t *testing.T, s interface {
	board.Store
	Check(ctx context.Context, found func(problem string)) (revisions int, err error)
}, schema string, exec func(sql string)) {
	damages := map[string][2]string{
		"gap":     {"DELETE FROM %shistory WHERE list = 'gap' AND revision = 2", "revision 3 follows revision 1"},
		"body":    {"UPDATE %shistory SET body = '{' WHERE list = 'body' AND revision = 2", ""},
		"newest":  {"UPDATE %slists SET revision = 2 WHERE id = 'newest'", "its row does not name its newest revision"},
		"excerpt": {"UPDATE %slists SET excerpt = '{}' WHERE id = 'excerpt'", "its summary on pages with many lists differs"},
	}
	for id := range damages {
		for n := range int64(3) {
			mustSave(t, s, list(id, "x", n+1))
		}
	}
	check := func() (problems string) {
		revisions, err := s.Check(t.Context(), func(problem string) { problems += problem + "\n" })
		if err != nil || revisions < 3*len(damages)-1 {
			t.Errorf("a check read %d revisions, %v", revisions, err)
		}
		return problems
	}
	if found := check(); found != "" {
		t.Errorf("nothing is wrong: %s", found)
	}
	for id, d := range damages {
		exec(fmt.Sprintf(d[0], schema))
		if found := check(); !strings.Contains(found, id) || !strings.Contains(found, d[1]) {
			t.Errorf("%s: found %q", d[0], found)
		}
	}
}
