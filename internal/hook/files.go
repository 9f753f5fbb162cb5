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

// WithFiles returns the event with what files beside the chat and the environment say of it,
// which are read on the machine of the chat alone: which chat one was forked from, whose tasks
// it shares, whether its turn ended with a plan or failed, and the branch of its folder.
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
		if id := getenv("CLAUDE_CODE_TASK_LIST_ID"); id != "" && len(id) <= todo.MaxName {
			e.TaskList = id
		}
	case "userpromptsubmit", "beforeagent":
		e.Branch = branch(e.Folder)
	}
	return e
}

// parent matches the id of the chat that one was forked from, as Codex has it in the first
// line of a chat's file, and Claude Code with the answers that the fork took over, where
// it has written the file by then: by --fork-session it has not. A text in such a file has its
// quotes escaped.
var parent = regexp.MustCompile(`"(?:forked_from_id|requestSessionId)":"([0-9A-Za-z-]{8,64})"`)

// maxEnd is how much of the beginning and of the end of a chat's file is read, in bytes.
const maxEnd = 1 << 20

// forkedFrom returns the id of the chat that this one was forked from, as the host's file
// of the chat says it; empty where that does not.
func (e Event) forkedFrom() string {
	for _, atEnd := range []bool{true, false} {
		found := parent.FindAllSubmatch(readFile(e.Transcript, maxEnd, atEnd), -1)
		for i := len(found) - 1; i >= 0; i-- {
			if id := string(found[i][1]); id != e.Session {
				return id
			}
		}
	}
	return ""
}

// endsWithPlan reports whether the turn that the host's file of the chat has last proposed a plan,
// about which Codex then asks. A text in such a file has its quotes escaped.
func (e Event) endsWithPlan() bool {
	data := readFile(e.Transcript, maxEnd, true)
	turn := bytes.LastIndex(data, []byte(`"type":"task_started"`))
	return bytes.Contains(data[max(0, turn):], []byte(`"item":{"type":"Plan"`))
}

// noAnswer is what Gemini CLI says was said last where its model failed, and where a person broke
// the turn off.
const noAnswer = "[no response text]"

// failure returns why the last turn at the end of a host's file of a chat failed, and when; empty where
// it did not, or runs. Gemini CLI has it in a line of its own, Codex in the one that ends the turn.
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
			continue // it is cut, or of another form
		}
		switch {
		case line.Type == "error":
			_ = json.Unmarshal(line.Content, &text, jsontext.AllowInvalidUTF8(true)) // of another form: it is not known why
			return text, line.At
		case line.Payload.Type == "task_complete":
			return line.Payload.Error.Message, line.At
		case slices.Contains([]string{"user", "gemini", "task_started", "turn_aborted"}, cmp.Or(line.Payload.Type, line.Type)):
			return "", line.At
		}
	}
	return "", at
}

// readFile returns what is in a regular file, of a larger one so many bytes of its beginning or its
// end; nil where there is none, or it cannot be read.
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

// branch returns the branch of the Git repository that a folder is in; empty for none.
func branch(folder string) string {
	for folder = filepath.Clean(folder); filepath.IsAbs(folder); folder = filepath.Dir(folder) {
		git := filepath.Join(folder, ".git")
		if dir, ok := strings.CutPrefix(readSmall(git), "gitdir: "); ok { // a work tree's
			if git = dir; !filepath.IsAbs(dir) {
				git = filepath.Join(folder, dir)
			}
		}
		if head := readSmall(filepath.Join(git, "HEAD")); head != "" || folder == filepath.Dir(folder) {
			name, _ := strings.CutPrefix(head, "ref: refs/heads/")
			if name == head {
				return "" // no branch is checked out
			}
			return name
		}
	}
	return ""
}

// readSmall returns what is in a regular file, up to 4 kB without space at its end; empty
// where there is none.
func readSmall(path string) string {
	return strings.TrimSpace(string(readFile(path, 4096, false)))
}
