package install

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/shell"
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

// place returns the first of the places in text, between which there is |, that this
// machine has. A place may begin with the one system that has it, as windows:, and has ~
// for the user's folder and $NAME for an environment variable. It counts if the variables
// are set, to whole paths: the XDG Base Directory Specification tells programs to ignore
// others. A folder of it with * must be there.
func (m Machine) place(text string) string {
	for text := range strings.SplitSeq(text, "|") {
		if system, rest, isOnly := strings.Cut(text, ":"); isOnly && system != m.System {
			continue
		} else if isOnly {
			text = rest
		}
		isSet := true
		path := os.Expand(strings.Replace(text, "~", "$home", 1), func(name string) string {
			value := m.folder(name)
			isSet = isSet && filepath.IsAbs(value)
			return value
		})
		if !isSet {
			continue
		}
		folder, file := filepath.Split(filepath.FromSlash(path))
		if !strings.Contains(text, "*") {
			return filepath.Join(folder, file)
		}
		if found, _ := filepath.Glob(filepath.Clean(folder)); len(found) > 0 {
			return filepath.Join(found[0], file)
		}
	}
	return ""
}

// places returns the place of each text.
func (m Machine) places(texts []string) (paths []string) {
	for _, text := range texts {
		paths = append(paths, m.place(text))
	}
	return paths
}

// folder returns the user's folder (home), the system's folder of configurations (config),
// the folder of programs that keep them as on Linux everywhere (xdg), the folder of Windows
// for data of this machine alone (local), or what an environment variable names.
func (m Machine) folder(name string) string {
	switch name {
	case "home":
		return m.Home
	case "xdg":
		return m.place("$XDG_CONFIG_HOME/|~/.config")
	case "local":
		return m.place("$LOCALAPPDATA/|~/AppData/Local")
	case "config":
		return m.place("windows:$APPDATA/|windows:~/AppData/Roaming|darwin:~/Library/Application Support|$xdg/")
	}
	return m.Getenv(name)
}

// Short returns a path as people write it: ~ for the user's folder.
func (m Machine) Short(path string) string {
	if rel, err := filepath.Rel(m.Home, path); err == nil && filepath.IsLocal(rel) && m.Home != "" {
		return filepath.Join("~", rel)
	}
	return path
}

// Command returns the words by which this program is started for longer than now. In a
// terminal it is the name by which PATH finds it; a client that is started from the desktop
// may not see that PATH, and needs the whole path. Where PATH finds the program, the path is
// not the one of the file that this leads to, which an upgrade may replace by another. A
// program that npx runs is called by npx, which may remove the file at any time; on Windows
// npx is a script, which many clients can start by the shell alone. A program that `go run`
// built has no words: an error says what to do.
func (m Machine) Command(fromDesktop bool) ([]string, error) {
	for part := range strings.SplitSeq(filepath.ToSlash(m.Executable), "/") {
		switch {
		case strings.HasPrefix(part, "go-build"):
			return nil, errors.New("`go run` builds this program for one run alone: " +
				"build it with `make build` and put bin/todo-mcp on your PATH")
		case part == "_npx" && m.System == "windows":
			return []string{"cmd", "/c", "npx", "-y", programName}, nil
		case part == "_npx":
			return []string{"npx", "-y", programName}, nil
		}
	}
	found, err := m.LookPath(programName)
	if err == nil && IsSameFile(found, m.Executable) {
		if !fromDesktop {
			return []string{programName}, nil
		}
		if found, err = filepath.Abs(found); err == nil {
			return []string{found}, nil
		}
	}
	return []string{m.Executable}, nil
}

// programName is what the command and the package on npm are called.
const programName = "todo-mcp"

// exists reports whether there is something by a name, also a link that leads nowhere.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// IsSameFile reports whether two paths lead to one file that is there.
func IsSameFile(a, b string) bool {
	x, xErr := os.Stat(a)
	y, yErr := os.Stat(b)
	return xErr == nil && yErr == nil && os.SameFile(x, y)
}

// folderExists reports whether there is the folder of a file.
func folderExists(path string) bool { return exists(filepath.Dir(path)) }

// Typed returns what a person types into a shell of this machine to run a command of this
// program: its name where PATH finds it, else its path, or `go run .` where that built it.
func (m Machine) Typed(words ...string) string {
	command, err := m.Command(false)
	if err != nil {
		command = []string{"go", "run", "."}
	}
	sh := shell.POSIX
	if m.System == "windows" {
		sh = shell.PowerShell
	}
	return sh.Command(append(command, words...)...)
}
