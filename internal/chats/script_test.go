//go:build e2e && linux

package chats

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	_ "github.com/todo-mcp/todo-mcp/internal/cli" // so that go test runs these tests again when the program changes
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

func groups() map[string][]where {
	all := func(holds func(where) bool) []where { return which(everywhere(), holds) }
	named := func(by servertest.Transport, names ...string) []where {
		return all(func(w where) bool { return (by == "" || w.by == by) && slices.Contains(names, w.name) })
	}
	return map[string][]where{
		"certain":            all(where.certain),
		"sharing":            append(all(func(w where) bool { return !w.certain() || w.shares }), where{inSession, known("claude-ai")}),
		"three":              {{stdio, known("gemini-cli-mcp-client")}, {inSession, known("@cline/core")}, {sessionless, known("codex-mcp-client")}}, // certain
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

// TestScripts plays the scenes in testdata ([servertest.Script]). in=GROUP names the places
// (transport and client) for a scene, env=A=B,C=D its environment. Options of a chat: id=ID,
// list=NAME, and with=CHAT to use that chat's connection; server=2 beside with= means another
// server on the store. Commands besides the common ones:
//
//	kill a                    ends the chat's process as kill -9 does
//	person LIST EDIT          an edit on the panel's page
//	hook ID CALL              the event of a hook before a call, in the chat with an id
//	clear ID NEXT             the events of /clear: a chat ends, the next begins
//	run COMMAND               a command of the program
//	restart                   kills the server and starts another at its address
//	board LISTS               checks that these lists have a state and are not archived
//	count 2                   checks the number of lists
//
// With TODO_LONG a scene is played in all places of its group, else in one of each kind.
func TestScripts(t *testing.T) {
	n := 0
	chattest.Scenes(t, "testdata/*.txtar", false, func(t *testing.T, scene chattest.Scene) {
		in, settings := groups()[scene.Setting("in")], scene.Setting("env")
		if len(in) == 0 {
			t.Fatal("played nowhere")
		}
		if !programtest.Long() {
			in = oneOfEach(in, n)
		}
		n++
		each(t, in, func(p *place) {
			servertest.Play(p.T, &stage{p, make(map[string]*chat)}, scene)
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

func (s *stage) Begin(name string, options map[string]string) *servertest.Chat {
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

func (s *stage) Does(of *servertest.Script, words []string) bool {
	switch words[0] {
	case "kill":
		if c := s.chats[words[1]]; c.process != nil {
			c.process.Kill() // as kill -9
		}
	case "person":
		if status, _, body := servertest.Post(s.T, s.web()+"/lists/"+words[1]+"/edit", strings.Join(words[2:], " "), "Origin", s.web()); status != http.StatusOK {
			s.Fatalf("%s: %d %s", of.Line, status, body)
		}
	case "hook":
		said := s.hook(words[1], fmt.Sprintf(`"hook_event_name":"PreToolUse","tool_name":"mcp__todo__TodoWrite","tool_input":{"todos":[]},"tool_use_id":%q,"mcp_server":{"name":"todo","source":"dynamic"}`, words[2]))
		checktest.Same(s, fmt.Sprintf("%s: the agent is told", of.Line), said, "")
	case "clear":
		s.hook(words[1], `"hook_event_name":"SessionEnd","reason":"clear"`)
		s.hook(words[2], `"hook_event_name":"SessionStart","source":"clear"`)
	case "restart":
		s.served.Kill()
		s.serve(strings.TrimPrefix(s.url, "http://"))
	case "run":
		s.place.run(words[1:]...)
	case "board":
		for _, id := range words[1:] {
			if got := s.shown(id); got.Archived || s.states()[id] == "" {
				s.Errorf("%s: %s is not on the board: %v", of.Line, id, got)
			}
		}
	case "count":
		if all := s.lists(); fmt.Sprint(len(all)) != words[1] {
			s.Errorf("%s: there are %v", of.Line, all)
		}
	default:
		return false
	}
	return true
}

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
	fact, known := map[string]string{"items": l.String(), "archived": fmt.Sprint(l.Archived)}[word]
	return fact, known
}

var program string

func TestMain(m *testing.M) {
	// More tests run at once than there are processors: they mostly wait for disks and streams.
	flag.Parse()
	if err := flag.Set("test.parallel", fmt.Sprint(3*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	os.Exit(programtest.Run(m, &program, &programtest.Table{}))
}

const (
	stdio       = servertest.Stdio
	inSession   = servertest.Session
	sessionless = servertest.Sessionless
)

// host is a program in which chats run: its name in clientInfo, and the place of a chat's id: members of _meta, whose
// Printf format is in the field meta, or an environment variable.
type host struct {
	name, meta, variable string
	shares               bool // several chats use one connection, and nothing distinguishes them
}

func hosts() []host {
	return []host{
		{name: "claude-code", variable: "CLAUDE_CODE_SESSION_ID"},
		{name: "codex-mcp-client", meta: `"threadId":%[1]q,"sessionId":%[1]q`},
		{name: "gemini-cli-mcp-client"},
		{name: "qwen-code", variable: "QWEN_CODE_SESSION_ID"},
		{name: "github-copilot-developer", variable: "COPILOT_AGENT_SESSION_ID"},
		{name: "kimi-code"},
		{name: "@cline/core"},
		{name: "kilo"},
		{name: "opencode"},
		{name: "continue-cli-client"},
		{name: "claude-ai", shares: true},
		{name: "cursor-vscode", shares: true},
		{name: "windsurf-client", shares: true},
		{name: "Zed", shares: true},
		{name: "goose-desktop", shares: true},
		{name: "JetBrains", shares: true},
		{name: "LM Studio", shares: true},
		{name: "Visual Studio Code", meta: `"vscode.conversationId":%q`},
		{name: "antigravity-client", meta: `"antigravity.google/conversation_id":%q`},
		{name: "my-agent"},
	}
}

func known(name string) host {
	all := hosts()
	return all[slices.IndexFunc(all, func(h host) bool { return h.name == name })]
}

type where struct {
	by servertest.Transport
	host
}

func (w where) String() string { return string(w.by) + "/" + w.name }

func (w where) certain() bool { return w.meta != "" || w.by != sessionless && !w.shares }

// everywhere returns all clients on stdio, and over HTTP one of each kind.
func everywhere() (all []where) {
	for _, h := range hosts() {
		all = append(all, where{stdio, h})
	}
	for _, name := range []string{"claude-code", "codex-mcp-client", "@cline/core", "cursor-vscode", "Visual Studio Code", "my-agent"} {
		all = append(all, where{inSession, known(name)}, where{sessionless, known(name)})
	}
	return all
}

func which(all []where, holds func(where) bool) []where {
	return slices.DeleteFunc(all, func(w where) bool { return !holds(w) })
}

// each runs a test in each place, with a store of its own. Settings are
// environment variables, such as "TODO_IN_PROGRESS=demote".
func each(t *testing.T, in []where, run func(p *place), settings ...string) {
	t.Helper()
	t.Parallel()
	for _, w := range in {
		t.Run(w.String(), func(t *testing.T) {
			t.Parallel()
			run(newPlace(t, w, settings...))
		})
	}
}

type place struct {
	*testing.T
	where
	folder string
	env    []string
	served *programtest.Process
	url    string // of served
	second string // the address of another server on the store; empty for none
}

func newPlace(t *testing.T, w where, settings ...string) *place {
	t.Helper()
	dir := t.TempDir()
	p := &place{T: t, where: w, folder: filepath.Join(dir, "parser")}
	checktest.Check(t, os.Mkdir(p.folder, 0o755))
	p.env = append([]string{"HOME=" + dir, "TODO_STORE=sqlite:" + filepath.Join(dir, "todo.db"), "TODO_TOOLS=all", "TODO_STRUCTURED=always"}, settings...)
	return p
}

func (p *place) start(env []string, args ...string) (process *programtest.Process, url string) {
	p.Helper()
	process, err := programtest.Start(p.T, "/usr/bin/env", p.folder, nil, slices.Concat(p.env, env, []string{program}, args)...)
	if err == nil && args[0] == "serve" {
		url, err = process.URL()
	}
	checktest.Check(p, err)
	return process, url
}

func (p *place) web() string {
	p.Helper()
	if p.url == "" {
		p.serve("127.0.0.1:0")
	}
	return p.url
}

func (p *place) another() string {
	p.Helper()
	if p.second == "" {
		_, p.second = p.start(nil, "serve", "--addr", "127.0.0.1:0")
	}
	return p.second
}

func (p *place) serve(address string) {
	p.Helper()
	p.served, p.url = p.start(nil, "serve", "--addr", address)
}

func (p *place) try(env []string, in string, args ...string) (out, failure string, err error) {
	ctx, cancel := context.WithTimeout(p.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdin = p.folder, strings.NewReader(in)
	cmd.Env = slices.Concat([]string{"PATH=" + os.Getenv("PATH")}, p.env, env)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

func (p *place) run(args ...string) string {
	p.Helper()
	out, failure, err := p.try(nil, "", args...)
	if err != nil {
		p.Fatalf("%q: %v %s", args, err, failure)
	}
	return out
}

func decode[T any](p *place, text string) (v T) {
	p.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		p.Fatalf("%v in %s", err, text)
	}
	return v
}

func get[T any](p *place, path string) (v T) {
	p.Helper()
	if status := servertest.GetJSON(p.T, p.web()+path, &v); status != http.StatusOK {
		p.Fatalf("%s: %d", path, status)
	}
	return v
}

func (p *place) lists() map[string]servertest.List {
	p.Helper()
	all := make(map[string]servertest.List)
	for _, l := range decode[[]servertest.List](p, p.run("lists", "--all", "--json")) {
		all[l.List] = l
	}
	return all
}

func (p *place) shown(id string) servertest.List {
	p.Helper()
	if p.url != "" { // to ask a running server takes no new process
		return get[servertest.List](p, "/api/lists/"+id)
	}
	return decode[servertest.List](p, p.run("show", "--json", id))
}

func (p *place) states() map[string]string {
	p.Helper()
	all := make(map[string]string)
	for _, s := range get[[]struct{ List, State string }](p, "/api/states") {
		all[s.List] = s.State
	}
	return all
}

// hook passes an event in a chat to the program, and returns the text for the agent. The event
// has the given members beside the chat's id and folder.
func (p *place) hook(session, members string) string {
	p.Helper()
	event := fmt.Sprintf(`{"session_id":%q,"cwd":%q,%s}`, session, p.folder, members)
	out, failure, err := p.try(nil, event, "hook")
	if err != nil || failure != "" {
		p.Fatalf("hook: %v %s", err, failure)
	}
	return out
}

type chat struct {
	*servertest.Chat
	p       *place
	process *programtest.Process // on stdio, the chat's own process
}

func (p *place) named(id, list string) *chat {
	p.Helper()
	c := &chat{p: p}
	if p.by == stdio {
		var env []string
		if p.variable != "" && id != "" {
			env = append(env, p.variable+"="+id)
		}
		if list != "" {
			env = append(env, "TODO_LIST="+list)
		}
		c.process, _ = p.start(env, "stdio")
		var err error
		if c.Chat, err = servertest.OnPipe(p.T, p.by, p.name, c.process.In, c.process.Out); err != nil {
			p.Fatal(err, c.process.Log)
		}
	} else {
		at := p.web() + "/mcp"
		if list != "" {
			at += "?list=" + url.QueryEscape(list)
		}
		c.Chat = servertest.OverHTTP(p.T, p.by, p.name, at)
	}
	return c.as(id)
}

// as returns the same connection for another chat of its host: its calls carry the chat's
// id in _meta, or none if the id is empty.
func (c *chat) as(id string) *chat {
	other := *c
	if other.Chat = c.With(""); c.p.meta != "" && id != "" {
		other.Chat = c.With(c.p.meta, id)
	}
	return &other
}
