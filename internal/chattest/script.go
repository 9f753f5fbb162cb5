package chattest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Script is a scene as it is played: what chats do in turn, a line for each.
//
//	for x = A | B             the scene is played with each in place of $x;
//	for x, y = A & B | C & D  or with each pair
//	key=value                 where it is played, which a [Stage] reads
//	a b = OPTIONS             begins chats, as the stage does; @ is the chat's name, and
//	                          {MEMBERS} are members of _meta
//	a writes PLAN             TodoWrite of a plan in short; adds A, B; sets ID STATUS
//	a calls TOOL ARGUMENTS    any tool, with JSON or a plan in short
//	a asks METHOD PARAMS      any request; reads URI; resumes LIST; prompts NAME ARGUMENTS
//	a opens PATH              a page of the chat's server
//	a shows PLAN              what todo://list has now
//	let x = a                 $x is the id of the chat's list; of the answer's, or the text
//	                          of the answer, if a is "list" or "answer"
//	same LIST, another LIST   whether the answer means a list
//	is LIST k=v; k=v          what a stage knows of a list
//
// Below what was done stands what its answer has ("+ "), lacks ("- "), is ("= ") or is
// refused with ("! "), and what its message has ("~ ") or lacks ("^ "). Another
// refusal fails the test.
type Script struct {
	testing.TB
	Chats  map[string]*Chat
	Vars   map[string]string
	Answer Answer // the last one
	Line   string

	stage   Stage
	refused bool // whether the line is to be refused
}

// Stage is where a script is played.
type Stage interface {
	// Begin begins a chat with a name.
	Begin(name string, options map[string]string) *Chat
	// Does does what a line says that only the stage knows; false when it does not either.
	Does(s *Script, words []string) bool
	// Fact returns what is known of a list, by a word; false for an unknown word.
	Fact(list, word string) (string, bool)
}

// EachScene runs a test with each scene of the txtar files of a pattern, once for each
// of its choices.
func EachScene(t *testing.T, pattern string, run func(t *testing.T, scene string)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal(pattern, files, err)
	}
	for _, path := range files {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			for _, scene := range choices(string(f.Data)) {
				t.Run(filepath.Base(path)+"/"+f.Name, func(t *testing.T) { run(t, scene) })
			}
		}
	}
}

var (
	choice     = regexp.MustCompile(`(?m)^for (.+?) = (.*)\n`)
	repetition = regexp.MustCompile(`\$\((\w)\*(\d+)\)`)
	aside      = regexp.MustCompile(`^(#|\w+=|$)`)
	variable   = regexp.MustCompile(`\$\w+`)
)

// choices returns a scene with each of its choices.
func choices(scene string) (all []string) {
	m := choice.FindStringSubmatch(scene)
	if m == nil {
		return []string{scene}
	}
	rest := strings.Replace(scene, m[0], "", 1)
	for one := range strings.SplitSeq(m[2], " | ") {
		scene := rest
		for n, value := range strings.Split(one, " & ") {
			scene = strings.ReplaceAll(scene, "$"+strings.Split(m[1], ", ")[n], value)
		}
		all = append(all, choices(scene)...)
	}
	return all
}

// Setting returns a value of a scene, by its key; empty when there is none.
func Setting(scene, key string) string {
	m := regexp.MustCompile(`(?m)(?:^| )` + key + `=(\S+)`).FindStringSubmatch(scene)
	if m == nil {
		return ""
	}
	return m[1]
}

// Play plays a scene.
func Play(t testing.TB, stage Stage, scene string) {
	s := &Script{TB: t, stage: stage, Chats: make(map[string]*Chat), Vars: make(map[string]string)}
	lines := strings.Split(strings.TrimSpace(scene), "\n")
	for n, line := range lines {
		if aside.MatchString(line) {
			continue
		}
		s.Line = variable.ReplaceAllStringFunc(line, s.value)
		s.refused = n+1 < len(lines) && strings.HasPrefix(lines[n+1], "!")
		s.does()
	}
}

func (s *Script) value(name string) string {
	value, known := s.Vars[name[1:]]
	if !known {
		s.Fatalf("nothing is called %s", name)
	}
	return value
}

// does does what the line says.
func (s *Script) does() {
	first, rest, _ := strings.Cut(s.Line, " ")
	words := strings.Fields(s.Line)
	names, options, begins := strings.Cut(s.Line, " = ")
	switch {
	case strings.Contains("+-=!~^", first):
		s.expects(first, rest)
	case first == "let":
		s.let(words[1], words[3])
	case first == "same" || first == "another":
		if got := s.Answer.List(); got == "" || (got == words[1]) != (first == "same") {
			s.Errorf("%s: the call means list %q: %s", s.Line, got, s.Answer.Raw)
		}
	case first == "is":
		s.is(words[1], strings.TrimPrefix(rest, words[1]))
	case s.Chats[first] != nil && s.says(s.Chats[first], rest):
	case begins && !strings.Contains(names, "{"):
		s.begins(strings.Fields(names), options)
	case !s.stage.Does(s, words):
		s.Fatalf("nobody knows how to play %q", s.Line)
	}
}

func (s *Script) begins(names []string, options string) {
	options = repetition.ReplaceAllStringFunc(options, func(m string) string {
		of := repetition.FindStringSubmatch(m)
		n, _ := strconv.Atoi(of[2])
		return strings.Repeat(of[1], n)
	})
	for _, name := range names {
		p, meta := make(map[string]string), ""
		for word := range strings.FieldsSeq(strings.ReplaceAll(options, "@", name)) {
			if strings.HasPrefix(word, "{") {
				meta = word[1 : len(word)-1]
				continue
			}
			key, value, _ := strings.Cut(word, "=")
			p[key] = value
		}
		c := s.stage.Begin(name, p)
		if meta != "" {
			c = c.And("%s", meta)
		}
		s.Chats[name] = c
	}
}

// says lets a chat say something. It returns false when the verb is unknown.
func (s *Script) says(c *Chat, line string) bool {
	verb, rest, _ := strings.Cut(line, " ")
	first, args, _ := strings.Cut(rest, " ")
	switch verb {
	case "writes":
		s.Answers(c.Calls("TodoWrite", Arguments("TodoWrite", rest)))
	case "adds":
		s.Answers(c.Calls("create_todos", Steps(strings.Split(rest, ", ")...)))
	case "sets":
		s.Answers(c.Sets(first, args))
	case "calls":
		if !strings.HasPrefix(args, "{") {
			args = Arguments(first, args)
		}
		s.Answers(c.Calls(first, args))
	case "asks":
		s.Answers(c.Asks(first, args))
	case "reads":
		s.Answers(c.Asks("resources/read", fmt.Sprintf(`{"uri":%q}`, rest)))
	case "resumes":
		s.Answers(c.Resume(rest))
	case "prompts":
		s.Answers(c.Prompt(first, args))
	case "opens":
		var page Answer
		page.chat, page.call = c, rest
		page.Result.Content = append(page.Result.Content, struct {
			Text string `json:"text"`
		}{c.Get(rest)})
		s.Answers(page)
	case "shows":
		c.Shows(rest)
	default:
		return false
	}
	return true
}

// Answers takes an answer, which is a refusal only where the next line says so.
func (s *Script) Answers(a Answer) {
	if err := a.Refused(); err != nil && !s.refused {
		s.Fatalf("%s: is refused: %v", s.Line, err)
	}
	s.Answer = a
}

// expects checks the last answer.
func (s *Script) expects(sign, text string) {
	if quoted, err := strconv.Unquote(text); err == nil {
		text = quoted
	}
	switch sign {
	case "+":
		s.Answer.Says(text)
	case "-":
		s.Answer.Lacks(text)
	case "=":
		s.Answer.Is(text)
	case "~", "^":
		if strings.Contains(s.Answer.Raw, text) != (sign == "~") {
			s.Errorf("%s: %s", s.Line, s.Answer.Raw)
		}
	case "!":
		if s.Answer.Error == nil {
			s.Answer.Fails()
		}
		s.Answer.Says(text)
	}
}

func (s *Script) let(name, of string) {
	switch of {
	case "answer":
		s.Vars[name] = strconv.Quote(s.Answer.Text())
	case "list":
		s.Vars[name] = s.Answer.List()
	default:
		s.Vars[name] = s.Chats[of].Current()
	}
}

// is checks facts of a list.
func (s *Script) is(list, want string) {
	for fact := range strings.SplitSeq(want, ";") {
		word, value, _ := strings.Cut(strings.TrimSpace(fact), "=")
		if got, known := s.stage.Fact(list, word); !known || got != value {
			s.Errorf("%s: %s is %q", s.Line, word, got)
		}
	}
}
