package servertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
)

// Script is a scene of chats ([chattest.Scene]) as it is played. Its commands:
//
//	a b = OPTIONS             begins chats a and b with options of the stage; @ is the chat's
//	                          name, and {MEMBERS} are members of _meta
//	a writes PLAN             calls TodoWrite with a plan in short form; also: adds A, B; sets ID STATUS
//	a calls TOOL ARGUMENTS    calls any tool, with JSON or a plan in short form
//	a asks METHOD PARAMS      sends any request; also: reads URI; resumes LIST; prompts NAME ARGUMENTS
//	a opens PATH              gets a page of the chat's server
//	a shows PLAN              checks that todo://list now has this plan
//	message                   answers with the whole last answer as JSON
//	let x = a                 sets $x to the id of the list of chat a; with "= list" to that of the
//	                          last answer's list, with "= answer" to the last answer's text
//	same LIST, another LIST   checks that the last answer is about LIST, or about a different list
//	is LIST k=v; k=v          checks facts that the stage knows about a list
type Script struct {
	testing.TB
	Chats  map[string]*Chat
	Vars   map[string]string
	Answer Answer // the last answer
	Line   string

	stage Stage
}

// Stage provides the servers and chats of a script.
type Stage interface {
	// Begin begins a chat with a name.
	Begin(name string, options map[string]string) *Chat
	// Does plays a line that only the stage knows. It returns false for an unknown line.
	Does(s *Script, words []string) bool
	// Fact returns a list's actual value of k for a line "is LIST k=v"; false for an unknown k.
	Fact(list, word string) (string, bool)
}

// Play plays a scene.
func Play(t testing.TB, stage Stage, scene chattest.Scene) {
	s := &Script{TB: t, stage: stage, Chats: make(map[string]*Chat), Vars: make(map[string]string)}
	scene.Play(t, s.Vars, s.does)
}

// does carries out a line. If asked is false, the scene has no answer below the line, and any answer will do.
func (s *Script) does(line string, asked bool) (answer string, refused error) {
	s.Line = line
	first, rest, _ := strings.Cut(line, " ")
	words := strings.Fields(line)
	names, options, begins := strings.Cut(line, " = ")
	switch c := s.Chats[first]; {
	case line == "message":
		return s.Answer.Raw, nil
	case first == "let":
		s.let(words[1], words[3])
	case first == "same" || first == "another":
		if got := s.Answer.List(); got == "" || (got == words[1]) != (first == "same") {
			s.Errorf("%s: the call means list %q: %s", line, got, s.Answer.Raw)
		}
	case first == "is":
		s.is(words[1], strings.TrimPrefix(rest, words[1]))
	case c != nil && s.says(c, rest):
		if refused = s.Answer.Refused(); refused != nil && s.Answer.Error == nil {
			s.Answer.Fails()
		}
		if asked {
			answer = s.Answer.Text()
		}
	case begins && !strings.Contains(names, "{"):
		s.begins(strings.Fields(names), options)
	case !s.stage.Does(s, words):
		s.Fatalf("nobody knows how to play %q", line)
	}
	return answer, refused
}

func (s *Script) begins(names []string, options string) {
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

// says carries out a chat's command, such as "writes PLAN", and keeps the answer. It returns false for an unknown verb.
func (s *Script) says(c *Chat, line string) bool {
	verb, rest, _ := strings.Cut(line, " ")
	first, args, _ := strings.Cut(rest, " ")
	switch verb {
	case "writes":
		s.Answer = c.Calls("TodoWrite", Arguments("TodoWrite", rest))
	case "adds":
		s.Answer = c.Calls("create_todos", Steps(strings.Split(rest, ", ")...))
	case "sets":
		s.Answer = c.Sets(first, args)
	case "calls":
		if !strings.HasPrefix(args, "{") {
			args = Arguments(first, args)
		}
		s.Answer = c.Calls(first, args)
	case "asks":
		s.Answer = c.Asks(first, args)
	case "reads":
		s.Answer = c.Asks("resources/read", fmt.Sprintf(`{"uri":%q}`, rest))
	case "resumes":
		s.Answer = c.Resume(rest)
	case "prompts":
		s.Answer = c.Prompt(first, args)
	case "opens":
		var page Answer
		page.chat, page.call = c, rest
		page.Result.Content = append(page.Result.Content, struct {
			Text string `json:"text"`
		}{c.Get(rest)})
		s.Answer = page
	case "shows":
		s.Answer = Answer{}
		c.Shows(rest)
	default:
		return false
	}
	return true
}

func (s *Script) let(name, of string) {
	switch of {
	case "answer":
		s.Vars[name] = s.Answer.Text()
	case "list":
		s.Vars[name] = s.Answer.List()
	default:
		s.Vars[name] = s.Chats[of].Current()
	}
}

// is checks facts about a list.
func (s *Script) is(list, want string) {
	for fact := range strings.SplitSeq(want, ";") {
		word, value, _ := strings.Cut(strings.TrimSpace(fact), "=")
		if got, known := s.stage.Fact(list, word); !known || got != value {
			s.Errorf("%s: %s is %q", s.Line, word, got)
		}
	}
}
