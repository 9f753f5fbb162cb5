//go:build e2e && linux

package replicas

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

// D5: agents of three replicas share the steps of a list.
func TestClaims(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, newDatabase(t).address, "--tools", "all")
	var agents []*chattest.Chat
	for n := range 6 {
		agents = append(agents, converse(t, f.replicas[n%3], "work"))
	}
	calls := chattest.Claims(t, agents, programtest.Size(40, 400))
	report.Add(t, programtest.Row{Fault: "claims at once", Tried: "6 agents of 3 replicas take, do and give back steps of one list", Acknowledged: calls,
		Notes: "linearizable, checked by porcupine"})
}

func converse(t testing.TB, r *replica, list string) *chattest.Chat {
	t.Helper()
	return chattest.OverHTTP(t, chattest.Session, "tester", r.endpoint(list))
}

func (r *replica) endpoint(list string) string {
	if list == "" {
		return r.url.String() + "/mcp"
	}
	return r.url.String() + "/mcp?list=" + list
}

// BAD-INPUT 53: a replica that gets its first session while the database is down
// knows the sessions of the others when it is back.
func TestSessionWhileTheDatabaseIsDown(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	f := newFleet(t, 2, db.address)
	a := converse(t, f.replicas[0], "plan")
	b := a.At(f.replicas[1].endpoint("plan"))
	a.Writes("p:one")
	check(t, db.Stop("fast"))
	_, _ = b.Try("SetTodoList", `{}`) // fails
	check(t, db.Start())
	f.until("both replicas are ready", func() bool { return f.replicas[0].isReady() && f.replicas[1].isReady() })
	a.Writes("p:one p:by a")
	b.Writes("p:one p:by b")
}

// Of a list that a conversation comes to have through one replica, its stream at another is
// told what is then written to it.
func TestAListTakenUpElsewhere(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, newDatabase(t).address)
	a, b := f.replicas[0], f.replicas[1]
	writer := converse(t, a, "plan")
	writer.Writes("p:one")
	for _, era := range []chattest.Transport{chattest.Session, chattest.Sessionless} {
		t.Run(string(era), func(t *testing.T) {
			c := chattest.OverHTTP(t, era, "tester", a.endpoint("")).Conversation(string(era))
			c.Subscribes("todo://list")
			c.At(b.endpoint("")).Resume("plan").Says("one")
			for n := range 2 {
				writer.At(b.endpoint("plan")).Writes(fmt.Sprint("p:one p:", era, n))
				c.Updated()
			}
		})
	}
}

// command runs the program and returns what it prints. A person who edits a list adds an
// item to it.
func command(t *testing.T, in []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = t.TempDir(), []string{"HOME=" + t.TempDir(), `EDITOR=/bin/sed -i 1i-\x20[\x20]\x20by\x20a\x20person`, "TODO_MAX_ITEMS=0", "TODO_MAX_CONTENT_LENGTH=0"}, bytes.NewReader(in)
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v %s", strings.Join(args, " "), err, failed.String())
	}
	return out
}

// export | import moves a person from SQLite to PostgreSQL and back: what export
// writes of the copies is the same to the byte, every revision with its time, writer
// and title, and each name still means its list.
func TestMoveToPostgresAndBack(t *testing.T) {
	t.Parallel()
	from, to, back := "sqlite:"+filepath.Join(t.TempDir(), "from.db"), newDatabase(t).address, "sqlite:"+filepath.Join(t.TempDir(), "back.db")
	for _, write := range [][]string{
		{"TodoWrite", "--list", "plan", `{"todos":[{"content":"Write <tests> & 试 🚀","activeForm":"Writing","status":"in_progress"},{"content":"B","activeForm":"B","status":"pending"}]}`},
		{"TodoWrite", "--list", "plan", `{"todos":[{"content":"Write <tests> & 试 🚀","activeForm":"Writing","status":"completed"},{"content":"B","activeForm":"B","status":"in_progress"}]}`},
		{"rename", "plan", "A title of a person's own"},
		{"TodoWrite", "--list", "done", `{"todos":[{"content":"Done","activeForm":"Doing","status":"completed"}]}`},
		{"TodoWrite", "--list", "large", `{"todos":[` + strings.Repeat(`{"content":"`+strings.Repeat("x", 300)+`","activeForm":"X","status":"pending"},`, 90) + `{"content":"last","activeForm":"L","status":"pending"}]}`},
		{"TodoWrite", "--list", "large", `{"todos":[` + strings.Repeat(`{"content":"`+strings.Repeat("x", 300)+`","activeForm":"X","status":"pending"},`, 90) + `{"content":"last","activeForm":"L","status":"completed"}]}`},
		{"archive", "done"},
	} {
		command(t, nil, append(write, "--store", from)...)
	}
	original := command(t, nil, "export", "--store", from)
	if n := bytes.Count(original, []byte("\n")); n < 7 {
		t.Fatalf("%d revisions are exported", n)
	}
	previous := from
	for _, store := range []string{to, back} {
		command(t, command(t, nil, "export", "--store", previous), "import", "--store", store)
		if got := command(t, nil, "export", "--store", store); !bytes.Equal(got, original) {
			t.Errorf("what %s exports differs from what was imported:\n%s\n%s", store, got, original)
		}
		previous = store
	}
	for _, store := range []string{to, back} {
		command(t, nil, "TodoWrite", "--list", "plan", "--store", store, `{"todos":[{"content":"Next","activeForm":"N","status":"pending"}]}`)
		if got := command(t, nil, "show", "plan", "--store", store); !bytes.Contains(got, []byte("Next")) || !bytes.Contains(got, []byte("A title of a person's own")) {
			t.Errorf("the name means another list: %s", got)
		}
	}
	if same := command(t, nil, "export", "--store", from); !bytes.Equal(same, original) {
		t.Error("the first store has changed")
	}
}
