package install

import (
	"path/filepath"
	"regexp"
	"strings"
)

// oneWord matches a word of a command.
const oneWord = `(?:"[^"]*"|'[^']*'|\\.|[^\s"'\\])+`

// shellForm matches a command that runs one program, perhaps with variables set. Groups: a runner of packages
// such as npx, the program, its first argument.
var shellForm = regexp.MustCompile(`^(?:\w+=` + oneWord + `\s+)*(?:&\s+)?((?:\S*[/\\])?(?:npx|bunx|pnpx)(?:\.cmd)?\s+(?:(?:-y|--yes)\s+)*)?(` +
	oneWord + `)\s+([a-z]+)(?:\s(?:[^;|&<>` + "`" + `\n$]|\$[^(])*)?$`)

// runs reports whether a shell command only runs this program's command with a name.
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
