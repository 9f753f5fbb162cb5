package render

import (
	"regexp"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/internal/shell"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// chatID is the form of the ids of chats that known clients use: none can be taken for an
// option, or for anything but one word. They have up to maxChatID characters.
var chatID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

const maxChatID = 128

// volume matches the start of a whole path of Windows.
var volume = regexp.MustCompile(`^(?:[A-Za-z]:[\\/]|\\\\)`)

// ResumeCommand returns the command that goes on with the chat of a list in its folder:
// `cd '/src/shop' && claude --resume 4f1c`, for a POSIX shell, or for PowerShell where the
// folder is one of Windows. It is empty where the chat is
// not known, its client has no such command, or another client wrote the list last; and
// where a terminal could take a character of the folder for a key (BAD-INPUT 125).
func ResumeCommand(s todo.Snapshot) string {
	client, id, folder := clients.Find(s.List.Client), s.List.Chat, s.List.Workspace
	another := !s.Writer.Person && s.Writer.Client != "" && clients.Find(s.Writer.Client).Name != client.Name
	if client.Resume == "" || another || len(id) > maxChatID || !chatID.MatchString(id) || Safe(folder) != folder {
		return ""
	}
	command := client.Resume + " " + id
	switch {
	case folder == "":
		return command
	case volume.MatchString(folder):
		return "cd -LiteralPath " + shell.PowerShell.Quote(folder) + " -ErrorAction Stop; " + command
	}
	if strings.HasPrefix(folder, "-") { // an option
		folder = "./" + folder
	}
	return "cd " + shell.POSIX.Quote(folder) + " && " + command
}
