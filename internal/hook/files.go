package hook

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// WithFiles returns the event with what the host's file of the chat, the folder's Git repository and the
// environment add to it. It must run on the machine of the chat.
func (e Event) WithFiles(getenv func(string) string) Event {
	switch strings.ToLower(e.Name) {
	case "sessionstart":
		e.Branch = branch(e.Folder)
		if e.Source == "fork" {
			e.Parent = e.forkedFrom()
		}
	case "stop":
		if e.Last == "" && e.client() == "codex" && e.endsWithPlan() {
			e.Last = planQuestion
		}
	case "afteragent":
		if e.Last == noAnswer {
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

// parent matches the id of the chat that one was forked from. Codex has it in the first line of a chat's
// file. Claude Code has it with the answers that the fork took over; after --fork-session these are
// not in the file yet. Neither pattern occurs in a text, whose quotes are escaped.
var parent = regexp.MustCompile(`"(?:forked_from_id|requestSessionId)":"([0-9A-Za-z-]{8,64})"`)

// maxEnd is how many bytes of a chat's file are read at its beginning and at its end.
const maxEnd = 1 << 20

// forkedFrom returns the id of the chat that this one was forked from; empty if its file has none.
func (e Event) forkedFrom() string {
	for _, atEnd := range []bool{true, false} {
		for _, found := range slices.Backward(parent.FindAllSubmatch(readFile(e.Transcript, maxEnd, atEnd), -1)) {
			if id := string(found[1]); id != e.Session {
				return id
			}
		}
	}
	return ""
}

// endsWithPlan reports whether the last turn in Codex' file of the chat proposed a plan. Codex then asks
// whether to carry it out.
func (e Event) endsWithPlan() bool {
	data := readFile(e.Transcript, maxEnd, true)
	turn := bytes.LastIndex(data, []byte(`"type":"task_started"`))
	return bytes.Contains(data[max(0, turn):], []byte(`"item":{"type":"Plan"`))
}

// noAnswer is the last text in an event of Gemini CLI if its model failed or a person interrupted it.
const noAnswer = "[no response text]"

// failure returns why the last turn in the end of a chat's file failed, and when; empty if it succeeded or
// still runs. Gemini CLI has the failure on a line of its own, Codex on the line that ends the turn.
func failure(file []byte) (text string, at time.Time) {
	for _, data := range slices.Backward(bytes.Split(file, []byte("\n"))) {
		var line struct {
			Type    string         `json:"type"`
			At      time.Time      `json:"timestamp"`
			Content jsontext.Value `json:"content"`
			Payload struct {
				Type  string `json:"type"`
				Error struct {
					Message string `json:"message"`
				} `json:"error"`
			} `json:"payload"`
		}
		if json.Unmarshal(data, &line, jsontext.AllowInvalidUTF8(true)) != nil {
			continue // the first line is cut
		}
		switch {
		case line.Type == "error":
			_ = json.Unmarshal(line.Content, &text, jsontext.AllowInvalidUTF8(true)) // if it is no string, the cause stays empty
			return text, line.At
		case line.Payload.Type == "task_complete":
			return line.Payload.Error.Message, line.At
		case slices.Contains([]string{"user", "gemini", "task_started", "turn_aborted"}, cmp.Or(line.Payload.Type, line.Type)):
			return "", line.At
		}
	}
	return "", at
}

// readFile returns at most so many bytes of the beginning or the end of a regular file; nil if it cannot be
// read or its path is not absolute.
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
