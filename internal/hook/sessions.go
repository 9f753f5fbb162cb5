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

// session is a file in which Claude Code says what one of its processes does, or a failed turn of Codex.
type session struct {
	Process    int    `json:"pid"`
	ID         string `json:"sessionId"`
	Status     string `json:"status"`
	WaitingFor string `json:"waitingFor"`
	Since      int64  `json:"statusUpdatedAt"` // in Unix milliseconds

	failed bool // a turn of Codex failed: WaitingFor is why, Process is not known
}

const (
	lookEvery      = time.Second // how often the files are looked at
	maxSessions    = 1000        // how many of them at most
	maxSessionFile = 64 << 10    // how much of each is read, in bytes
)

// FollowSessions records what hosts tell no hook until ctx ends: that a person interrupted a question of
// Claude Code or approved a command, which then runs, and that Codex' model failed. It reads the
// hosts' own files and writes none.
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

// sessions has the folder of Claude Code's files, and the modification time of each file that was read.
type sessions struct {
	folder string
	read   map[string]time.Time
}

// look records what the files of Claude Code say that changed since the last look. It retries those that
// failed.
func (s sessions) look(ctx context.Context, lists board.Lists) {
	folder, err := os.Open(s.folder)
	if err != nil {
		return
	}
	defer folder.Close()
	files, _ := folder.ReadDir(maxSessions)
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

// codexChat matches a chat id of Codex, which begins with a time in milliseconds.
var codexChat = regexp.MustCompile(`^([0-9a-f]{8})-([0-9a-f]{4})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// lookAtCodex records which chats that Codex has open ended their turn with a failure. A chat's file is in
// a folder of the day on which the chat began.
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

// tell records what the process does in its chat, unless a hook told of something later. The chat must be
// known by hooks of the same process, for Codex be in a turn.
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
		case isNewer && s.Status == "idle" && c.Doing != todo.Rests: // a question at the end of a turn stays
			c.Says(todo.Rests, "", at)
		case isNewer && s.Status == "busy":
			c.Says(todo.Works, "", at)
		case isNewer && s.Status == "waiting" && c.Asks == "":
			c.Says(todo.Asks, todo.OneLine(cmp.Or(strings.TrimSpace(s.WaitingFor), "a person"), todo.MaxTitle), at)
		}
	})
	return err
}
