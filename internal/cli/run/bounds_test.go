package run_test

import (
	"database/sql"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"todo-mcp/internal/cli/clitest"
	"todo-mcp/server/servertest"
)

// exceeding is a server of which a client asks more than a setting allows.
type exceeding struct {
	*testing.T
	*clitest.Server
	log   clitest.Lines
	store string // path of the store's file
}

// bounds has for each setting that is a bound how a client exceeds it: refused
// returns what it is answered, or what is logged.
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
	}
}

// unnamed are the settings that are bounds and that no refusal names, with the
// reason.
func unnamed() map[string]string {
	return map[string]string{
		"max-rate":           "it needs sign-in; server/auth tests what its refusal says",
		"max-items":          "docs/spec/variants.md T3 words the refusal",
		"max-content-length": "docs/spec/variants.md T2 words the refusal",
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
		if _, exempt := unnamed()[name]; ok == exempt {
			t.Errorf("--%s: a bound has either a row here or a reason why no refusal names it", name)
		}
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most wait for a second
			e := exceeding{T: t, log: make(clitest.Lines, 1000), store: filepath.Join(t.TempDir(), "todo.db")}
			e.Server = clitest.ServeLogging(t, e.log, "--store", "sqlite:"+e.store, "--log-level", "info", "--"+name, b.value)
			if got := b.refused(e); !regexp.MustCompile(`--` + name + `\b[^-]`).MatchString(got) {
				t.Errorf("the refusal does not name --%s: %.300s", name, got)
			}
			e.Stop()
			<-e.Done
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
	res, err := http.Get(e.URL + "/api/events")
	if err != nil {
		e.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusTooManyRequests {
		e.Error(res.Status, err)
	}
	return string(text)
}

// lockedStore returns what a page and a call answer while another program has the
// store locked; both have to name the setting.
func (e exceeding) lockedStore() string {
	session := e.session()
	e.call(session, `{"items":["A"]}`)
	db, err := sql.Open("sqlite", e.store)
	if err != nil {
		e.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, s := range []string{"PRAGMA busy_timeout = 10000", "BEGIN IMMEDIATE"} { // the server may still be writing
		if _, err := db.Exec(s); err != nil {
			e.Fatal(err)
		}
	}
	called := e.call(session, `{"items":["B"]}`)
	res, err := http.Get(e.URL + "/readyz") // which tries a write
	if err != nil {
		e.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(page), "--request-timeout") {
		e.Errorf("the page does not name --request-timeout: %s, %v", page, err)
	}
	return called
}

// longItems returns the arguments of create_todos for n items of 4,000 characters.
func longItems(character string, n int) string {
	item := `"` + strings.Repeat(character, 4000) + `"`
	return `{"items":[` + strings.Repeat(item+",", n-1) + item + `]}`
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

func (e exceeding) bytes() (answer string) {
	for n := range 10 {
		if answer = e.call(e.session(), longItems(string('a'+rune(n)), 50)); strings.Contains(answer, `"isError":true`) {
			break
		}
	}
	return answer
}
