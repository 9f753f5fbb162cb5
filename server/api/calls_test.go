package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// W2: each call is one start event with the whole input, without deltas,
// followed at once by the stop event with the same index. Calls that change
// nothing are sent as well (V4). A sub-agent's call has a parent.
func TestStream(t *testing.T) {
	_, url := servertest.Site(t)
	stream := servertest.OpenStream(t, "GET", url+"/api/stream", "")
	write := servertest.Sender(t, url, "tester")
	type event struct {
		Type  string
		Index int
		Block struct {
			Type, ID, Name string
			Message        string `json:"tool_content_message"`
			Parent         string `json:"parent_tool_use_id"`
			Input          struct{ Todos []map[string]string }
		} `json:"content_block"`
	}
	next := func(index int) event {
		t.Helper()
		var start, stop event
		raw := stream.Data()
		if err := json.Unmarshal([]byte(raw), &start); err != nil || start.Type != "content_block_start" || start.Index != index ||
			start.Block.Type != "tool_use" || start.Block.Name != "write_todos" || start.Block.Message != "Update Todos" || start.Block.ID == "" {
			t.Fatalf("W2: start %d is %s, %v", index, raw, err)
		}
		raw = stream.Data()
		if err := json.Unmarshal([]byte(raw), &stop); err != nil || stop.Type != "content_block_stop" || stop.Index != index {
			t.Fatalf("W2: stop %d is %s, %v", index, raw, err)
		}
		return start
	}
	write(servertest.Call(1, "write_todos", servertest.Todos("pending", "Lấy dữ liệu")))
	first := next(0)
	if got := first.Block.Input.Todos; len(got) != 1 || got[0]["content"] != "Lấy dữ liệu" || got[0]["activeForm"] == "" || got[0]["status"] != "pending" {
		t.Errorf("W2: input %v", got)
	}
	write(servertest.Call(2, "write_todos", servertest.Todos("pending", "Lấy dữ liệu")))
	if again := next(1); len(again.Block.Input.Todos) != 1 || again.Block.ID == first.Block.ID {
		t.Errorf("V4: a call without change shows as %+v", again)
	}
	write(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"write_todos","arguments":` + servertest.Todos("pending", "Sub") + `,"_meta":{"todo-mcp/agent":"helper"}}}`)
	if sub := next(2); sub.Block.Parent != first.Block.ID || first.Block.Parent != "" {
		t.Errorf("W2: a sub-agent's call has parent %q, want %q, and the main one %q", sub.Block.Parent, first.Block.ID, first.Block.Parent)
	}
	write(servertest.Call(4, "create_todos", `{"items":["More"]}`))
	if got := next(3).Block.Input.Todos; len(got) != 2 || got[1]["content"] != "More" {
		t.Errorf("W2: another variant's write shows as %v", got)
	}
}

// W2, V4: the stream sends each call exactly once, also one with an operation
// id and one that changes nothing, to a stream of the same server and of another
// server in the process (stdio --panel). A stream of another process on the same
// store (serve beside stdio) is sent those that made a revision.
func TestStreamSendsEachCallOnce(t *testing.T) {
	store := memory.New()
	agent := servertest.New(t, store, nil)
	beside := servertest.New(t, nil, func(c *server.Config) { c.Board = agent.Board })
	const elsewhere = "another process"
	streams := map[string]*servertest.Events{}
	for name, s := range map[string]*server.Server{"the same server": agent, "beside it in the process": beside, elsewhere: servertest.New(t, store, nil)} {
		streams[name] = servertest.OpenStream(t, "GET", servertest.Serve(t, s, nil).URL+"/api/stream", "")
	}
	p := servertest.NewPipe(t, agent)
	operation := func(id, args string) string {
		return servertest.WithMeta(servertest.Call(1, "TodoWrite", args), `"todo-mcp/conversation":"c","todo-mcp/operation":"`+id+`"`)
	}
	for _, c := range []struct {
		name, call, shows string
		changesNothing    bool
	}{
		{"a call", servertest.WithMeta(servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A")), `"todo-mcp/conversation":"c"`), `"content":"A"`, false},
		{"an operation id", operation("op-1", servertest.Todos("pending", "B")), `"content":"B"`, false},
		{"its repeat", operation("op-1", servertest.Todos("pending", "B")), `"content":"B"`, true},
		{"no change", servertest.WithMeta(servertest.Call(1, "TodoWrite", servertest.Todos("pending", "B")), `"todo-mcp/conversation":"c"`), `"content":"B"`, true},
		{"the last", operation("op-2", servertest.Todos("pending", "C")), `"content":"C"`, false},
	} {
		go p.Send(c.call)
		answered := p.Read()
		ids := map[string]string{}
		for where, stream := range streams {
			if c.changesNothing && where == elsewhere {
				continue // what comes next there is the next call
			}
			start := stream.Data()
			if stop := stream.Data(); !strings.Contains(start, c.shows) || !strings.Contains(stop, "content_block_stop") {
				t.Errorf("%s, %s: %s then %s (answer %s)", c.name, where, start, stop, answered.Raw)
			}
			ids[strings.Split(strings.SplitN(start, `"id":"`, 2)[1], `"`)[0]] += where + ";"
		}
		if len(ids) != 1 {
			t.Errorf("%s: the block has several ids: %v", c.name, ids)
		}
	}
}

// W2: the block is on the stream before the tool's result is sent.
func TestStreamSendsBlockBeforeResult(t *testing.T) {
	s := servertest.New(t, nil, nil)
	calls := s.Board.As("").Calls()
	defer calls.Close()
	p := servertest.NewPipe(t, s)
	// Nobody reads the answer yet, so the server blocks while it writes it. The
	// call must have been sent by then.
	go p.Send(servertest.Call(1, "write_todos", servertest.Todos("pending", "A")))
	if call := servertest.Must(calls.Next(t.Context()))(t); call.List.Items[0].Text != "A" {
		t.Fatalf("W2: %+v", call)
	}
	if a := p.Read(); a.Result.IsError {
		t.Errorf("answer %s", a.Raw)
	}
}

// BAD-INPUT 60, W3: the pages of a chat's history lead through its last hundred plans, each message
// once, also when another list becomes the newest meanwhile.
func TestWorkspacePagesOverPlans(t *testing.T) {
	_, address := servertest.Site(t)
	one, other := servertest.Writer(t, address, "one"), servertest.Writer(t, address, "other")
	const plans, items = 104, 10
	for n := range plans {
		texts := make([]string, items)
		for i := range texts {
			texts[i] = fmt.Sprintf("Plan %d item %d %s", n, i, strings.Repeat("<", 160)) // six bytes each as JSON
		}
		one(servertest.Todos("pending", texts...))
	}
	want, pages := 100, 0
	for page := address + "/api/workspace"; page != ""; pages++ {
		body, before := pageOf(t, page, "prev")
		var part struct{ History []struct{ ID string } }
		if err := json.Unmarshal(body, &part); err != nil || len(part.History) == 0 || len(body) > 3<<19 {
			t.Fatalf("%s: %d bytes, %d messages, %v", page, len(body), len(part.History), err)
		}
		for n := len(part.History) - 1; n >= 0; n-- {
			if part.History[n].ID != fmt.Sprint("session-history-", want) {
				t.Errorf("%s has %s, not %d", page, part.History[n].ID, want)
			}
			want--
		}
		other(servertest.Todos("pending", fmt.Sprint(pages)))
		page = before
	}
	if want != 0 || pages < 3 {
		t.Errorf("%d pages end with message %d", pages, want+1)
	}
}

// W3: /api/workspace finds a list by its id or name, and the newest main list,
// however many lists changed after it.
func TestWorkspaceFindsOldLists(t *testing.T) {
	store := memory.New()
	err := store.Update(t.Context(), board.Key{}, func(tx board.Tx) (err error) {
		save := func(l todo.List, text string) {
			l.Conversation = "c"
			if err == nil {
				_, err = tx.Save(t.Context(), todo.Snapshot{List: l, Revision: 1, Items: []todo.Item{{ID: "1", Text: text, Status: todo.Pending}}})
			}
		}
		save(todo.List{ID: "oldest", Name: "release"}, "A")
		for n := range 2001 {
			save(todo.List{ID: fmt.Sprint("sub", n), Parent: "oldest", Agent: "helper"}, "B")
		}
		return err
	})
	servertest.Check(t, err)
	web := servertest.Serve(t, servertest.New(t, store, nil), nil)
	for _, query := range []string{"?list=oldest", "?list=release", ""} {
		var a struct {
			Workspace struct{ Todos []map[string]string }
		}
		if status := servertest.GetJSON(t, web.URL+"/api/workspace"+query, &a); status != 200 || len(a.Workspace.Todos) != 1 || a.Workspace.Todos[0]["content"] != "A" {
			t.Errorf("W3: %q: %d %v", query, status, a)
		}
	}
}
