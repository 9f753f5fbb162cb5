package hook

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/process"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// session is what Claude Code says of itself in a file for each of its processes.
type session struct {
	Process    int    `json:"pid"`
	ID         string `json:"sessionId"`
	Status     string `json:"status"`
	WaitingFor string `json:"waitingFor"`
	Since      int64  `json:"statusUpdatedAt"` // in Unix milliseconds

	failed bool // it is of a turn of Codex' that failed, as WaitingFor says; the process is not known
}

const (
	// lookEvery is how often the files are looked at, of which at most maxSessions are, each of at
	// most maxSessionFile bytes.
	lookEvery      = time.Second
	maxSessions    = 1000
	maxSessionFile = 64 << 10
)

// FollowSessions says of chats what no hook is told, until ctx ends: of Claude Code's that a person
// broke off a question, or approved a command, which runs then; of Codex' that the model failed. It
// reads the files in which these say what they do, and writes none.
func FollowSessions(ctx context.Context, getenv func(string) string, lists board.Lists) {
	home := cmp.Or(getenv("HOME"), getenv("USERPROFILE"))
	claude := cmp.Or(getenv("CLAUDE_CONFIG_DIR"), filepath.Join(home, ".claude"))
	codex := cmp.Or(getenv("CODEX_HOME"), filepath.Join(home, ".codex"))
	s := sessions{filepath.Join(claude, "sessions"), make(map[string]time.Time)}
	for filepath.IsAbs(claude) {
		s.look(ctx, lists)
		s.lookAtCodex(ctx, codex, lists)
		if !board.Sleep(ctx, lookEvery) {
			return
		}
	}
}

// sessions are the files in a folder, with the times of those that were read.
type sessions struct {
	folder string
	read   map[string]time.Time
}

// look takes in the files that changed since it looked last. One that it cannot take in now it reads
// again.
func (s sessions) look(ctx context.Context, lists board.Lists) {
	folder, err := os.Open(s.folder)
	if err != nil {
		return
	}
	defer folder.Close()
	files, _ := folder.ReadDir(maxSessions) // those that cannot be read are not there
	for _, f := range files {
		info, err := f.Info()
		isOne := err == nil && info.Mode().IsRegular() && info.Size() <= maxSessionFile && filepath.Ext(f.Name()) == ".json"
		if !isOne || s.read[f.Name()].Equal(info.ModTime()) {
			continue
		}
		var now session
		data := readFile(filepath.Join(s.folder, f.Name()), maxSessionFile, false)
		if json.Unmarshal(data, &now, jsontext.AllowInvalidUTF8(true)) == nil && now.tell(ctx, lists) == nil {
			s.read[f.Name()] = info.ModTime()
		}
	}
}

// codexChat matches the id of a chat of Codex, which begins with its time.
var codexChat = regexp.MustCompile(`^([0-9a-f]{8})-([0-9a-f]{4})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// lookAtCodex takes in which of the chats that Codex has open failed: the file of a chat, in a folder
// of the day on which it began, says so as its turn ends.
func (s sessions) lookAtCodex(ctx context.Context, home string, lists board.Lists) {
	open, _ := filepath.Glob(filepath.Join(home, "thread-writer-locks", "*-*.lock"))
	for _, lock := range open[:min(len(open), maxSessions)] {
		id := codexChat.FindStringSubmatch(strings.TrimSuffix(filepath.Base(lock), ".lock"))
		if id == nil {
			continue
		}
		began, _ := strconv.ParseInt(id[1]+id[2], 16, 64)
		found, _ := filepath.Glob(filepath.Join(home, "sessions", time.UnixMilli(began).Format("2006/01/02"), "rollout-*-"+id[0]+".jsonl"))
		for _, path := range found {
			info, err := os.Lstat(path)
			if err != nil || s.read[path].Equal(info.ModTime()) {
				continue
			}
			text, at := failure(readFile(path, maxSessionFile, true))
			if text == "" || (session{ID: id[0], WaitingFor: text, Since: at.UnixMilli(), failed: true}).tell(ctx, lists) == nil {
				s.read[path] = info.ModTime()
			}
		}
	}
}

// tell says of the chat that hooks of this very process told of what the process does now, unless
// they told of something later.
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
		case isNewer && s.Status == "idle" && c.Doing != todo.Rests: // else what it asked last is still asked
			c.Says(todo.Rests, "", at)
		case isNewer && s.Status == "busy":
			c.Says(todo.Works, "", at)
		case isNewer && s.Status == "waiting" && c.Asks == "":
			c.Says(todo.Asks, todo.OneLine(cmp.Or(strings.TrimSpace(s.WaitingFor), "a person"), todo.MaxTitle), at)
		}
	})
	return err
}
