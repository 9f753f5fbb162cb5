package run_test

import (
	"database/sql"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"todo-mcp/internal/programtest"
	"todo-mcp/server/servertest"
)

// exceeding is a server, and what asks more of it than a setting allows.
type exceeding struct {
	*testing.T
	*programtest.Server
	store string // path of the store's file
}

// bounds has for each setting that is a bound how a client exceeds it: refused returns
// what it is answered. Where refused is nil, no refusal names it, since it needs sign-in
// (server/auth tests it), or docs/spec/variants.md T2 and T3 word the refusal.
func bounds() map[string]struct {
	value   string
	refused func(e exceeding) string
} {
	type bound = struct {
		value   string
		refused func(e exceeding) string
	}
	return map[string]bound{
		"max-streams":     {"2", exceeding.streams},
		"request-timeout": {"1", exceeding.lockedStore},
		"max-lists":       {"1", exceeding.lists},
		"max-size":        {"1", exceeding.bytes},
		"max-rate":        {}, "max-items": {}, "max-content-length": {},
	}
}

// Every setting that is a bound is named by the refusal of what exceeds it, so
// that who runs into it knows what to change.
func TestRefusalsNameTheirSetting(t *testing.T) {
	table, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "settings.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `--(max-[a-z-]+|[a-z]+-timeout)`").FindAllStringSubmatch(string(table), -1) {
		name := row[1]
		b, ok := bounds()[name]
		if !ok {
			t.Errorf("--%s: a bound needs a row here", name)
		}
		if b.refused == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most wait for a second
			store := filepath.Join(t.TempDir(), "todo.db")
			e := exceeding{t, programtest.Serve(t, "--store", "sqlite:"+store, "--"+name, b.value), store}
			if got := b.refused(e); !regexp.MustCompile(`--` + name + `\b[^-]`).MatchString(got) {
				t.Errorf("the refusal does not name --%s: %.300s", name, got)
			}
			e.End(t)
		})
	}
}

// call calls a tool of an MCP session and returns the answer.
func (e exceeding) call(session, args string) string {
	e.Helper()
	_, _, answer := servertest.Post(e, e.URL+"/mcp", servertest.Call(1, "create_todos", args), "Mcp-Session-Id", session)
	return answer
}

func (e exceeding) session() string { return servertest.Session(e, e.URL+"/mcp", "tester") }

func (e exceeding) streams() string {
	servertest.OpenStream(e.T, "GET", e.URL+"/api/events", "")
	status, text := programtest.Get(e.T, e.URL+"/api/events")
	if status != http.StatusTooManyRequests {
		e.Error(status)
	}
	return text
}

// lockedStore returns what a call answers while another program has the store locked;
// a page has to name the setting, too.
func (e exceeding) lockedStore() string {
	session := e.session()
	e.call(session, `{"items":["A"]}`)
	lock(e.T, e.store, "PRAGMA busy_timeout = 10000", "BEGIN IMMEDIATE") // the server may still be writing
	called := e.call(session, `{"items":["B"]}`)
	if _, page := programtest.Get(e.T, e.URL+"/readyz"); !strings.Contains(page, "--request-timeout") { // which tries a write
		e.Errorf("the page does not name --request-timeout: %s", page)
	}
	return called
}

func lock(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
}

// lists begins two lists in two conversations, which nobody may evict: both have
// two revisions.
func (e exceeding) lists() (answer string) {
	for range 2 {
		session := e.session()
		for range 2 {
			answer = e.call(session, `{"items":["A"]}`)
		}
	}
	return answer
}

// bytes begins lists of 50 items of 4,000 characters until one is refused.
func (e exceeding) bytes() (answer string) {
	for n := range 10 {
		item := `"` + strings.Repeat(string('a'+rune(n)), 4000) + `"`
		answer = e.call(e.session(), `{"items":[`+strings.Repeat(item+",", 49)+item+`]}`)
		if strings.Contains(answer, `"isError":true`) {
			break
		}
	}
	return answer
}
