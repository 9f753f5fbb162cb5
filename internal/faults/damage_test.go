//go:build e2e && linux

package faults

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
)

func onStore(store string, args ...string) (printed string, err error) {
	cmd := exec.Command(program, append(args, "--store", store)...)
	cmd.Dir = os.TempDir()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// succeeds checks that the program does what a line of arguments asks of a store.
func succeeds(t *testing.T, store, line string) {
	t.Helper()
	if printed, err := onStore(store, strings.Fields(line)...); err != nil {
		t.Errorf("%s: %v\n%s", line, err, printed)
	}
}

// damageRow changes the body of a list's revision behind the store's back: a letter in
// SQLite, where each row has a checksum, and half of it in PostgreSQL.
func damageRow(t *testing.T, store, list string, revision int) {
	t.Helper()
	file, isFile := strings.CutPrefix(store, "sqlite:")
	if !isFile {
		command(t, nil, "psql", "--quiet", fmt.Sprintf("--command=UPDATE todo_mcp.history SET body = left(body, 40) WHERE list = '%s' AND revision = %d", list, revision), store)
		return
	}
	db := must(sql.Open("sqlite", file))(t)
	defer db.Close()
	must(db.Exec("PRAGMA busy_timeout = 10000; UPDATE history SET body = replace(body, '0', '1') WHERE list = ? AND revision = ?", list, revision))(t)
}

// pageOf returns the commands of a section of the operator's page, in a language.
func pageOf(t *testing.T, section, language string) string {
	t.Helper()
	page := must(os.ReadFile(filepath.Join("..", "..", "docs", "operations.md")))(t)
	_, rest, _ := strings.Cut(string(page), "\n## "+section+"\n")
	commands := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(rest)
	if commands == nil {
		t.Fatalf("no commands under %s", section)
	}
	return commands[1]
}

// BAD-INPUT 130: Flipped bits: a row whose checksum does not fit → It is left out and
// [said](../operations.md#damage); all else goes on. `check` reads every row; `restore`, or
// `export --keep-going` and `import`, mend
func TestDamagedRow(t *testing.T) {
	for name, begin := range newStores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := begin(t)
			s := mustServe(t, "--store", store)
			chats, ids := make([]*chattest.Chat, 12), make([]string, 12)
			for i := range chats {
				chats[i] = s.session(t, "")
				chats[i].Writes(fmt.Sprintf("p:Step %d one p:Step %d two", i, i))
				chats[i].Sets("1", "completed")
				chats[i].Adds("Ship")
				ids[i] = chats[i].Current()
			}
			before := must(export(t, store))(t)
			newest, earlier := ids[4], ids[7]
			damageRow(t, store, newest, 3)
			damageRow(t, store, earlier, 2)
			s.Kill() // what it saved last it still has
			s = mustServe(t, "--store", store)
			says := func(command, text string) {
				t.Helper()
				if printed, _ := onStore(store, strings.Fields(command)...); !strings.Contains(printed, text) {
					t.Errorf("%s does not say %q:\n%s", command, text, printed)
				}
			}
			for _, c := range []string{
				"lists", "show " + ids[0], "show " + earlier, "history " + ids[0], "history " + newest, "today", "lists --search Step",
				"rename " + ids[0] + " Renamed", "archive " + ids[1], "restore " + ids[2] + " 1", "prune --older-than 1 --yes",
			} {
				succeeds(t, store, c)
			}
			for c, text := range map[string]string{"lists --json": "left out", "history " + earlier: "left out", "doctor": "damaged", "show " + newest: "damaged", "check": newest, "export": "--keep-going"} {
				says(c, text)
			}
			for _, c := range []struct{ path, want string }{{"/api/lists", "Step 0"}, {"/", "Step 0"}, {"/readyz", "damaged and left out"}, {"/metrics", `\ntodo_store_damaged_rows [12]\n`}} {
				if status, text := get(s.url + c.path); status != 200 || !regexp.MustCompile(c.want).MatchString(text) {
					t.Errorf("%s: %d %s", c.path, status, text)
				}
			}
			for _, i := range []int{3, 4, 7} { // one of each kind goes on
				chats[i].At(s.endpoint("")).Writes("p:Step " + fmt.Sprint(i) + " two p:Three")
			}
			succeeds(t, store, "restore "+newest+" 1")
			says("show "+newest, "Step 4 two")
			says("history "+newest, "command line restore")
			says("check", newest)
			s.Kill()
			restored := begin(t)
			follow(t, pageOf(t, "Damage", "sh"), "TODO_STORE="+store, "NEW="+restored)
			after := must(export(t, restored))(t)
			for i, id := range ids {
				want, got := before[id], after[id]
				switch id {
				case newest:
					want = want[:2]
				case earlier:
					want, got = want[2:], got[2:]
				}
				if len(got) < len(want) || cmp.Diff(want, got[:len(want)]) != "" {
					t.Errorf("list %d is another one: %s", i, cmp.Diff(want, got))
				}
			}
			succeeds(t, store, "delete "+newest+" --purge --yes")
		})
	}
}

// newStores returns for each kind of store what begins one.
func newStores() map[string]func(t *testing.T) (store string) {
	return map[string]func(*testing.T) string{
		"a file":     func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "todo.db") },
		"PostgreSQL": func(t *testing.T) string { address, _ := newPostgres(t); return address },
	}
}

// follow runs the commands of a page one after the other; check may find what is wrong.
func follow(t *testing.T, commands string, environment ...string) {
	t.Helper()
	dir := t.TempDir()
	check(t, os.Symlink(program, filepath.Join(dir, "todo-mcp")))
	for line := range strings.Lines(commands) {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = dir
		cmd.Env = append([]string{"HOME=" + dir, "PATH=" + dir + ":" + os.Getenv("PATH")}, environment...)
		if printed, err := cmd.CombinedOutput(); err != nil && !strings.HasPrefix(line, "todo-mcp check  ") {
			t.Errorf("%s: %v\n%s", line, err, printed)
		}
	}
}
