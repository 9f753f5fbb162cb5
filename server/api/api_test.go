package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// T8: each write of a main list sends list:update with the list and then
// todos:update, whose data is the whole TodoItem[]; a write of a sub-agent's
// list sends agent:update. A write that changes nothing sends nothing (V4).
func TestEvents(t *testing.T) {
	_, url := servertest.Site(t)
	stream := servertest.OpenStream(t, "GET", url+"/api/events", "")
	write := servertest.Sender(t, url, "tester")
	const plan = `{"todos":[{"content":"A","activeForm":"Doing A","status":"in_progress"},{"content":"B","activeForm":"Doing B","status":"pending"}]}`
	write(servertest.Call(1, "TodoWrite", plan))
	before, name, data := stream.Event()
	var got struct {
		List     string
		Revision int64
		Todos    []map[string]string
	}
	checktest.Check(t, json.Unmarshal([]byte(data), &got))
	want := `[map[activeForm:Doing A content:A id:1 status:in_progress] map[activeForm:Doing B content:B id:2 status:pending]]`
	if before != "" || name != "list:update" || got.Revision != 1 || fmt.Sprint(got.Todos) != want {
		t.Errorf("T8: %s %s", name, data)
	}
	var items []map[string]string
	after, name, data := stream.Event()
	if err := json.Unmarshal([]byte(data), &items); err != nil || after == "" || name != "todos:update" || fmt.Sprint(items) != want {
		t.Errorf("T8: the data of todos:update is no TodoItem[]: %s %s %s", after, name, data)
	}
	write(servertest.Call(2, "TodoWrite", plan))
	write(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"TodoWrite","arguments":` + servertest.Todos("pending", "Sub") + `,"_meta":{"todo-mcp/agent":"helper"}}}`)
	if _, name, data := stream.Event(); name != "agent:update" || !strings.Contains(data, `"parent":"`+got.List+`"`) || !strings.Contains(data, `"agent":"helper"`) {
		t.Errorf("T8: a sub-agent's write sent %s %s", name, data)
	}
	write(servertest.Call(4, "TodoWrite", servertest.Todos("completed", "A", "B")))
	if _, name, data := stream.Event(); name != "list:update" || !strings.Contains(data, `"revision":2`) {
		t.Errorf("V4, T8: %s %s", name, data)
	}
}

// When an agent asks the user, its list is sent again, without an id, and /api/states says that the agent waits. A
// stream resumes after the last id, so it neither misses nor repeats a revision.
func TestEventsSayThatAnAgentAsks(t *testing.T) {
	s, url := servertest.Site(t)
	ask, other := servertest.Writer(t, url, "tester"), servertest.Writer(t, url, "tester")
	stream := servertest.OpenStream(t, "GET", url+"/api/events", "")
	next := func(list string) (id string) {
		t.Helper()
		_, _, data := stream.Event()
		id, name, _ := stream.Event()
		if !strings.Contains(data, `"list":"`+list+`","title":"A","`) || !strings.Contains(data, `"revision":1,`) || name != "todos:update" {
			t.Errorf("%s after %s", name, data)
		}
		return id
	}
	ask(servertest.Todos("pending", "A"))
	list := servertest.ListIDs(t, url)[0]
	first := next(list)
	servertest.Says(t, s.Board.As(""), list, todo.Asks, "push?")
	if id := next(list); id != "" {
		t.Errorf("the id %s, which is no revision's", id)
	}
	var states []struct{ List, State, Asks string }
	if servertest.GetJSON(t, url+"/api/states", &states); len(states) != 1 || states[0].State != "waiting" || states[0].Asks != "push?" {
		t.Errorf("states %+v", states)
	}
	other(servertest.Todos("pending", "A"))
	last := next(servertest.ListIDs(t, url)[0])
	servertest.Says(t, s.Board.As(""), list, todo.Rests, "")
	next(list)
	for after, want := range map[string]string{first: last, last: ""} {
		stream = servertest.OpenStream(t, "GET", url+"/api/events", "", "Last-Event-ID", after)
		if want == "" { // nothing until the next revision
			ask(servertest.Todos("pending", "A", "B"))
		}
		stream.Event()
		if id, _, _ := stream.Event(); want != "" && id != want || id == "" || id == after {
			t.Errorf("after %s it resumes with %s, want %s", after, id, want)
		}
	}
}

// A stream resumes after the last id and sends the newest revision of each
// list. With an id from another store it sends all lists.
func TestEventsResume(t *testing.T) {
	_, url := servertest.Site(t)
	id := servertest.NewSession(t, url+"/mcp", "tester")
	write := func(list, text string) {
		t.Helper()
		servertest.Post(t, url+"/mcp?list="+list, servertest.Call(1, "TodoWrite", servertest.Todos("pending", text)), "Mcp-Session-Id", id)
	}
	stream := servertest.OpenStream(t, "GET", url+"/api/events", "")
	write("a", "1")
	stream.Event()
	last, _, _ := stream.Event() // todos:update, the last event of a revision
	write("a", "2")
	write("b", "1")
	write("a", "3")
	resumed := servertest.OpenStream(t, "GET", url+"/api/events", "", "Last-Event-ID", last)
	_, _, first := resumed.Event()
	resumed.Event()
	_, _, second := resumed.Event()
	checktest.Has(t, "resumed with", first, `"name":"b"`)
	checktest.Has(t, "and with", second, `"name":"a"`, `"revision":3`)
	other := servertest.OpenStream(t, "GET", url+"/api/events?after=1000000", "")
	_, _, data := other.Event()
	checktest.Has(t, "after another store's id", data, `"name":"b"`)
}

// Unknown lists and revisions, and parameters that are no numbers, are refused. (Answers to good requests:
// testdata/api.txtar of package server.)
func TestAPIRefuses(t *testing.T) {
	s, url := servertest.Site(t)
	list := servertest.Apply(t, s.Board.As(""), servertest.In("chat"), func(d *todo.Draft) { d.Append("A") }).List.ID
	for path, want := range map[string]int{"lists/none": 404, "lists/none/history": 404, "lists?limit=x": 400, "lists/" + list + "?revision=9": 404, "events?after=x": 400} {
		servertest.Is(t, path, want)(servertest.Ask(t, "GET", url+"/api/"+path, ""))
	}
}

// A search finds texts of the newest revisions and, with ?history=true, of earlier ones, and says which revision has
// the text. The pages of its answer together have all lists found.
func TestSearch(t *testing.T) {
	s, site := servertest.Site(t)
	write := func(chat string, texts ...string) {
		servertest.Apply(t, s.Board.As(""), servertest.In(chat), func(d *todo.Draft) {
			d.Replace(todo.CoreView(), nil)
			d.Append(texts...)
		})
	}
	write("reworded", "Begin", "Write the NEEDLE parser")
	for n := range 250 {
		write(fmt.Sprint("hay ", n), "something else")
	}
	write("reworded", "Begin", "Write the lexer")
	write("newest", "needles")
	for query, want := range map[string]string{
		"search=needle":                      "needles 1 false",
		"search=needle&history=true":         "needles 1 false, Write the NEEDLE parser 1 true",
		"search=needle&history=true&limit=1": "needles 1 false, Write the NEEDLE parser 1 true",
		"search=lexer&history=true":          "Write the lexer 2 false",
		"search=nothing+like+that":           "",
		"search=" + url.QueryEscape(strings.Repeat("\x00<é%_", 3000)) + "&history=true": "",
	} {
		var got []string
		pages := walk(t, site+"/api/lists?"+query, "next", func(body []byte) {
			var found []struct{ Found todo.Said }
			checktest.Check(t, json.Unmarshal(body, &found))
			for _, f := range found {
				got = append(got, fmt.Sprintf("%s %d %t", f.Found.Text, f.Found.Revision, f.Found.Left))
			}
		})
		if strings.Join(got, ", ") != want || pages > 3 {
			t.Errorf("%.60s: %q in %d pages, want %q", query, got, pages, want)
		}
	}
}

// /api/today is the account of a day in a time zone (BAD-INPUT 127).
func TestToday(t *testing.T) {
	s, site := servertest.Site(t)
	list := servertest.Apply(t, s.Board.As(""), servertest.In("chat"), func(d *todo.Draft) {
		d.SetStatus(d.Append("Write")[0].ID, todo.Completed)
		d.Append("Push")
	})
	date := func(zone string, days int) string {
		in := checktest.Must(time.LoadLocation(zone))(t)
		return list.Updated.In(in).AddDate(0, 0, days).Format(time.DateOnly)
	}
	for query, lists := range map[string]int{
		"": 1, "?date=" + date("Local", 0): 1, "?date=" + date("Local", -1): 0, "?date=" + date("Local", 1): 0,
		"?zone=Pacific/Kiritimati&date=" + date("Pacific/Kiritimati", 0): 1, "?zone=Pacific/Pago_Pago&date=" + date("Pacific/Pago_Pago", -1): 0,
	} {
		var day account.Day
		status := servertest.GetJSON(t, site+"/api/today"+query, &day)
		if status != 200 || day.Lists != lists || day.Completed != lists || day.Open != lists || day.Projects == nil {
			t.Errorf("%s: status %d, %+v", query, status, day)
		}
	}
	for _, query := range []string{
		"today?date=tomorrow", "today?date=2026-02-30", "today?date=" + strings.Repeat("1", 9000), "today?zone=../../etc/passwd", "today?zone=/etc/passwd",
		"today?zone=Nowhere", "today?zone=" + strings.Repeat("a/", 2000), "today?zone=%00", "lists?search=a&history=perhaps", "lists?search=a&limit=-1",
	} {
		if status, _, body := servertest.Ask(t, "GET", site+"/api/"+query, ""); status != 400 || len(body) > 200 {
			t.Errorf("%.60s: status %d, %.200s", query, status, body)
		}
	}
}

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

// W2, V4: a stream of the same server, or of another server in its process (stdio --panel), gets each call exactly
// once, also a call with an operation id or one that changes nothing. A stream of another process on the same store
// (serve beside stdio) gets only calls that made a revision.
func TestStreamSendsEachCallOnce(t *testing.T) {
	store := storetest.NewMemory()
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
				continue // this call is not on that stream
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
	// Nobody reads the answer yet, so the server blocks while writing it. The stream must have the call by then.
	go p.Send(servertest.Call(1, "write_todos", servertest.Todos("pending", "A")))
	if came := checktest.Must(calls.Next(t.Context()))(t); came[0].Items[0].Text != "A" {
		t.Fatalf("W2: %+v", came)
	}
	checktest.Has(t, "the answer", p.Read().Text(), "updated")
}

// BAD-INPUT 60, W3: the pages of a chat's history have each message of its last hundred plans once, even if another
// list becomes the newest meanwhile.
func TestWorkspacePagesOverPlans(t *testing.T) {
	const plans, items = 104, 10
	store := storetest.NewMemory()
	for n := range plans {
		plan := todo.Snapshot{List: todo.List{ID: fmt.Sprint("plan", n), Conversation: "c"}, Revision: 1}
		for i := range items {
			text := fmt.Sprintf("Plan %d item %d %s", n, i, strings.Repeat("&", 160)) // each & is six bytes as JSON
			plan.Items = append(plan.Items, todo.Item{ID: fmt.Sprint(i + 1), Text: text, Status: todo.Pending})
		}
		now := board.Seen{Key: board.Key{Chat: "c"}, List: plan.List.ID, Revision: 1, Current: true}
		checktest.Must(storetest.Save(t.Context(), store, plan, now))(t)
	}
	address := servertest.Serve(t, servertest.New(t, store, nil), nil).URL
	other := servertest.Writer(t, address, "other")
	want := 100
	pages := walk(t, address+"/api/workspace", "prev", func(body []byte) {
		var part struct{ History []struct{ ID string } }
		if err := json.Unmarshal(body, &part); err != nil || len(part.History) == 0 || len(body) > 3<<19 {
			t.Fatalf("%d bytes, %d messages, %v", len(body), len(part.History), err)
		}
		for n := len(part.History) - 1; n >= 0; n-- {
			if part.History[n].ID != fmt.Sprint("session-history-", want) {
				t.Errorf("a page has %s, not %d", part.History[n].ID, want)
			}
			want--
		}
		other(servertest.Todos("pending", fmt.Sprint(want)))
	})
	if want != 0 || pages < 3 {
		t.Errorf("%d pages end with message %d", pages, want+1)
	}
}

// W3: /api/workspace finds a list by its id or name, and the newest main list,
// however many lists changed after it.
func TestWorkspaceFindsOldLists(t *testing.T) {
	store := storetest.NewMemory()
	checktest.Check(t, store.Update(t.Context(), board.Key{}, func(tx board.Tx) (err error) {
		next := todo.Snapshot{List: todo.List{ID: "oldest", Name: "release", Conversation: "c"}, Revision: 1,
			Items: []todo.Item{{ID: "1", Text: "A", Status: todo.Pending}}}
		for n := 0; err == nil && n < 2001; n++ {
			_, err = tx.Save(t.Context(), next)
			next.List = todo.List{ID: fmt.Sprint("sub", n), Conversation: "c", Parent: "oldest", Agent: "helper"}
		}
		return err
	}))
	web := servertest.Serve(t, servertest.New(t, store, nil), nil)
	for _, query := range []string{"?list=oldest", "?list=release", ""} {
		servertest.Is(t, "W3: "+query, 200, `"todos":[{"content":"A"`)(servertest.Ask(t, "GET", web.URL+"/api/workspace"+query, ""))
	}
}
