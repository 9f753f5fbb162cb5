package install

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Machine is what is asked of the computer on which clients are looked for.
type Machine struct {
	// System is the operating system, as [runtime.GOOS] calls it.
	System string
	// Home is the user's folder.
	Home     string
	Getenv   func(string) string
	LookPath func(program string) (string, error)
	// Executable is the path of this program.
	Executable string
}

// ThisMachine returns the computer that runs this process.
func ThisMachine(getenv func(string) string) (Machine, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return Machine{}, fmt.Errorf("find your folder: %w", err)
	}
	if !filepath.IsAbs(home) {
		return Machine{}, fmt.Errorf("find your folder: your home (HOME) is %q, which is not a whole path", home)
	}
	executable, err := os.Executable()
	if err != nil {
		return Machine{}, fmt.Errorf("find this program: %w", err)
	}
	return Machine{System: runtime.GOOS, Home: home, Getenv: getenv, LookPath: exec.LookPath, Executable: executable}, nil
}

// home returns a path in the user's folder.
func (m Machine) home(names ...string) string {
	return filepath.Join(append([]string{m.Home}, names...)...)
}

// variable returns the value of an environment variable; or else another path.
func (m Machine) variable(name, other string) string {
	if value := m.Getenv(name); value != "" {
		return value
	}
	return other
}

// folder returns the folder that an environment variable names; or else another one,
// also if what it names is no whole path, which the XDG Base Directory Specification
// tells programs to ignore.
func (m Machine) folder(name, other string) string {
	if value := m.Getenv(name); filepath.IsAbs(value) {
		return value
	}
	return other
}

// xdg returns the folder of configurations of programs that keep them as on Linux
// everywhere.
func (m Machine) xdg() string { return m.folder("XDG_CONFIG_HOME", m.home(".config")) }

// config returns the system's folder of configurations.
func (m Machine) config() string {
	switch m.System {
	case "windows":
		return m.variable("APPDATA", m.home("AppData", "Roaming"))
	case "darwin":
		return m.home("Library", "Application Support")
	default:
		return m.xdg()
	}
}

// Short returns a path as people write it: ~ for the user's folder.
func (m Machine) Short(path string) string {
	if rel, err := filepath.Rel(m.Home, path); err == nil && filepath.IsLocal(rel) && m.Home != "" {
		return filepath.Join("~", rel)
	}
	return path
}

// program is how this program is called. A client that is started from the desktop
// may not see the PATH of a terminal.
type program struct {
	inTerminal string   // todo-mcp, where PATH finds this program by that name
	elsewhere  string   // its whole path
	args       []string // those that stand before its own, where another program runs it
}

// program returns how this program is called. It prefers the name by which PATH finds
// it to the file that the name leads to, which an upgrade may replace by another. A
// program that npx runs is called by npx, which may remove the file at any time.
func (m Machine) program() (program, error) {
	for part := range strings.SplitSeq(filepath.ToSlash(m.Executable), "/") {
		switch {
		case strings.HasPrefix(part, "go-build"):
			return program{}, errors.New("`go run` builds this program for one run alone: build it with `make build` and put bin/todo-mcp on your PATH")
		case part == "_npx":
			return m.npx(), nil
		}
	}
	p := program{inTerminal: m.Executable, elsewhere: m.Executable}
	found, err := m.LookPath(programName)
	if err != nil || !IsSameFile(found, m.Executable) {
		return p, nil
	}
	if found, err = filepath.Abs(found); err == nil {
		p = program{inTerminal: programName, elsewhere: found}
	}
	return p, nil
}

// Command returns the words by which a terminal starts this program for longer than
// now. A program that `go run` built has none: an error says what to do.
func (m Machine) Command() ([]string, error) {
	p, err := m.program()
	if err != nil {
		return nil, err
	}
	return append([]string{p.inTerminal}, p.args...), nil
}

// npx returns how this program is called by npx. On Windows npx is no program but a
// script, which many clients can start by the shell alone.
func (m Machine) npx() program {
	command := []string{"npx", "-y", programName}
	if m.System == "windows" {
		command = append([]string{"cmd", "/c"}, command...)
	}
	return program{inTerminal: command[0], elsewhere: command[0], args: command[1:]}
}

// programName is that of the command, and of the package on npm.
const programName = "todo-mcp"

// isThere reports whether there is something by a name, also a link that leads nowhere.
func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// IsSameFile reports whether two paths lead to one file that is there.
func IsSameFile(a, b string) bool {
	x, xErr := os.Stat(a)
	y, yErr := os.Stat(b)
	return xErr == nil && yErr == nil && os.SameFile(x, y)
}
