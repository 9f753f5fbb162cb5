//go:build e2e && linux

package chats

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
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
	_ "github.com/todo-mcp/todo-mcp/internal/cli" // so that go test runs these tests again when the program changes
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

var program string

func TestMain(m *testing.M) {
	// The tests wait for disks and for streams more than they compute.
	flag.Parse()
	if err := flag.Set("test.parallel", fmt.Sprint(3*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	os.Exit(programtest.Run(m, &program, &programtest.Table{}))
}

const patience = 10 * time.Second

const (
	stdio       = chattest.Stdio
	inSession   = chattest.Session
	sessionless = chattest.Sessionless
)

// host is a program in which chats run: its clientInfo, the members of _meta (a
// format) and the variable with which it tells a chat's id.
type host struct {
	name, meta, variable string
	shares               bool // several chats in one connection, with nothing that tells them apart
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
	by chattest.Transport
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

// which returns the places that a condition holds for.
func which(all []where, holds func(where) bool) []where {
	return slices.DeleteFunc(all, func(w where) bool { return !holds(w) })
}

// threeCertain returns a certain chat of each transport.
func threeCertain() []where {
	return []where{{stdio, known("gemini-cli-mcp-client")}, {inSession, known("@cline/core")}, {sessionless, known("codex-mcp-client")}}
}

// each runs a test in some places, each with a store of its own. Settings are
// variables as "TODO_IN_PROGRESS=demote".
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

// place is a folder in which agents work, with a store of its own.
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
	if err := os.Mkdir(p.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	p.env = append([]string{"HOME=" + dir, "TODO_STORE=sqlite:" + filepath.Join(dir, "todo.db"), "TODO_TOOLS=all", "TODO_STRUCTURED=always"}, settings...)
	return p
}

func (p *place) start(env []string, args ...string) *programtest.Process {
	p.Helper()
	process, err := programtest.Start(p.T, "/usr/bin/env", p.folder, nil, slices.Concat(p.env, env, []string{program}, args)...)
	if err != nil {
		p.Fatal(err)
	}
	return process
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
		var err error
		if p.second, err = p.start(nil, "serve", "--addr", "127.0.0.1:0").URL(); err != nil {
			p.Fatal(err)
		}
	}
	return p.second
}

func (p *place) serve(address string) {
	p.Helper()
	p.served = p.start(nil, "serve", "--addr", address)
	url, err := p.served.URL()
	if err != nil {
		p.Fatal(err)
	}
	p.url = url
}

// try runs a command in the folder.
func (p *place) try(env []string, in string, args ...string) (out, failure string, err error) {
	ctx, cancel := context.WithTimeout(p.Context(), patience)
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

func (p *place) lists() map[string]chattest.List {
	p.Helper()
	all := make(map[string]chattest.List)
	for _, l := range decode[[]chattest.List](p, p.run("lists", "--all", "--json")) {
		all[l.List] = l
	}
	return all
}

// shown returns a list as a person sees it; without an id the folder's.
func (p *place) shown(id ...string) chattest.List {
	p.Helper()
	if p.url != "" && len(id) > 0 { // what is there already takes no process
		return get[chattest.List](p, "/api/lists/"+id[0])
	}
	return decode[chattest.List](p, p.run(append([]string{"show", "--json"}, id...)...))
}

func (p *place) states() map[string]string {
	p.Helper()
	all := make(map[string]string)
	for _, s := range get[[]struct{ List, State string }](p, "/api/states") {
		all[s.List] = s.State
	}
	return all
}

func (p *place) expectLists(want int) {
	p.Helper()
	var all []chattest.List
	if p.url != "" {
		all = get[[]chattest.List](p, "/api/lists")
	} else {
		all = slices.Collect(maps.Values(p.lists()))
	}
	if len(all) != want {
		p.Errorf("there are %d lists in place of %d: %v", len(all), want, all)
	}
}

func (p *place) edit(id string, edits ...string) {
	p.Helper()
	for _, edit := range edits {
		if status, _, body := servertest.Post(p.T, p.web()+"/lists/"+id+"/edit", edit, "Origin", p.web()); status != http.StatusOK {
			p.Fatalf("%s: %d %s", edit, status, body)
		}
	}
}

// hook tells the program of an event in a chat, by the members that it has beside the chat's,
// and returns what it tells the agent.
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
	*chattest.Chat
	p       *place
	process *programtest.Process // its own, on stdio
}

func (p *place) chat(id string) *chat {
	p.Helper()
	return p.named(id, "")
}

// named is [place.chat] with a list that its user named.
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
		c.process = p.start(env, "stdio")
		var err error
		if c.Chat, err = chattest.OnPipe(p.T, p.by, p.name, c.process.In, c.process.Out); err != nil {
			p.Fatal(err, c.process.Log)
		}
	} else {
		at := p.web() + "/mcp"
		if list != "" {
			at += "?list=" + url.QueryEscape(list)
		}
		c.Chat = chattest.OverHTTP(p.T, p.by, p.name, at)
	}
	return c.as(id)
}

// as returns the same connection in another chat of its host; in one that it does not
// tell if the id is empty.
func (c *chat) as(id string) *chat {
	other := *c
	if other.Chat = c.With(""); c.p.meta != "" && id != "" {
		other.Chat = c.With(c.p.meta, id)
	}
	return &other
}

func (c *chat) kill() { c.process.Kill() }

func (p *place) onBoard(lists ...string) {
	p.Helper()
	states := p.states()
	for _, id := range lists {
		if got := p.shown(id); got.Archived || states[id] == "" {
			p.Errorf("list %s is not on the board: %v, %q", id, got, states[id])
		}
	}
}
