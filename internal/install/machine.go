package install

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/shell"
)

// Machine is the computer whose clients are configured.
type Machine struct {
	System     string // as [runtime.GOOS]
	Home       string // the user's folder
	Getenv     func(string) string
	LookPath   func(program string) (string, error)
	Executable string // the path of this program
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

// place returns the path of the first place in text that applies to this machine; empty for none. Places are separated
// by |. A place may begin with a system, such as windows:. It may contain ~ for the user's folder and $NAME for a
// variable, which must be an absolute path (as XDG's Base Directory Specification demands). A folder with * must exist.
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
		if path = filepath.Join(filepath.FromSlash(path)); !strings.Contains(text, "*") {
			return path
		}
		if found, _ := filepath.Glob(filepath.Dir(path)); len(found) > 0 {
			return filepath.Join(found[0], filepath.Base(path))
		}
	}
	return ""
}

// places calls place for each text.
func (m Machine) places(texts []string) (paths []string) {
	for _, text := range texts {
		paths = append(paths, m.place(text))
	}
	return paths
}

// folder returns the folder for a name: home (the user's), config (configurations), xdg (as config, but Linux's folder
// on all systems), local (local data on Windows). For another name it returns the environment variable of that name.
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

// Short returns a path with ~ for the user's folder.
func (m Machine) Short(path string) string {
	if rel, err := filepath.Rel(m.Home, path); err == nil && filepath.IsLocal(rel) && m.Home != "" {
		return filepath.Join("~", rel)
	}
	return path
}

// Command returns the words that start this program: its name if PATH finds it, else its path. A client started from
// the desktop may have another PATH, and always gets a path. That path may be a link, which is not resolved, since an
// upgrade may replace the file behind it. If npx runs this program, the words call npx, since npx may remove the file
// at any time; on Windows npx is a script, which needs cmd. If `go run` built this program, the error says what to do.
func (m Machine) Command(fromDesktop bool) ([]string, error) {
	for part := range strings.SplitSeq(filepath.ToSlash(m.Executable), "/") {
		switch {
		case strings.HasPrefix(part, "go-build"):
			return nil, errors.New("`go run` deletes this program when it ends: build it with `make build` and put bin/todo-mcp on your PATH")
		case part == "_npx" && m.System == "windows":
			return []string{"cmd", "/c", "npx", "-y", programName}, nil
		case part == "_npx":
			return []string{"npx", "-y", programName}, nil
		}
	}
	switch found, err := m.LookPath(programName); { // LookPath returns an error or an absolute path
	case err != nil || !IsSameFile(found, m.Executable):
		return []string{m.Executable}, nil
	case fromDesktop:
		return []string{found}, nil
	}
	return []string{programName}, nil
}

const programName = "todo-mcp" // the name of the command and of the package on npm

// exists reports whether there is a file, a folder or a link, even a broken link.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// IsSameFile reports whether two paths lead to the same existing file.
func IsSameFile(a, b string) bool {
	x, xErr := os.Stat(a)
	y, yErr := os.Stat(b)
	return xErr == nil && yErr == nil && os.SameFile(x, y)
}

func folderExists(path string) bool { return exists(filepath.Dir(path)) }

// Typed returns what a person types in a shell to run a command of this program.
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

const oneWord = `(?:"[^"]*"|'[^']*'|\\.|[^\s"'\\])+` // matches a word of a command

// shellForm matches a command that runs one program, perhaps with variables set. Groups: a runner of packages
// such as npx, the program, its first argument.
var shellForm = regexp.MustCompile(`^(?:\w+=` + oneWord + `\s+)*(?:&\s+)?((?:\S*[/\\])?(?:npx|bunx|pnpx)(?:\.cmd)?\s+(?:(?:-y|--yes)\s+)*)?(` +
	oneWord + `)\s+([a-z]+)(?:\s(?:[^;|&<>` + "`" + `\n$]|\$[^(])*)?$`)

// runs reports whether a shell command does nothing but run this program with name as its first argument.
func (m Machine) runs(command any, name string) bool {
	text, _ := command.(string)
	at := shellForm.FindStringSubmatch(text)
	if at == nil || at[3] != name {
		return false
	}
	word := strings.NewReplacer(`'\''`, "'", `"`, "", "'", "").Replace(at[2]) // as the shell reads it
	return programForm.MatchString(word) || at[1] == "" && m.isProgram(word)
}

// isProgram reports whether a path, of any system, or a name is that of this program.
func (m Machine) isProgram(command string) bool {
	return programForm.MatchString(command[1+strings.LastIndexAny(command, `/\`):]) || m.isThis(command)
}

// isThis reports whether an absolute path leads to the file of this program.
func (m Machine) isThis(path string) bool {
	return filepath.IsAbs(path) && IsSameFile(path, m.Executable)
}

// storeOf returns the arguments --store and --config with their values.
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
