package install

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Shell is what runs the command of a hook.
type Shell string

// The shells.
const (
	POSIX      Shell = "a POSIX shell"
	PowerShell Shell = "PowerShell"
	Cmd        Shell = "cmd.exe"
)

// plain matches a word that every shell reads as it is.
var plain = regexp.MustCompile(`^[\w@%+:.,/=-]+$`)

// Command returns a program with its arguments as the shell reads them. In words for
// cmd.exe there may be no quotation mark.
func (s Shell) Command(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = s.quote(w)
	}
	line := strings.Join(out, " ")
	if s == PowerShell && strings.HasPrefix(line, "'") { // which would be a text
		line = "& " + line
	}
	return line
}

func (s Shell) quote(word string) string {
	switch {
	case plain.MatchString(word):
		return word
	case s == PowerShell:
		return "'" + strings.ReplaceAll(word, "'", "''") + "'"
	case s == Cmd:
		return `"` + word + `"`
	default:
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
}

// shellCommand is a command of this program as a shell reads it.
type shellCommand struct {
	variables string // what is set for it, as A=b
	program   string // with what runs it, as npx -y
	args      string // the command's name and what stands behind it
}

func (c shellCommand) String() string {
	return strings.Join(slices.DeleteFunc([]string{c.variables, c.program, c.args}, func(s string) bool { return s == "" }), " ")
}

// oneWord matches a word of a command.
const oneWord = `(?:"[^"]*"|'[^']*'|\\.|[^\s"'\\])+`

var (
	// shellForm matches a command: variables, the program with what runs it, of this a
	// runner of packages and the last word, and what stands behind.
	shellForm = regexp.MustCompile(`^((?:\w+=` + oneWord + `\s+)*)((?:&\s+)?((?:\S*[/\\])?(?:npx|bunx|pnpx)(?:\.cmd)?\s+(?:(?:-y|--yes)\s+)*)?(` + oneWord + `))((?s:\s.*)?)$`)
	several   = regexp.MustCompile("[;|&<>`\n]|\\$\\(")
)

// readCommand returns a command if it runs nothing but this program.
func (m Machine) readCommand(text string) (c shellCommand, ours bool) {
	at := shellForm.FindStringSubmatch(text)
	if at == nil {
		return c, false
	}
	c = shellCommand{variables: strings.TrimSpace(at[1]), program: at[2], args: strings.TrimSpace(at[5])}
	if word := unquote(at[4]); at[3] != "" {
		ours = programForm.MatchString(word)
	} else {
		ours = m.isProgram(word)
	}
	return c, ours && !several.MatchString(c.args)
}

// unquote returns a word as the shell reads it.
func unquote(word string) string {
	return strings.NewReplacer(`'\''`, "'", `"`, "", "'", "").Replace(word)
}

// isProgram reports whether a path or name leads to this program.
func (m Machine) isProgram(command string) bool {
	return programForm.MatchString(lastPart(command)) || filepath.IsAbs(command) && IsSameFile(command, m.Executable)
}

// hookCommands make the commands that a client's file has for this program.
type hookCommands struct {
	m       Machine
	shell   Shell
	program string // the path or the name to call
	store   []string
	isGiven bool // whether store takes the place of the arguments that a command has
}

// errSlowHooks is what people read who want hooks of a program that npx runs.
var errSlowHooks = errors.New("hooks are not for npx, which takes too long for what runs with each todo: " +
	"npm install --global todo-mcp, then todo-mcp install --hooks")

// hookCommands returns the commands for a client that reaches the server in some way:
// they write into the same store.
func (c Client) hookCommands(m Machine, o Options, server Server) (hookCommands, error) {
	p, err := m.program()
	h := hookCommands{m: m, shell: POSIX, program: p.inTerminal, store: storeOf(server.Args), isGiven: o.Args != nil}
	if err == nil && len(p.args) > 0 {
		err = errSlowHooks
	}
	if c.desktop {
		h.program = p.elsewhere
	}
	if m.System == "windows" { // where all shells take slashes, and some no backslashes
		h.shell, h.program = c.hooks.windows, strings.ReplaceAll(h.program, `\`, "/")
	}
	return h, err
}

// storeOf returns the arguments that say where lists are kept.
func storeOf(args []string) (out []string) {
	for i, arg := range args {
		name, _, hasValue := strings.Cut(arg, "=")
		if name != "--store" && name != "--config" {
			continue
		}
		out = append(out, arg)
		if !hasValue && i+1 < len(args) {
			out = append(out, args[i+1])
		}
	}
	return out
}

// make returns the command with a name and its arguments, as hook, in the place of another
// one, which may be none. What that has beside the program stays, unless it is given.
func (h hookCommands) make(name, old string) shellCommand {
	args := slices.Concat(strings.Fields(name), h.store)
	c := shellCommand{program: h.shell.Command(h.program), args: h.shell.Command(args...)}
	was, ours := h.m.readCommand(old)
	if !ours {
		return c
	}
	c.variables = was.variables
	if !h.isGiven {
		c.args = was.args
	}
	path := strings.Trim(strings.TrimPrefix(was.program, "& "), `'"`)
	if filepath.IsAbs(path) && IsSameFile(path, h.m.Executable) { // another path of this one
		c.program = was.program
	}
	return c
}
