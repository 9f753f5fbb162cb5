package server_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"todo-mcp/internal/chattest"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
)

// TestScripts plays the conversations in testdata on each transport, or on those in
// "over=stdio,session". With "on=file" a server opens the store as another process does.
//
//	for x = A | B             the scene is played with each in place of $x;
//	for x, y = A & B | C & D  or with each pair
//	a b = OPTIONS             chats: client=NAME (_ is a space), conversation=ID, agent=NAME,
//	                          {MEMBERS OF _META}, server=2, env=ID of the chat, list=NAME of the
//	                          server, link=NAME by the URL over HTTP; @ is the chat's name
//	a writes PLAN             TodoWrite of a plan in short; adds A, B; sets ID STATUS
//	a calls TOOL ARGUMENTS    any tool, with JSON or a plan in short
//	a asks METHOD PARAMS      any request; reads URI; resumes LIST; prompts NAME ARGUMENTS
//	a shows PLAN              what todo://list has now
//	a follows b               subscribes to todo://list, with the chat b as beacon
//	a is told, is not told    of todo://list, since it was asked last
//	let x = a                 $x is the id of the chat's list; of the newest one, or the
//	                          text of the answer, if a is "newest" or "answer"
//	person LIST EDIT          an edit as the panel makes it
//	foreign KEY               makes a list of another principal, $foreign, for a key
//	hook ID PROPERTIES        what a hook said of a call: session=, agent=, folder=, of=PRINCIPAL
//	lists A | B               all lists, the one written last first; "empty" is one, "none" is no list
//	is LIST k=v; k=v          what is stored of a list (facts)
//	stop 1                    ends a server in good order
//
// Below what was done stands what its answer has ("+ "), lacks ("- "), is ("= ") or is
// refused with ("! ").
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			for _, scene := range alternatives(string(f.Data)) {
				t.Run(filepath.Base(path)+"/"+f.Name, func(t *testing.T) { play(t, scene) })
			}
		}
	}
}

var (
	choice     = regexp.MustCompile(`(?m)^for (.+?) = (.*)\n`)
	over       = regexp.MustCompile(`\bover=(\S+)`)
	repetition = regexp.MustCompile(`\$\((\w)\*(\d+)\)`)
	aside      = regexp.MustCompile(`^(#|over=|on=|$)`)
	variable   = regexp.MustCompile(`\$\w+`)
)

// alternatives returns a scene with each of its choices.
func alternatives(scene string) (all []string) {
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
		all = append(all, alternatives(scene)...)
	}
	return all
}

// play plays a scene on its transports.
func play(t *testing.T, scene string) {
	var transports []chattest.Transport
	if m := over.FindStringSubmatch(scene); m != nil {
		names := map[string]chattest.Transport{"stdio": chattest.Stdio, "stdio-modern": chattest.StdioModern,
			"session": chattest.Session, "sessionless": chattest.Sessionless}
		for name := range strings.SplitSeq(m[1], ",") {
			transports = append(transports, names[name])
		}
	}
	if strings.Contains(scene, "on=file") {
		chattest.OverFile(t, func(_ *chattest.Rig, open func() *chattest.Rig) { run(open(), open, scene) }, transports...)
		return
	}
	chattest.Over(t, func(r *chattest.Rig) { run(r, func() *chattest.Rig { return r }, scene) }, transports...)
}

// story is a scene as it is played.
type story struct {
	*chattest.Rig
	open    func() *chattest.Rig
	servers map[string]*chattest.Server
	conns   map[string]*chattest.Chat // by server and client
	chats   map[string]*chattest.Chat
	beacons map[string]*chattest.Beacon // by the chat that follows
	vars    map[string]string
	answer  chattest.Answer // the last one
	line    string
	refused bool // whether the line is to be refused
}

func run(r *chattest.Rig, open func() *chattest.Rig, scene string) {
	s := &story{Rig: r, open: open, servers: make(map[string]*chattest.Server), conns: make(map[string]*chattest.Chat),
		chats: make(map[string]*chattest.Chat), beacons: make(map[string]*chattest.Beacon), vars: make(map[string]string)}
	lines := strings.Split(strings.TrimSpace(scene), "\n")
	for n, line := range lines {
		if aside.MatchString(line) {
			continue
		}
		s.line = variable.ReplaceAllStringFunc(line, s.value)
		s.refused = n+1 < len(lines) && strings.HasPrefix(lines[n+1], "!")
		first, rest, _ := strings.Cut(s.line, " ")
		s.does(first, rest)
	}
}

// value returns the value of a variable.
func (s *story) value(name string) string {
	value, known := s.vars[name[1:]]
	if !known {
		s.Fatalf("nothing is called %s", name)
	}
	return value
}

// does does what a line says.
func (s *story) does(first, rest string) {
	words := strings.Fields(rest)
	switch first {
	case "+", "-", "=", "!":
		s.expect(first, rest)
	case "let":
		s.let(words[0], words[2])
	case "lists":
		s.Expect(plans(rest)...)
	case "is":
		s.facts(words[0], strings.TrimPrefix(rest, words[0]))
	case "foreign":
		target := todo.Target{Conversation: todo.Conversation{Key: rest}, Append: true}
		s.vars["foreign"] = s.Write("somebody", todo.Write{Target: target, Change: chattest.Adds("theirs")}).List.ID
	case "hook":
		p := properties(words[1:])
		hookSays(s.Rig, p["of"], todo.HostCall{ID: words[0], Session: p["session"], Agent: p["agent"], Folder: p["folder"]}, time.Now())
	case "person":
		var edit todo.Edit
		if err := json.Unmarshal([]byte(strings.TrimPrefix(rest, words[0])), &edit); err != nil {
			s.Fatalf("%s: %v", s.line, err)
		}
		s.Edit(words[0], edit)
	case "stop":
		s.stop(rest)
	default:
		if names, options, ok := strings.Cut(s.line, " = "); ok && !strings.ContainsAny(names, "{") {
			s.meet(strings.Fields(names), options)
			return
		}
		verb, rest, _ := strings.Cut(rest, " ")
		s.says(first, s.chats[first], verb, rest)
	}
}

// meet begins chats with some options.
func (s *story) meet(names []string, options string) {
	options = repetition.ReplaceAllStringFunc(options, func(m string) string {
		of := repetition.FindStringSubmatch(m)
		n, _ := strconv.Atoi(of[2])
		return strings.Repeat(of[1], n)
	})
	for _, name := range names {
		s.chats[name] = s.chat(name, strings.Fields(strings.ReplaceAll(options, "@", name)))
	}
}

// says lets a chat say something.
func (s *story) says(name string, c *chattest.Chat, verb, rest string) {
	if c == nil {
		s.Fatalf("nobody is called %q: %s", name, s.line)
	}
	first, args, _ := strings.Cut(rest, " ")
	switch verb {
	case "writes":
		s.answered(c.Calls("TodoWrite", chattest.Arguments("TodoWrite", rest)))
	case "adds":
		s.answered(c.Calls("create_todos", chattest.Steps(strings.Split(rest, ", ")...)))
	case "sets":
		s.answered(c.Sets(first, args))
	case "calls":
		if !strings.HasPrefix(args, "{") {
			args = chattest.Arguments(first, args)
		}
		s.answered(c.Calls(first, args))
	case "asks":
		s.answered(c.Asks(first, args))
	case "reads":
		s.answered(c.Asks("resources/read", fmt.Sprintf(`{"uri":%q}`, rest)))
	case "resumes":
		s.answered(c.Resume(rest))
	case "prompts":
		s.answered(c.Prompt(first, args))
	case "opens":
		s.page(c.Get(rest))
	case "shows":
		c.Shows(rest)
	case "follows":
		s.beacons[name] = s.chats[rest].Beacon()
		c.Subscribes("todo://list", s.beacons[name].URI)
	case "is":
		told(c, s.beacons[name], rest == "told", s.line)
	default:
		s.Fatalf("unknown: %s", s.line)
	}
}

// answered takes an answer, which is a refusal only where the next line says so.
func (s *story) answered(a chattest.Answer) {
	if err := a.Refused(); err != nil && !s.refused {
		s.Fatalf("%s: is refused: %v", s.line, err)
	}
	s.answer = a
}

// expect checks the last answer.
func (s *story) expect(sign, text string) {
	if quoted, err := strconv.Unquote(text); err == nil {
		text = quoted
	}
	switch sign {
	case "+":
		s.answer.Says(text)
	case "-":
		s.answer.Lacks(text)
	case "=":
		s.answer.Is(text)
	case "!":
		if s.answer.Error == nil {
			s.answer.Fails()
		}
		s.answer.Says(text)
	}
}

// page takes the text of a page as the answer.
func (s *story) page(text string) {
	s.answer.Error = nil
	s.answer.Result.Content = []struct {
		Text string `json:"text"`
	}{{text}}
}

func (s *story) let(name, of string) {
	switch of {
	case "answer":
		s.vars[name] = strconv.Quote(s.answer.Text())
	case "newest":
		s.vars[name] = s.Newest()
	default:
		s.vars[name] = s.chats[of].Current()
	}
}

// plans returns lists in short; "empty" is one without items.
func plans(text string) (all []string) {
	if text == "none" {
		return nil
	}
	for plan := range strings.SplitSeq(text, " | ") {
		if plan == "empty" {
			plan = ""
		}
		all = append(all, plan)
	}
	return all
}

// facts checks what is stored of a list.
func (s *story) facts(list, want string) {
	l := s.Load(list)
	agents := s.Subs(list)
	slices.Sort(agents)
	got := map[string]string{
		"revision": fmt.Sprint(l.Revision), "archived": fmt.Sprint(l.Archived), "replaced-by": l.ReplacedBy,
		"board": fmt.Sprint(l.OnBoard(time.Now())), "title": l.Title(), "items": chattest.Show(l.Items),
		"agent": l.List.Agent, "parent": l.List.Parent, "chat": l.List.Conversation, "folder": l.List.Workspace,
		"subs": strings.Join(agents, ", "),
	}
	for fact := range strings.SplitSeq(want, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(fact), "=")
		if is, known := got[name]; !known || is != value {
			s.Errorf("%s: %s is %q", s.line, name, is)
		}
	}
}

func properties(words []string) map[string]string {
	p := make(map[string]string)
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		p[name] = value
	}
	return p
}

// chat begins a chat, on a connection that those of its client share.
func (s *story) chat(name string, options []string) *chattest.Chat {
	p := properties(options)
	list := p["list"]
	if s.By.Piped() {
		list += p["link"]
	}
	at := cmp.Or(p["server"], "1") + " " + list + " " + p["env"]
	if s.servers[at] == nil {
		s.servers[at] = s.open().Start(func(c *server.Config) {
			if c.List = list; p["env"] != "" {
				c.Getenv = func(string) string { return p["env"] }
			}
		})
	}
	client := strings.ReplaceAll(cmp.Or(p["client"], "tester"), "_", " ")
	by := at + " " + client
	if s.conns[by] == nil {
		s.conns[by] = s.servers[at].Chat(client)
	}
	c := s.conns[by].With("")
	if p["link"] != "" && !s.By.Piped() {
		c = c.At(c.URL + "?list=" + p["link"])
	}
	if id := p["conversation"]; id != "" {
		c = c.Conversation(id)
	}
	if agent := p["agent"]; agent != "" {
		c = c.Agent(agent)
	}
	for _, word := range options {
		if strings.HasPrefix(word, "{") {
			c = c.And("%s", word[1:len(word)-1])
		}
	}
	return c
}

// stop ends a server in good order; who comes next finds another one.
func (s *story) stop(number string) {
	for at, server := range s.servers {
		if strings.HasPrefix(at, number+" ") {
			server.End()
			delete(s.servers, at)
		}
	}
	for by := range s.conns {
		if strings.HasPrefix(by, number+" ") {
			delete(s.conns, by)
		}
	}
}
