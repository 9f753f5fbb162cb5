// Command shots makes the README's pictures from a running program: it starts a
// server on a memory store, writes lists over MCP as several clients, and saves
// screenshots of the panel, in headless Chromium, and of the terminal.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
	"todo-mcp/server"
	"todo-mcp/server/web"
	"todo-mcp/tools"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: shots FOLDER")
		os.Exit(1)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "shots:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	base, stop, err := serve()
	if err != nil {
		return err
	}
	defer stop()
	list, err := seed(base)
	if err != nil {
		return err
	}
	ctx, cancel := browser()
	defer cancel()
	for _, s := range []struct {
		name, url     string
		width, height int64
		dark          bool
	}{
		{"panel-light.png", base, 1280, 860, false},
		{"panel-dark.png", base, 1280, 860, true},
		{"panel-narrow.png", base, 390, 844, false},
		{"list-history.png", base + "/lists/" + list + "?revision=2", 980, 560, false},
	} {
		if err := shoot(ctx, s.url, filepath.Join(folder, s.name), s.width, s.height, s.dark); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return shootTerminal(ctx, base, filepath.Join(folder, "terminal.png"))
}

// serve starts a server with a memory store on a free loopback port. url is its
// base URL.
func serve() (url string, stop func(), err error) {
	board := todo.NewBoard(memory.New())
	list, err := tools.New(tools.Defaults())
	if err != nil {
		return "", nil, err
	}
	texts, err := prompts.New(prompts.Short, "")
	if err != nil {
		return "", nil, err
	}
	s, err := server.New(server.Config{Board: board, Tools: list, Publish: []string{"all"}, Texts: texts, Version: "shots"})
	if err != nil {
		return "", nil, err
	}
	h, err := web.New(s, web.Config{Board: board, SessionKey: func() []byte { return bytes.Repeat([]byte("k"), 32) }})
	if err != nil {
		return "", nil, err
	}
	listener := httptest.NewServer(h)
	return listener.URL, func() { h.Close(); listener.Close(); s.Close(); board.Close() }, nil
}

// browser starts headless Chromium and returns a context for it, which ends
// after three minutes.
func browser() (context.Context, context.CancelFunc) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true))
	allocated, cancel1 := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel2 := chromedp.NewContext(allocated)
	ctx, cancel3 := context.WithTimeout(ctx, 3*time.Minute)
	return ctx, func() { cancel3(); cancel2(); cancel1() }
}

// shoot saves a screenshot of the page at url, once it is connected to the
// server.
func shoot(ctx context.Context, url, file string, width, height int64, dark bool) error {
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height, chromedp.EmulateScale(1.5))); err != nil {
		return err
	}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}); err != nil {
		return err
	}
	if err := chromedp.Do(ctx, chromedp.Navigate(url), chromedp.WaitVisible(`#status[data-state=live]`)); err != nil {
		return err
	}
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	return os.WriteFile(file, png, 0o644)
}

// agent is a scripted MCP client.
type agent struct{ url, session string }

func newAgent(base, name string) (*agent, error) {
	a := &agent{url: base + "/mcp"}
	_, err := a.send("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": name, "version": "1"}})
	return a, err
}

// send sends one request and returns the body of the response. It stores the
// session id that the server assigns, for the next requests.
func (a *agent) send(method string, params any) ([]byte, error) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Mcp-Session-Id", a.session)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		a.session = id
	}
	return io.ReadAll(res.Body)
}

// call calls a tool and returns an error if the tool or the server returned
// one.
func (a *agent) call(tool string, args, meta any) error {
	params := map[string]any{"name": tool, "arguments": args}
	if meta != nil {
		params["_meta"] = meta
	}
	answer, err := a.send("tools/call", params)
	if err == nil && (bytes.Contains(answer, []byte(`"isError":true`)) || bytes.Contains(answer, []byte(`"error"`))) {
		err = fmt.Errorf("%s: %s", tool, answer)
	}
	return err
}

// todos returns TodoWrite's arguments. An item is "c Text|Active": the first
// letter of the status, the text, and optionally the active text.
func todos(items ...string) map[string]any {
	status := map[byte]string{'c': "completed", 'i': "in_progress", 'p': "pending"}
	out := []map[string]string{}
	for _, i := range items {
		text, active, _ := bytes.Cut([]byte(i[2:]), []byte("|"))
		if len(active) == 0 {
			active = text
		}
		out = append(out, map[string]string{"content": string(text), "activeForm": string(active), "status": status[i[0]]})
	}
	return map[string]any{"todos": out}
}

// seed writes the lists that the pictures show and returns the id of the last
// changed main list.
func seed(base string) (string, error) {
	steps := []struct {
		client, tool string
		args         any
		agent        string
	}{
		{"opencode", "TodoWrite", todos("i Translate the guide|Translating the guide", "p Check the links"), ""},
		{"gemini-cli", "TodoWrite", todos("c Rename the package", "c Update the imports", "c Run the tests"), ""},
		{"codex-mcp-client", "create_todos", map[string]any{"items": []string{"Reproduce the crash", "Bisect the release", "Fix the parser"}}, ""},
		{"codex-mcp-client", "update_todo", map[string]any{"id": "1", "status": "completed"}, ""},
		{"codex-mcp-client", "update_todo", map[string]any{"id": "2", "status": "failed"}, ""},
		{"codex-mcp-client", "update_todo", map[string]any{"id": "3", "status": "running"}, ""},
		{"Cursor", "SetTodoList", map[string]any{"todos": []map[string]string{{"title": "梳理需求", "status": "done"}, {"title": "实现主流程", "status": "in_progress"}, {"title": "补充测试", "status": "pending"}}}, ""},
		{"claude-code", "TodoWrite", todos("i Read the specification|Reading the specification", "p Design the storage layer", "p Write the conformance suite"), ""},
		{"claude-code", "TodoWrite", todos("c Read the specification", "i Design the storage layer|Designing the storage layer", "p Write the conformance suite", "p Measure group commit"), ""},
		{"claude-code", "TodoWrite", todos("c Read the specification", "c Design the storage layer", "i Write the conformance suite|Writing the conformance suite", "p Measure group commit"), "explorer"},
		{"claude-code", "TodoWrite", todos("c Find every caller", "i Read the old parser|Reading the old parser", "p Write a summary"), "explorer"},
		{"claude-code", "TodoWrite", todos("c Read the specification", "c Design the storage layer", "i Write the conformance suite|Writing the conformance suite", "p Measure group commit", "p Document what the store promises", "p Review the whole change"), ""},
	}
	agents := make(map[string]*agent)
	for _, s := range steps {
		if agents[s.client] == nil {
			a, err := newAgent(base, s.client)
			if err != nil {
				return "", err
			}
			agents[s.client] = a
		}
		var meta any
		if s.agent != "" {
			meta = map[string]string{"todo-mcp/agent": s.agent}
		}
		if err := agents[s.client].call(s.tool, s.args, meta); err != nil {
			return "", err
		}
	}
	return mainList(base)
}

// mainList returns the id of the last changed list that is no sub-agent's.
func mainList(base string) (string, error) {
	res, err := http.Get(base + "/api/lists")
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var lists []struct{ List, Parent string }
	if err := json.NewDecoder(res.Body).Decode(&lists); err != nil {
		return "", err
	}
	for _, l := range lists {
		if l.Parent == "" {
			return l.List, nil
		}
	}
	return "", fmt.Errorf("no list was written")
}
