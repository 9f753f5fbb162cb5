package hook_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/hook"
)

// The schema of session.db as Copilot CLI 1.0.102 makes it.
const copilotSchema = `CREATE TABLE todos (id TEXT PRIMARY KEY, title TEXT NOT NULL, description TEXT,
	status TEXT DEFAULT 'pending' CHECK(status IN ('pending', 'in_progress', 'done', 'blocked')),
	created_at TEXT DEFAULT (datetime('now')), updated_at TEXT DEFAULT (datetime('now')));`

const copilotChat = "0d5b6c1a-77aa-4b11-8c55-2f5d3f1b9e10"

// copilotRig is a board and the home of a Copilot CLI.
type copilotRig struct {
	*rig
	file string // session.db
}

func newCopilotRig(t *testing.T) copilotRig {
	t.Helper()
	file := filepath.Join(t.TempDir(), "session-state", copilotChat, "session.db")
	checktest.Check(t, os.MkdirAll(filepath.Dir(file), 0o700))
	return copilotRig{newRig(t), file}
}

// exec runs SQL as the tool of the agent does.
func (r copilotRig) exec(script string) (db *sql.DB) {
	r.Helper()
	db = checktest.Must(sql.Open("sqlite", r.file))(r)
	db.SetMaxOpenConns(1)
	checktest.Must(db.Exec(script))(r)
	r.Cleanup(func() { db.Close() })
	return db
}

// tell sends an event to the hook.
func (r copilotRig) tell(event string) error {
	e := checktest.Must(hook.Read(strings.NewReader(event)))(r)
	home := filepath.Dir(filepath.Dir(filepath.Dir(r.file)))
	e, err := e.WithTodos(r.Context(), func(name string) string { return map[string]string{"COPILOT_HOME": home}[name] })
	if err != nil {
		return err
	}
	_, err = hook.Do(r.Context(), e, r.open)
	return err
}

// A list mirrors what Copilot CLI's tool sql made of the session's table todos.
func TestCopilot(t *testing.T) {
	r := newCopilotRig(t)
	insert, update := recorded(t, "copilot-sql-insert"), recorded(t, "copilot-sql-update")
	for n, event := range []string{insert, recorded(t, "copilot-session-end"), strings.ReplaceAll(insert, "todo", "note")} {
		if err := r.tell(event); err != nil || len(r.all()) > 0 { // there is no database
			t.Errorf("event %d: %v, %v", n, err, r.board())
		}
	}
	r.exec(copilotSchema + `INSERT INTO todos (id, title, status) VALUES ('write', 'Write the lexer', NULL), ('read', 'Read the grammar', 'in_progress')`)
	checktest.Check(t, r.tell(insert))
	r.exec(`UPDATE todos SET status = 'done' WHERE id = 'read'; INSERT INTO todos (id, title, status) VALUES ('ask', 'Ask', 'blocked')`)
	checktest.Check(t, r.tell(update))
	want := "list 1, \"Write the lexer +1\", of copilot-cli in /home/ada/parser, mirror:" + copilotChat + ", mirrored true, waiting, archived false\n" +
		"revision 2 by sql of copilot-cli , person false\n1 pending Write the lexer\n2 completed Read the grammar\n3 blocked Ask\n"
	checktest.Same(t, "the board", strings.Join(r.board(), ""), want)
}

// BAD-INPUT 115: Copilot CLI's session.db: huge, a folder, damaged, locked, of another schema,
// without end → Read for a second at most; nothing is changed, the log says why
func TestBadSessionDatabase(t *testing.T) {
	insert := recorded(t, "copilot-sql-insert")
	write := func(data string) func(copilotRig) {
		return func(r copilotRig) { checktest.Check(r, os.WriteFile(r.file, []byte(data), 0o600)) }
	}
	run := func(script string) func(copilotRig) { return func(r copilotRig) { r.exec(script) } }
	for name, prepare := range map[string]func(copilotRig){
		"a folder":    func(r copilotRig) { _ = os.Mkdir(r.file, 0o700) },
		"damaged":     write("SQLite format 3\x00" + strings.Repeat("secret", 1000)),
		"no database": write("secret"),
		"huge": func(r copilotRig) {
			write("")(r)
			_ = os.Truncate(r.file, 1<<30)
		},
		"locked":              run(copilotSchema + `INSERT INTO todos (id, title) VALUES ('a', 'secret'); BEGIN EXCLUSIVE`),
		"no table":            run(`CREATE TABLE x (title)`),
		"other columns":       run(`CREATE TABLE todos (id, name); INSERT INTO todos VALUES (1, 'secret')`),
		"no rowid":            run(`CREATE TABLE todos (title PRIMARY KEY, status) WITHOUT ROWID; INSERT INTO todos VALUES ('secret', 'pending')`),
		"a view without end":  run(`CREATE VIEW todos AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT 1 AS rowid, max(x) AS title, 'pending' AS status FROM n`),
		"a generated value":   run(`CREATE TABLE todos (n, status, title AS (hex(zeroblob(100000000)))); INSERT INTO todos VALUES (1, 'pending')`),
		"a large text":        run(copilotSchema + `INSERT INTO todos (id, title) VALUES ('a', replace(hex(zeroblob(2000000)), '00', 'secret'))`),
		"an unknown status":   run(`CREATE TABLE todos (title, status); INSERT INTO todos VALUES ('secret', 'begun')`),
		"no text":             run(copilotSchema + `INSERT INTO todos (id, title) VALUES ('secret', ' ')`),
		"nothing":             run(`CREATE TABLE todos (title, status); INSERT INTO todos VALUES (NULL, 'pending')`),
		"too many":            run(copilotSchema + `WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 100000) INSERT INTO todos (id, title) SELECT x, 'secret' FROM n`),
		"too much altogether": run(copilotSchema + `WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 900) INSERT INTO todos (id, title) SELECT x, hex(zeroblob(2000)) FROM n`),
	} {
		t.Run(name, func(t *testing.T) {
			r := newCopilotRig(t)
			prepare(r)
			if err := r.tell(insert); err == nil || strings.Contains(err.Error(), "secret") {
				t.Error(err)
			}
			r.expectNone()
		})
	}
	r := newCopilotRig(t)
	r.exec(copilotSchema + `INSERT INTO todos (id, title) VALUES ('a', 'Fix' || char(27) || CAST(x'ff' AS TEXT))`)
	if err := r.tell(insert); err != nil || len(r.all()) != 1 || r.all()[0].Items[0].Text != "Fix\ufffd" { // as row 98 has it
		t.Errorf("%v, %+v", err, r.all())
	}
	r = newCopilotRig(t)
	r.exec(copilotSchema + `INSERT INTO todos (id, title) VALUES ('a', 'secret')`)
	for _, session := range []string{"../session-state/" + copilotChat, filepath.ToSlash(filepath.Dir(r.file)), "..", "."} {
		if err := r.tell(strings.ReplaceAll(insert, copilotChat, session)); err != nil || len(r.all()) > 0 {
			t.Errorf("%s: %v, %v", session, err, r.board())
		}
	}
}
