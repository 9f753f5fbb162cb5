package hook

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite" // the driver and its limits

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

const (
	sessionTime    = time.Second // how long the database of a session is read
	maxSession     = 64 << 20    // the maximum size of its file, in bytes
	maxSessionText = 1 << 20     // the maximum length of a value, and of all items, in bytes
)

// WithTodos returns an event of Copilot CLI's tool sql with the whole todo list as its input. The agent writes the list
// by SQL into the database of its session, which is only read. Other events are returned unchanged.
func (e Event) WithTodos(ctx context.Context, getenv func(string) string) (Event, error) {
	isQuery := e.Tool == "sql" && strings.Contains(strings.ToLower(string(e.Input)), "todo")
	if !isQuery || !strings.EqualFold(e.Name, "PostToolUse") || filepath.Base(e.Session) != e.Session {
		return e, nil
	}
	home := cmp.Or(getenv("COPILOT_HOME"), filepath.Join(cmp.Or(getenv("HOME"), getenv("USERPROFILE")), ".copilot"))
	path := filepath.Join(home, "session-state", e.Session, "session.db")
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return e, nil
	case err != nil:
		return e, fmt.Errorf("session.db: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxSession:
		return e, fmt.Errorf("session.db is not a file of at most %d bytes", maxSession)
	}
	ctx, cancel := context.WithTimeout(ctx, sessionTime)
	defer cancel()
	e.Response = nil
	if e.Input, err = sessionTodos(ctx, path); err != nil {
		return e, fmt.Errorf("session.db: %w", err)
	}
	return e, nil
}

// sessionTodos returns the items in the session's database, oldest first, as the JSON that other hosts' tools
// take. It refuses long texts, since the agent can write anything into the database.
func sessionTodos(ctx context.Context, path string) (todos []byte, err error) {
	if filepath.VolumeName(path) != "" { // file:///C:/work
		path = "/" + path
	}
	file := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=ro&" +
		url.Values{"_pragma": {"busy_timeout(300)", "query_only(1)", "trusted_schema(0)"}}.Encode()}
	db, err := sql.Open("sqlite", file.String())
	if err != nil {
		return nil, err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	const limitLength = 0 // SQLITE_LIMIT_LENGTH
	if _, err := sqlite.Limit(conn, limitLength, maxSessionText); err != nil {
		return nil, err
	}
	err = conn.QueryRowContext(ctx, `SELECT json_object('todos', json_group_array(json_object('title', title, 'status', status))) FROM
		(SELECT CAST(substr(title, 1, ?) AS TEXT) AS title, CAST(coalesce(status, 'pending') AS TEXT) AS status
		FROM main.todos ORDER BY rowid LIMIT ?)`, todo.MaxText, todo.MaxItems+1).Scan(&todos)
	return todos, err
}
