//go:build e2e && linux

package chats

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"todo-mcp/internal/programtest"
	"todo-mcp/server/servertest"
)

// chat is a connection of an agent to the program.
type chat struct {
	*place
	id      string // of the chat, as its host tells it
	list    string // the name that its user gave its list; empty for none
	meta    string // more members of _meta
	process *programtest.Process
	lines   chan string // what the process prints
	session string
	asked   int
}

// chat begins a connection of the place's client, in a chat with an id.
func (p *place) chat(id string) *chat {
	p.Helper()
	return p.named(id, "")
}

// named is [place.chat] with a list that its user named.
func (p *place) named(id, list string) *chat {
	p.Helper()
	c := &chat{place: p, id: id, list: list}
	switch p.by {
	case onStdio:
		var env []string
		if p.variable != "" && id != "" {
			env = append(env, p.variable+"="+id)
		}
		if list != "" {
			env = append(env, "TODO_LIST="+list)
		}
		c.process, c.lines = p.start(env, "stdio"), make(chan string, 100)
		go func() {
			defer close(c.lines)
			for {
				line, err := c.process.Out.ReadString('\n')
				if err != nil {
					return
				}
				c.lines <- line
			}
		}()
		c.ask("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":%q,"version":"1"}}`, servertest.Legacy, p.name))
	case inSession:
		c.session = servertest.Session(p.T, c.endpoint(), p.name)
	}
	return c
}

// as returns the same connection in another chat of its host.
func (c *chat) as(id string) *chat {
	other := *c
	other.id, other.asked = id, c.asked+1000
	return &other
}

// with returns the same connection with more members of _meta.
func (c *chat) with(meta string, values ...any) *chat {
	other := *c
	other.meta, other.asked = fmt.Sprintf(meta, values...), c.asked+1000
	return &other
}

// kill ends the chat's process as kill -9 does.
func (c *chat) kill() { c.process.Kill() }

func (c *chat) endpoint() string {
	at := c.web() + "/mcp"
	if c.list != "" {
		at += "?list=" + url.QueryEscape(c.list)
	}
	return at
}

// ask sends a request and returns its answer; params is a JSON object.
func (c *chat) ask(method, params string) servertest.Answer {
	c.Helper()
	c.asked++
	var meta []string
	if c.host.meta != "" && method != "initialize" {
		meta = append(meta, fmt.Sprintf(c.host.meta, c.id))
	}
	if c.meta != "" {
		meta = append(meta, c.meta)
	}
	if c.by == sessionless {
		meta = append(meta, fmt.Sprintf(`"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":%q,"version":"1"}`, servertest.Modern, c.name))
	}
	if len(meta) > 0 {
		params = strings.TrimSuffix(params, "}") + `,"_meta":{` + strings.Join(meta, ",") + `}}`
	}
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.asked, method, params)
	if c.by == onStdio {
		return c.piped(message)
	}
	headers := []string{"Mcp-Session-Id", c.session}
	if c.by == sessionless {
		var named struct{ Name, URI string }
		if err := json.Unmarshal([]byte(params), &named); err != nil {
			c.Fatalf("%v in %s", err, params)
		}
		headers = servertest.ModernHeaders(method, named.Name+named.URI)
	}
	_, _, body := servertest.Post(c.T, c.endpoint(), message, headers...)
	for line := range strings.SplitSeq(body, "\n") {
		if data := strings.TrimPrefix(line, "data: "); strings.HasPrefix(data, "{") && !strings.Contains(data, `"method":"notifications/`) {
			return servertest.Parse(c.T, data)
		}
	}
	c.Fatalf("%s is answered %q", message, body)
	return servertest.Answer{}
}

// piped sends a message to the chat's process and returns its answer.
func (c *chat) piped(message string) servertest.Answer {
	c.Helper()
	if _, err := c.process.In.WriteString(message + "\n"); err != nil {
		c.Fatal(err)
	}
	late := time.After(patience)
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				c.Fatalf("the program ended before it answered %s: %s", message, c.process.Log)
			}
			if !strings.Contains(line, `"method":"notifications/`) {
				return servertest.Parse(c.T, line)
			}
		case <-late:
			c.Fatalf("no answer to %s", message)
		}
	}
}

// answer is what a tool answers: all of its text, the list and what it shows of it.
type answer struct {
	text   string
	failed bool
	list   string // id
	items  []item
}

// call calls a tool; args is a JSON object.
func (c *chat) call(tool, args string) answer {
	c.Helper()
	a := c.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
	if a.Error != nil || len(a.Result.Content) == 0 {
		c.Fatalf("%s %s: %s", tool, args, a.Raw)
	}
	out := answer{text: a.Text(), failed: a.Result.IsError}
	if len(a.Result.Structured) > 0 {
		s := decode[struct {
			List    string
			Display []struct {
				Items []struct{ ID, Title, Status string }
			}
		}](c.place, string(a.Result.Structured))
		out.list = s.List
		for _, b := range s.Display {
			for _, i := range b.Items {
				out.items = append(out.items, item{i.ID, i.Title, i.Status})
			}
		}
	}
	return out
}

// calls is [chat.call] of a tool that must not refuse.
func (c *chat) calls(tool, args string) answer {
	c.Helper()
	a := c.call(tool, args)
	if a.failed {
		c.Fatalf("%s %s is refused: %s", tool, args, a.text)
	}
	return a
}

// writes writes a plan with TodoWrite, which must not refuse it.
func (c *chat) writes(items ...string) answer {
	c.Helper()
	return c.calls("TodoWrite", plan(items...))
}

// refused checks that a tool refuses a call and changes nothing.
func (c *chat) refused(tool, args string) (text string) {
	c.Helper()
	before := c.reads()
	a := c.call(tool, args)
	if !a.failed || !strings.HasPrefix(a.text, "Error") {
		c.Errorf("%s %s is not refused: %s", tool, args, a.text)
	}
	if after := c.reads(); fmt.Sprintf("%#v", after) != fmt.Sprintf("%#v", before) {
		c.Errorf("%s %s changes the list from %v to %v", tool, args, before, after)
	}
	return a.text
}

// reads returns what the chat reads as its list.
func (c *chat) reads() list {
	c.Helper()
	a := c.ask("resources/read", `{"uri":"todo://list"}`)
	r := decode[struct {
		Result struct{ Contents []struct{ Text string } }
	}](c.place, a.Raw)
	if len(r.Result.Contents) == 0 {
		c.Fatalf("todo://list: %s", a.Raw)
	}
	return decode[list](c.place, r.Result.Contents[0].Text)
}

// plan returns arguments of TodoWrite and write_todos for items as "Fix the bug" or
// "Fix the bug:completed".
func plan(items ...string) string { return todos("content", items...) }

// titles is [plan] for SetTodoList.
func titles(items ...string) string {
	return strings.ReplaceAll(todos("title", items...), `"status":"completed"`, `"status":"done"`)
}

// ofIDs returns arguments of TodoWrite that change items by their ids, as
// "2 Fix the bug:completed".
func ofIDs(items ...string) string { return todos("id", items...) }

func todos(form string, items ...string) string {
	out := []map[string]string{}
	for _, text := range items {
		status := "pending"
		if at := strings.LastIndex(text, ":"); at >= 0 && slices.Contains([]string{"pending", "in_progress", "completed"}, text[at+1:]) {
			text, status = text[:at], text[at+1:]
		}
		todo := map[string]string{"status": status}
		if form == "id" {
			todo["id"], text, _ = strings.Cut(text, " ")
		}
		if form == "title" {
			todo["title"] = text
		} else {
			todo["content"], todo["activeForm"] = text, text
		}
		out = append(out, todo)
	}
	data, _ := json.Marshal(map[string]any{"todos": out})
	return string(data)
}

// follow opens an event stream and returns a function that reports whether a text
// comes on it soon.
func (p *place) follow(path string) (comes func(text string) bool) {
	p.Helper()
	req, err := http.NewRequestWithContext(p.Context(), "GET", p.web()+path, nil)
	if err != nil {
		p.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		p.Fatalf("%s: %s", path, res.Status)
	}
	return func(text string) bool {
		late := time.AfterFunc(3*time.Second, func() { res.Body.Close() })
		defer late.Stop()
		for lines := bufio.NewReader(res.Body); ; {
			line, err := lines.ReadString('\n')
			if err != nil || strings.Contains(line, text) {
				return err == nil
			}
		}
	}
}
