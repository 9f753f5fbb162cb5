// Package chattest reads the notations in which tests describe chats: scripts ([Scene]) and plans
// in short form ([ParsePlan]).
package chattest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
)

// Scene is one file of a script, which is a txtar archive: commands and, below each, the expected
// answer. All scripts of tests have this form; each test defines its own commands.
//
//	for x = A | B             the scene is played with each value in place of $x,
//	for x, y = A & B | C & D  or with each pair
//	key=value                 settings
//	# comment
//	> command
//	answer                    the whole answer, or its beginning and a last line "…"
//
// Lines of checks may replace the answer: a text that it has ("+ text"), a text that it lacks
// ("- text"), a text of the refusal ("! text"). The text may be quoted as in Go.
// $(x*200) is 200 times an x.
type Scene struct {
	text   string
	choice map[string]string
	update func(text string) // receives the scene with the actual answers; nil: compare them
}

// Scenes runs a test with each scene of the txtar files that match a pattern, once for each choice of
// its variables. With update it writes the actual answers into the files instead of comparing them.
func Scenes(t *testing.T, pattern string, update bool, run func(t *testing.T, s Scene)) {
	t.Helper()
	files := checktest.Must(filepath.Glob(pattern))(t)
	if len(files) == 0 {
		t.Fatalf("no script is %s", pattern)
	}
	for _, path := range files {
		data := checktest.Must(os.ReadFile(path))(t)
		archive := txtar.Parse(data)
		for n := range archive.Files {
			f := &archive.Files[n]
			for _, choice := range choices(string(f.Data)) {
				s := Scene{text: string(f.Data), choice: choice}
				if update {
					s.update = func(text string) { f.Data = []byte(text) }
				}
				t.Run(filepath.Base(path)+"/"+f.Name, func(t *testing.T) { run(t, s) })
			}
		}
		t.Cleanup(func() {
			if now := txtar.Format(archive); update && !bytes.Equal(now, data) {
				checktest.Check(t, os.WriteFile(path, now, 0o644))
			}
		})
	}
}

var (
	choiceLine = regexp.MustCompile(`(?m)^for (.+?) = (.*)$`)
	variable   = regexp.MustCompile(`\$\w+`)
	repetition = regexp.MustCompile(`\$\(([^$]+?)\*(\d+)\)`)
	checks     = regexp.MustCompile(`^[+!-] `)
	behind     = regexp.MustCompile(`(^|\n)(#( .*)?\n|\n)*(#( .*)?)?$|$`) // empty lines and comments behind an answer
)

// choices returns the values of a scene's variables, a map for each time that the scene is played.
func choices(scene string) []map[string]string {
	all := []map[string]string{{}}
	for _, m := range choiceLine.FindAllStringSubmatch(scene, -1) {
		var with []map[string]string
		for _, before := range all {
			for one := range strings.SplitSeq(m[2], " | ") {
				choice := maps.Clone(before)
				for n, value := range strings.Split(one, " & ") {
					choice[strings.Split(m[1], ", ")[n]] = value
				}
				with = append(with, choice)
			}
		}
		all = with
	}
	return all
}

// expand replaces variables and repetitions in a text; unknown variables stay.
func expand(text string, all ...map[string]string) string {
	for _, vars := range all {
		text = variable.ReplaceAllStringFunc(text, func(name string) string {
			if value, known := vars[name[1:]]; known {
				return value
			}
			return name
		})
	}
	for repetition.MatchString(text) { // the inner ones first
		text = repetition.ReplaceAllStringFunc(text, func(m string) string {
			found := repetition.FindStringSubmatch(m)
			n, _ := strconv.Atoi(found[2])
			return strings.Repeat(found[1], n)
		})
	}
	return text
}

// Setting returns a setting of the scene, which stands before its commands; empty for none.
func (s Scene) Setting(key string) string {
	head, _, _ := strings.Cut("\n"+s.text, "\n> ")
	m := regexp.MustCompile(`(?m)(?:^| )` + key + `=(\S+)`).FindStringSubmatch(expand(choiceLine.ReplaceAllString(head, ""), s.choice))
	if m == nil {
		return ""
	}
	return m[1]
}

// Play runs the commands in turn, by calling the function do, and checks their answers. vars has the value of each
// "$name"; a command may add names, and an unknown name fails the test. With nil vars, names are plain text. asked is
// true if an answer stands below the command.
func (s Scene) Play(t testing.TB, vars map[string]string, do func(command string, asked bool) (answer string, refused error)) {
	t.Helper()
	parts := strings.Split("\n"+s.text, "\n> ")
	for n, part := range parts[1:] {
		command, rest, _ := strings.Cut(part, "\n")
		at := behind.FindStringIndex(rest)[0]
		want, aside := rest[:at], strings.TrimPrefix(rest[at:], "\n")
		for _, name := range variable.FindAllString(expand(command+"\n"+want, s.choice), -1) {
			if _, known := vars[name[1:]]; !known && vars != nil { // else a check "- $typo" would pass
				t.Fatalf("> %.1000s\nnothing is called %s", command, name)
			}
		}
		got, refused := do(expand(command, s.choice, vars), want != "")
		got = strings.TrimRight(got, "\n")
		problem := differs(expand(want, s.choice, vars), got, refused)
		switch {
		case problem == "":
		case s.update != nil && refused != nil:
			want = "! " + refused.Error()
		case s.update != nil:
			want = got
		case refused != nil:
			t.Fatalf("> %.1000s\n%s", command, problem)
		default:
			t.Errorf("> %.1000s\n%s", command, problem)
		}
		parts[n+1] = strings.TrimSuffix(strings.Join(slices.DeleteFunc([]string{command, want, aside}, func(s string) bool { return s == "" }), "\n"), "\n")
	}
	if s.update != nil {
		s.update(strings.TrimPrefix(strings.Join(parts, "\n> "), "\n"))
	}
}

// differs says how an answer differs from the wanted one; empty when it does not.
func differs(want, got string, refused error) string {
	head, isHead := strings.CutSuffix("\n"+want, "\n…")
	switch {
	case checks.MatchString(want):
		return fails(want, got, refused)
	case refused != nil:
		return "is refused: " + refused.Error()
	case got == want || isHead && strings.HasPrefix("\n"+got, head):
		return ""
	}
	return "(-want +got)\n" + cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"))
}

// fails describes the first check that an answer does not pass; empty if it passes all.
func fails(all, got string, refused error) string {
	if refused != nil {
		got = refused.Error()
	}
	if isRefused := strings.Contains("\n"+all, "\n! "); isRefused != (refused != nil) {
		return fmt.Sprintf("refused: %t, want %t: %s", refused != nil, isRefused, got)
	}
	for check := range strings.SplitSeq(all, "\n") {
		sign, text, _ := strings.Cut(check, " ")
		if unquoted, err := strconv.Unquote(text); err == nil {
			text = unquoted
		}
		if !checks.MatchString(check) || strings.Contains(got, text) != (sign != "-") {
			return check + "\nis not true of\n" + got
		}
	}
	return ""
}
