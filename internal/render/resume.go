package render

import (
	"regexp"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/internal/shell"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// chatID matches ids of chats that a shell cannot take for an option or for several words.
var chatID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

var volume = regexp.MustCompile(`^(?:[A-Za-z]:[\\/]|\\\\)`) // matches the start of an absolute path of Windows

// ResumeCommand returns the command that resumes the chat of a list in its folder, for a POSIX shell, or for
// PowerShell if the folder is one of Windows: `cd '/src/shop' && claude --resume 4f1c`. It is empty if the chat
// is unknown, its client has no such command, another client wrote the list last, or the folder has a
// character that a terminal could take for a key (BAD-INPUT 125).
func ResumeCommand(s todo.Snapshot) string {
	client, id, folder := clients.Find(s.List.Client), s.List.Chat, s.List.Workspace
	another := !s.Writer.Person && s.Writer.Client != "" && clients.Find(s.Writer.Client).Name != client.Name
	if client.Resume == "" || another || !chatID.MatchString(id) || Safe(folder) != folder {
		return ""
	}
	command := client.Resume + " " + id
	switch {
	case folder == "":
		return command
	case volume.MatchString(folder):
		return "cd -LiteralPath " + shell.PowerShell.Quote(folder) + " -ErrorAction Stop; " + command
	}
	if strings.HasPrefix(folder, "-") { // would be an option
		folder = "./" + folder
	}
	return "cd " + shell.POSIX.Quote(folder) + " && " + command
}
