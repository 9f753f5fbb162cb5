//go:build e2e && linux

package replicas

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

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
