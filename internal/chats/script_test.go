//go:build e2e && linux

package chats

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

func groups() map[string][]where {
	all := func(holds func(where) bool) []where { return which(everywhere(), holds) }
	named := func(by chattest.Transport, names ...string) []where {
		return all(func(w where) bool { return (by == "" || w.by == by) && slices.Contains(names, w.name) })
	}
	return map[string][]where{
		"certain":            all(where.certain),
		"sharing":            append(all(func(w where) bool { return !w.certain() || w.shares }), where{inSession, known("claude-ai")}),
		"three":              threeCertain(),
		"http":               all(func(w where) bool { return w.by != stdio }),
		"sessions":           all(func(w where) bool { return w.by == inSession && w.certain() }),
		"http-certain":       all(func(w where) bool { return w.by != stdio && w.certain() }),
		"connected":          all(func(w where) bool { return w.by != sessionless }),
		"ids":                all(func(w where) bool { return w.by == stdio && w.tells() }),
		"ids-in-meta":        all(func(w where) bool { return w.meta != "" }),
		"ids-in-environment": all(func(w where) bool { return w.by == stdio && w.variable != "" }),
		"no-ids":             all(func(w where) bool { return w.by == stdio && !w.tells() }),
		"few-no-ids":         named(stdio, "gemini-cli-mcp-client", "opencode", "cursor-vscode", "my-agent"),
		"claude-code":        named(stdio, "claude-code"),
		"codex":              named("", "codex-mcp-client"),
		"closing":            named(stdio, "gemini-cli-mcp-client", "cursor-vscode"),
		"my-agent":           named("", "my-agent"),
	}
}

func (w where) tells() bool { return w.variable != "" || w.meta != "" }

// TestScripts plays the scenes in testdata ([chattest.Script]) in the group of places
// "in=GROUP", with the settings "env=A=B,C=D". Chats have options: id=ID, with=CHAT in
// whose connection it is, list=NAME, and server=2 with another server on the store, over
// HTTP. Lines beside the common ones:
//
//	kill a                    ends the chat's process as kill -9 does
//	person LIST EDIT          an edit on the panel's page
//	hook ID CALL              what a hook says of a call, from the chat with an id
//	clear ID NEXT             what hooks say of /clear: a chat ends, the next begins
//	run COMMAND               a command of the program
//	restart                   kills the server and starts the next at its address
//	board LISTS               these are open and not put away
//	count 2                   so many lists there are
//
// In the long form of the tests (TODO_LONG) each is played in all places of its group, else
// in one of each kind: scene n in the n-th of them, so that every client has scenes.
func TestScripts(t *testing.T) {
	n := 0
	chattest.EachScene(t, "testdata/*.txtar", func(t *testing.T, scene string) {
		in, settings := groups()[chattest.Setting(scene, "in")], chattest.Setting(scene, "env")
		if len(in) == 0 {
			t.Fatal("played nowhere")
		}
		if !programtest.Long() {
			in = oneOfEach(in, n)
		}
		n++
		each(t, in, func(p *place) {
			chattest.Play(p.T, &stage{p, make(map[string]*chat)}, scene)
		}, strings.FieldsFunc(settings, func(r rune) bool { return r == ',' })...)
	})
}

func oneOfEach(in []where, n int) (some []where) {
	kinds := map[string][]where{}
	for _, w := range in {
		kind := fmt.Sprint(w.by, w.shares, w.meta != "", w.variable != "")
		kinds[kind] = append(kinds[kind], w)
	}
	for _, of := range kinds {
		some = append(some, of[n%len(of)])
	}
	return some
}

type stage struct {
	*place
	chats map[string]*chat
}

func (s *stage) Begin(name string, options map[string]string) *chattest.Chat {
	if with := options["with"]; with != "" {
		s.chats[name] = s.chats[with].as(options["id"])
		if options["server"] != "" {
			s.chats[name].Chat = s.chats[name].At(s.another() + "/mcp")
		}
	} else {
		s.chats[name] = s.named(options["id"], options["list"])
	}
	return s.chats[name].Chat
}

func (s *stage) Does(of *chattest.Script, words []string) bool {
	switch words[0] {
	case "kill":
		if c := s.chats[words[1]]; c.process != nil {
			c.kill()
		}
	case "person":
		s.edit(words[1], strings.Join(words[2:], " "))
	case "hook":
		said := s.hook(words[1], fmt.Sprintf(`"hook_event_name":"PreToolUse","tool_name":"mcp__todo__TodoWrite","tool_input":{"todos":[]},"tool_use_id":%q,"mcp_server":{"name":"todo","source":"dynamic"}`, words[2]))
		if said != "" {
			s.Errorf("%s: the agent is told %s", of.Line, said)
		}
	case "clear":
		s.hook(words[1], `"hook_event_name":"SessionEnd","reason":"clear"`)
		s.hook(words[2], `"hook_event_name":"SessionStart","source":"clear"`)
	case "restart":
		s.served.Kill()
		s.serve(strings.TrimPrefix(s.url, "http://"))
	case "run":
		s.place.run(words[1:]...)
	case "board":
		s.onBoard(words[1:]...)
	case "count":
		var want int
		_, _ = fmt.Sscan(words[1], &want)
		s.expectLists(want)
	default:
		return false
	}
	return true
}

// Fact returns what people and front ends are shown of a list.
func (s *stage) Fact(list, word string) (string, bool) {
	switch word {
	case "told":
		return s.states()[list], true
	case "listed":
		return fmt.Sprint(strings.Contains(s.run("lists", "--json"), list)), true
	case "state":
		return s.lists()[list].State, true
	}
	l := s.shown(list)
	fact, known := map[string]string{"items": l.String(), "title": l.Title,
		"archived": fmt.Sprint(l.Archived), "revision": fmt.Sprint(l.Revision)}[word]
	return fact, known
}
