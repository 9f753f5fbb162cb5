package install

import "net/url"

// Typed returns what a person types into a shell of this machine to run a command of this
// program: its name where PATH finds it, else its path, or `go run .` where that built it.
func (m Machine) Typed(words ...string) string {
	command, err := m.Command(false)
	if err != nil {
		command = []string{"go", "run", "."}
	}
	shell := POSIX
	if m.System == "windows" {
		shell = PowerShell
	}
	return shell.Command(append(command, words...)...)
}

// Steps returns the commands by which a person connects clients with a server at an address
// of MCP: each is a pair of what it is for, as a line that ends in a colon, and the command.
// All work wherever the person is: on this machine by the path of this program if PATH does
// not find it, for a server at an address of other machines by the program's name.
//
// Where clients can have the same lists by starting this program, args are the arguments for
// that, such as --store and a file; without arguments it is empty. It is nil where they
// cannot, as where the lists are in memory. It is shown, so that it must have no password.
func (m Machine) Steps(address string, args []string) (steps [][2]string) {
	if u, err := url.Parse(address); err != nil || !isLoopback(u.Hostname()) {
		return append(steps, overHTTP("todo-mcp install --http "+POSIX.quote(address), address)...)
	}
	if args != nil {
		words := []string{"install"}
		if len(args) > 0 {
			words = append(words, "--args", POSIX.Command(args...)) // which install takes apart
		}
		steps = append(steps, [2]string{"The clients on this machine, such as Claude Code, Cursor, VS Code, " +
			"Codex and Gemini CLI, start it themselves:", m.Typed(words...)})
	}
	return append(steps, overHTTP(m.Typed("install", "--http", address), address)...)
}

// overHTTP returns the steps to a server that runs, with the command that installs it.
func overHTTP(command, address string) [][2]string {
	return [][2]string{
		{"They call this server over HTTP:", command},
		{"Claude Code by its own command, in all projects:",
			"claude mcp add --scope user --transport http todo " + POSIX.quote(address)},
		{"Another client, where it asks for the address of an MCP server:", address},
	}
}
