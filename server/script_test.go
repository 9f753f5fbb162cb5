package server_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// TestScripts plays the conversations in testdata ([servertest.Script]) on each transport, or only on those in a
// setting "over=stdio,session". With "on=file" each server opens the same SQLite file, as another process would. Chats
// have options: client=NAME (_ is a space), conversation=ID, agent=NAME, server=2, env=ID of the chat, list=NAME of the
// server, link=NAME of a list in the URL, host=ID of the server's host, panel=URL, most=1 and all=5 (subscription
// limits), own=NAME of a connection, roots (the client declares them), answers=MEMBERS OF inputResponses, root=URI
// (answers with this root), header=PATH of the folder over HTTP. Beside the common lines there are:
//
//	a is asked METHOD PARAMS   the answer is a question for roots
//	a follows b           a subscribes to todo://list and to b's list, the beacon
//	a is told, a is not told   whether a was notified of todo://list since the last such line
//	complete              the answer has the resultType "complete"
//	newest x              sets $x to the id of the list written last
//	person LIST EDIT      an edit as the panel makes it
//	foreign KEY           $foreign becomes a list of another principal's conversation KEY
//	hook ID PROPERTIES    a hook's report about the call ID: session=, agent=, folder=, by= a principal,
//	                      old= so long ago that it has expired
//	host ID PROPERTIES    a hook's report about its host's process ID
//	lists A | B           all lists, last written first; "empty" is one without items
//	none                  there is no list
//	stop 1                ends a server in good order
func TestScripts(t *testing.T) {
	chattest.Scenes(t, "testdata/*.txtar", *update, func(t *testing.T, scene chattest.Scene) {
		var transports []servertest.Transport
		names := map[string]servertest.Transport{"stdio": servertest.Stdio, "stdio-modern": servertest.StdioModern,
			"session": servertest.Session, "sessionless": servertest.Sessionless}
		for name := range strings.SplitSeq(scene.Setting("over"), ",") {
			if by, known := names[name]; known {
				transports = append(transports, by)
			} else if name != "" {
				t.Fatalf("no transport is called %s", name)
			}
		}
		if scene.Setting("on") == "file" {
			servertest.OverFile(t, func(r *servertest.Rig, open func() *servertest.Rig) {
				servertest.Play(r.T, newStage(r, open), scene)
			}, transports...)
			return
		}
		servertest.Over(t, func(r *servertest.Rig) {
			servertest.Play(r.T, newStage(r, func() *servertest.Rig { return r }), scene)
		}, transports...)
	})
}

type stage struct {
	*servertest.Rig
	open    func() *servertest.Rig
	servers map[string]*servertest.Server
	conns   map[string]*servertest.Chat   // by server, client and own=
	beacons map[string]*servertest.Beacon // by the chat that follows it
}

func newStage(r *servertest.Rig, open func() *servertest.Rig) *stage {
	return &stage{r, open, make(map[string]*servertest.Server), make(map[string]*servertest.Chat),
		make(map[string]*servertest.Beacon)}
}

func (s *stage) Begin(_ string, p map[string]string) *servertest.Chat {
	list := p["list"]
	if s.By.Piped() {
		list += p["link"]
	}
	at := strings.Join([]string{cmp.Or(p["server"], "1"), list, p["env"], p["most"], p["all"], p["host"], p["panel"]}, " ")
	if s.servers[at] == nil {
		s.servers[at] = s.open().Start(func(c *server.Config) {
			c.Subscriptions.Max, _ = strconv.Atoi(p["most"])
			c.Subscriptions.MaxAll, _ = strconv.Atoi(p["all"])
			c.Host, c.Panel = p["host"], p["panel"]
			if c.List = list; p["env"] != "" {
				c.Getenv = func(string) string { return p["env"] }
			}
		})
	}
	client := strings.ReplaceAll(cmp.Or(p["client"], "tester"), "_", " ")
	by := at + " " + client + " " + p["own"]
	if s.conns[by] == nil {
		s.conns[by] = s.servers[at].Chat(client)
	}
	c := s.conns[by].With("")
	c.Folder = p["header"]
	_, declares := p["roots"]
	if c.Answers = p["answers"]; p["root"] != "" {
		c.Answers = fmt.Sprintf(`"roots":{"roots":[{"uri":%q,"name":"x"}]}`, p["root"])
	}
	if c.Roots = declares || c.Answers != ""; c.Roots && s.conns[by].HTTP == nil {
		s.conns[by].HTTP = &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
		s.Cleanup(s.conns[by].HTTP.CloseIdleConnections)
	}
	c.HTTP = s.conns[by].HTTP
	if p["link"] != "" && !s.By.Piped() {
		c = c.At(c.URL + "?list=" + p["link"])
	}
	if id := p["conversation"]; id != "" {
		c = c.Conversation(id)
	}
	if agent := p["agent"]; agent != "" {
		c = c.Agent(agent)
	}
	return c
}

func (s *stage) Does(of *servertest.Script, words []string) bool {
	rest := strings.Join(words[1:], " ")
	words = append(words, "", "")
	switch first := words[0]; {
	case first == "none":
		s.Expect()
	case first == "lists":
		s.Expect(strings.Split(strings.ReplaceAll(rest, "empty", ""), " | ")...)
	case first == "complete":
		if got := of.Answer.Result.ResultType; got != "complete" {
			s.Errorf("the answer is of the type %q", got)
		}
	case first == "newest":
		of.Vars[words[1]] = s.Newest()
	case first == "foreign":
		target := board.Target{Conversation: board.Conversation{Key: rest}, Append: true}
		l := s.Write("somebody", board.Write{Target: target, Change: servertest.Adds("theirs")})
		of.Vars["foreign"] = l.List.ID
	case first == "hook" || first == "host":
		said, now := map[string]string{}, time.Now()
		for _, word := range words[2 : len(words)-2] {
			name, value, _ := strings.Cut(word, "=")
			said[name] = value
		}
		if _, isOld := said["old"]; isOld {
			now = now.Add(-board.KeyAge - time.Minute)
		}
		kind := map[string]board.KeyKind{"hook": board.CallKey, "host": board.HostKey}[first]
		hookSays(s.Rig, said["by"], kind, words[1], heard(said["session"], said["agent"], said["folder"]), now)
	case first == "person":
		var edit todo.Edit
		checktest.Check(s, json.Unmarshal([]byte(strings.Join(words[2:], " ")), &edit))
		s.Edit(words[1], edit)
	case first == "stop":
		s.stop(rest)
	case words[1] == "follows":
		s.beacons[first] = of.Chats[words[2]].Beacon()
		of.Chats[first].Subscribes("todo://list", s.beacons[first].URI)
	case words[1] == "listens":
		of.Chats[first].Listens("L", words[2:len(words)-2]...)
	case words[1] == "is" && words[2] == "asked":
		c := of.Chats[first]
		a := c.Asks(words[3], strings.TrimSpace(strings.Join(words[4:], " ")))
		if r := a.Result; a.Error != nil || r.ResultType != "input_required" ||
			len(r.InputRequests) != 1 || r.InputRequests["roots"].Method != "roots/list" {
			s.Fatalf("%s: not asked for roots: %s", of.Line, a.Raw)
		}
	case words[1] == "is":
		told(of.Chats[first], s.beacons[first], words[2] == "told", of.Line)
	default:
		return false
	}
	return true
}

func (s *stage) Fact(list, word string) (string, bool) {
	l, agents := s.Load(list), s.Subs(list)
	slices.Sort(agents)
	var ids []string
	for _, i := range l.Items {
		ids = append(ids, i.ID)
	}
	fact, known := map[string]string{
		"revision": fmt.Sprint(l.Revision), "archived": fmt.Sprint(l.Archived), "replaced-by": l.ReplacedBy,
		"board": fmt.Sprint(l.OnBoard(time.Now())), "title": l.Title(), "items": chattest.ShowPlan(l.Items), "ids": strings.Join(ids, " "),
		"agent": l.List.Agent, "parent": l.List.Parent, "chat": l.List.Chat, "folder": l.List.Workspace,
		"subs": strings.Join(agents, ", "), "person": fmt.Sprint(l.Writer.Person),
		"writer": l.Writer.Client + ", " + l.Writer.Variant, "beside": beside(l), "told": beside(render.Document(l).Snapshot()),
	}[word]
	return fact, known
}

func beside(l todo.Snapshot) string {
	var said []string
	for _, i := range l.Items {
		said = append(said, render.Beside(l, i))
	}
	return strings.Join(said, "|")
}

func (s *stage) stop(number string) {
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

func hookSays(r *servertest.Rig, principal string, kind board.KeyKind, key string, by board.Conversation, at time.Time) {
	r.Helper()
	b := board.NewBoard(r.Store, board.WithClock(func() time.Time { return at }))
	defer b.Close()
	checktest.Check(r, b.As(principal).HearKey(r.Context(), by, kind, key, board.KeyAge))
}

func heard(session, agent, folder string) board.Conversation {
	who := board.Conversation{Key: todo.ChatKey(session), Chat: session, Workspace: folder}
	if agent != "" {
		who.Parent, who.Key, who.Agent = who.Key, todo.AgentKey(who.Key, agent), agent
	}
	return who
}
