package hook

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"modernc.org/sqlite" // the driver and its limits

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/process"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// WithFiles returns the event with additions from the host's file of the chat, the folder's Git repository and the
// environment. It must run on the machine of the chat.
func (e Event) WithFiles(getenv func(string) string) Event {
	switch strings.ToLower(e.Name) {
	case "sessionstart":
		e.Branch = branch(e.Folder)
		if e.Source == "fork" {
			e.Parent = e.forkedFrom()
		}
	case "stop":
		if e.Last == "" && e.Host == codex && e.endsWithPlan() {
			e.Last = planQuestion
		}
	case "afteragent":
		if e.Last == "[no response text]" { // Gemini CLI's text if its model failed or a person interrupted it
			e.Failure, _ = failure(readFile(e.Transcript, maxSessionFile, true))
		}
	case "posttooluse":
		if id := getenv("CLAUDE_CODE_TASK_LIST_ID"); len(id) <= todo.MaxName {
			e.TaskList = cmp.Or(id, e.TaskList)
		}
	case "userpromptsubmit", "beforeagent":
		e.Branch = branch(e.Folder)
	}
	return e
}

// parent matches, in the file of a forked chat, the id of the chat that it was forked from. Codex writes the id in the
// first line. Claude Code writes it with the answers that the fork took over; after --fork-session the file does not
// have these answers yet. A message in the file cannot match, since its quotes are escaped.
var parent = regexp.MustCompile(`"(?:forked_from_id|requestSessionId)":"([0-9A-Za-z-]+)"`)

const maxEnd = 1 << 20 // how many bytes of a chat's file are read at its beginning and at its end

// forkedFrom returns the id of the chat that this one was forked from; empty if its file has none.
func (e Event) forkedFrom() string {
	for _, atEnd := range []bool{true, false} {
		for _, found := range slices.Backward(parent.FindAllSubmatch(readFile(e.Transcript, maxEnd, atEnd), -1)) {
			if id := string(found[1]); id != e.Session && len(id) <= 64 {
				return id
			}
		}
	}
	return ""
}

// endsWithPlan reports whether the last turn in Codex' file of the chat proposed a plan, about which Codex then asks.
func (e Event) endsWithPlan() bool {
	data := readFile(e.Transcript, maxEnd, true)
	turn := bytes.LastIndex(data, []byte(`"type":"task_started"`))
	return bytes.Contains(data[max(0, turn):], []byte(`"item":{"type":"Plan"`))
}

// failure returns why and when the last turn failed, from the end of a chat's file. The text is empty if the turn did
// not fail or still runs. Gemini CLI writes a failure on its own line, Codex on the line that ends the turn.
func failure(file []byte) (text string, at time.Time) {
	for _, data := range slices.Backward(bytes.Split(file, []byte("\n"))) {
		var line struct {
			Type    string
			At      time.Time `json:"timestamp"`
			Content jsontext.Value
			Payload struct {
				Type  string
				Error struct{ Message string }
			}
		}
		if json.Unmarshal(data, &line, json.MatchCaseInsensitiveNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
			continue // the first line may be cut off, and the last may be incomplete
		}
		switch {
		case line.Type == "error":
			_ = json.Unmarshal(line.Content, &text, jsontext.AllowInvalidUTF8(true)) // text is empty for a non-string
			return text, line.At
		case line.Payload.Type == "task_complete":
			return line.Payload.Error.Message, line.At
		case slices.Contains([]string{"user", "gemini", "task_started", "turn_aborted"}, cmp.Or(line.Payload.Type, line.Type)):
			return "", line.At
		}
	}
	return "", at
}

// readFile returns the beginning or the end of a regular file with an absolute path; nil if it cannot be read.
func readFile(path string, most int64, atEnd bool) []byte {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || !filepath.IsAbs(path) {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	from := int64(0)
	if atEnd {
		from = max(0, info.Size()-most)
	}
	data, _ := io.ReadAll(io.NewSectionReader(f, from, most))
	return data
}

// branch returns the Git branch that is checked out in a folder; empty for none.
func branch(folder string) string {
	for folder = filepath.Clean(folder); filepath.IsAbs(folder); folder = filepath.Dir(folder) {
		git := filepath.Join(folder, ".git")
		if dir, ok := strings.CutPrefix(readSmall(git), "gitdir: "); ok { // a linked worktree
			if git = dir; !filepath.IsAbs(dir) {
				git = filepath.Join(folder, dir)
			}
		}
		if head := readSmall(filepath.Join(git, "HEAD")); head != "" || folder == filepath.Dir(folder) {
			if name, isBranch := strings.CutPrefix(head, "ref: refs/heads/"); isBranch {
				return name
			}
			return ""
		}
	}
	return ""
}

// readSmall returns the trimmed content of a regular file, at most 4 kB; empty if it cannot be read.
func readSmall(path string) string {
	return strings.TrimSpace(string(readFile(path, 4096, false)))
}

// session is the content of a file with the state of one of Claude Code's processes, or a failed turn of Codex.
type session struct {
	Process    int    `json:"pid"`
	ID         string `json:"sessionId"`
	Status     string `json:"status"`
	WaitingFor string `json:"waitingFor"`
	Since      int64  `json:"statusUpdatedAt"` // in Unix milliseconds

	failed bool // a turn of Codex failed: WaitingFor says why, and Process is not known
}

const (
	lookEvery      = time.Second // how often the files are looked at
	maxSessions    = 1000        // the most files of one host that are looked at
	maxSessionFile = 64 << 10    // how many bytes of each file are read
)

// FollowSessions records, until ctx ends, the events that hosts report to no hook: a person interrupts a question of
// Claude Code or approves a command, or Codex' model fails. It reads the hosts' own files and writes none.
func FollowSessions(ctx context.Context, getenv func(string) string, lists board.Lists) {
	home := cmp.Or(getenv("HOME"), getenv("USERPROFILE"))
	claude := cmp.Or(getenv("CLAUDE_CONFIG_DIR"), filepath.Join(home, ".claude"))
	codex := cmp.Or(getenv("CODEX_HOME"), filepath.Join(home, ".codex"))
	s := make(sessions)
	for filepath.IsAbs(claude) {
		s.lookAtClaudeCode(ctx, claude, lists)
		s.lookAtCodex(ctx, codex, lists)
		if !board.Sleep(ctx, lookEvery) {
			return
		}
	}
}

// sessions maps the path of each file that was read to the file's modification time.
type sessions map[string]time.Time

// look reads, with the callback read, each of the files that changed since the last look. It records each session that
// has an ID. A file that could not be read or recorded is read again at the next look.
func (s sessions) look(ctx context.Context, lists board.Lists, files []string, read func(path string) (now session, err error)) {
	for _, path := range files[:min(len(files), maxSessions)] {
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || s[path].Equal(info.ModTime()) {
			continue
		}
		now, err := read(path)
		if err == nil && now.ID != "" {
			err = now.tell(ctx, lists)
		}
		if err == nil {
			s[path] = info.ModTime()
		}
	}
}

// lookAtClaudeCode records the states in the session files below home, the folder of Claude Code.
func (s sessions) lookAtClaudeCode(ctx context.Context, home string, lists board.Lists) {
	s.look(ctx, lists, within(home, "sessions/*.json"), func(path string) (now session, err error) {
		return now, json.Unmarshal(readFile(path, maxSessionFile, false), &now, jsontext.AllowInvalidUTF8(true))
	})
}

// within returns the paths of the files in a folder that match a pattern with slashes.
func within(folder, pattern string) (paths []string) {
	names, _ := fs.Glob(os.DirFS(folder), pattern)
	for _, name := range names {
		paths = append(paths, filepath.Join(folder, name))
	}
	return paths
}

// lookAtCodex records which of Codex' open chats ended a turn with a failure. Codex puts chats' files into a folder for
// the day on which the chat began. The id of a chat, a UUID of version 7, contains that time.
func (s sessions) lookAtCodex(ctx context.Context, home string, lists board.Lists) {
	open := within(home, "thread-writer-locks/*-*.lock")
	for _, lock := range open[:min(len(open), maxSessions)] {
		id, err := uuid.Parse(strings.TrimSuffix(filepath.Base(lock), ".lock"))
		if err != nil {
			continue
		}
		day := time.Unix(id.Time().UnixTime()).Format("2006/01/02")
		found := within(home, "sessions/"+day+"/rollout-*-"+id.String()+".jsonl")
		s.look(ctx, lists, found, func(path string) (now session, err error) {
			if text, at := failure(readFile(path, maxSessionFile, true)); text != "" {
				now = session{ID: id.String(), WaitingFor: text, Since: at.UnixMilli(), failed: true}
			}
			return now, nil
		})
	}
}

// tell records the session's status in its chat, unless the chat has ended or has newer information. It ignores a chat
// that no hook of the same process reported; for Codex, it ignores a chat that is not in a turn.
func (s session) tell(ctx context.Context, lists board.Lists) error {
	host, who := process.ID(s.Process), board.Conversation{Key: todo.ChatKey(s.ID)}
	if host == "" && !s.failed || s.ID == "" || len(s.ID) > todo.MaxLabel {
		return nil
	}
	chat, err := lists.Chat(ctx, who)
	isOwn := s.failed && chat.Doing.InTurn() || slices.ContainsFunc(chat.Here[:], func(h todo.Here) bool { return h.Process == todo.HostProcess+host })
	if err != nil || !isOwn {
		return err
	}
	_, err = lists.Hear(ctx, who, func(c *todo.Chat, now time.Time) {
		at := time.UnixMilli(s.Since)
		if at.After(now) {
			at = now
		}
		switch isNewer := c.Ended.IsZero() && at.After(c.Since); {
		case isNewer && s.failed:
			c.Says(todo.Rests, todo.OneLine(s.WaitingFor, todo.MaxTitle), at)
		case isNewer && s.Status == "idle" && c.Doing != todo.Rests: // the question of a turn that has ended stays
			c.Says(todo.Rests, "", at)
		case isNewer && s.Status == "busy":
			c.Says(todo.Works, "", at)
		case isNewer && s.Status == "waiting" && c.Asks == "":
			c.Says(todo.Asks, todo.OneLine(cmp.Or(strings.TrimSpace(s.WaitingFor), "a person"), todo.MaxTitle), at)
		}
	})
	return err
}

const (
	sessionTime    = time.Second // how long reading the database of a session may take
	maxSession     = 64 << 20    // the maximum size of the database, in bytes
	maxSessionText = 1 << 20     // the maximum length of a value, and of the JSON of all items, in bytes
)

// WithTodos returns an event of Copilot CLI's tool sql with the whole todo list as its input. The agent writes the list
// by SQL into the database of its session, which WithTodos only reads. Other events are returned unchanged.
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
	if filepath.VolumeName(path) != "" { // so that the URL is file:///C:/work
		path = "/" + path
	}
	file := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=ro&" +
		url.Values{"_pragma": {"busy_timeout(300)", "query_only(1)", "trusted_schema(0)"}}.Encode()}
	db, _ := sql.Open("sqlite", file.String()) // fails only for an unknown driver
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
