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
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// T8: each write of a main list sends list:update with the list and then
// todos:update, whose data is the whole TodoItem[]; a write of a sub-agent's
// list sends agent:update. A write that changes nothing sends nothing (V4).
func TestEvents(t *testing.T) {
	_, url := servertest.Site(t)
	stream := servertest.OpenStream(t, "GET", url+"/api/events", "")
	write := servertest.Sender(t, url, "tester")
	write(servertest.Call(1, "TodoWrite", `{"todos":[{"content":"A","activeForm":"Doing A","status":"in_progress"},{"content":"B","activeForm":"Doing B","status":"pending"}]}`))
	before, name, data := stream.Event()
	var got struct {
		List     string
		Revision int64
		Todos    []map[string]string
	}
	servertest.Check(t, json.Unmarshal([]byte(data), &got))
	want := `[map[activeForm:Doing A content:A id:1 status:in_progress] map[activeForm:Doing B content:B id:2 status:pending]]`
	if before != "" || name != "list:update" || got.Revision != 1 || fmt.Sprint(got.Todos) != want {
		t.Errorf("T8: %s %s", name, data)
	}
	var items []map[string]string
	after, name, data := stream.Event()
	if err := json.Unmarshal([]byte(data), &items); err != nil || after == "" || name != "todos:update" || fmt.Sprint(items) != want {
		t.Errorf("T8: the data of todos:update is no TodoItem[]: %s %s %s", after, name, data)
	}
	write(servertest.Call(2, "TodoWrite", `{"todos":[{"content":"A","activeForm":"Doing A","status":"in_progress"},{"content":"B","activeForm":"Doing B","status":"pending"}]}`))
	write(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"TodoWrite","arguments":` + servertest.Todos("pending", "Sub") + `,"_meta":{"todo-mcp/agent":"helper"}}}`)
	if _, name, data := stream.Event(); name != "agent:update" || !strings.Contains(data, `"parent":"`+got.List+`"`) || !strings.Contains(data, `"agent":"helper"`) {
		t.Errorf("T8: a sub-agent's write sent %s %s", name, data)
	}
	write(servertest.Call(4, "TodoWrite", servertest.Todos("completed", "A", "B")))
	if _, name, data := stream.Event(); name != "list:update" || !strings.Contains(data, `"revision":2`) {
		t.Errorf("V4, T8: %s %s", name, data)
	}
}

// A list is sent again when its agent asks, without an id, since a stream resumes by revisions: it
// misses none, and sends no more than before. How the list stands then, /api/states says.
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
	id := servertest.Session(t, url+"/mcp", "tester")
	write := func(list, text string) {
		t.Helper()
		servertest.Post(t, url+"/mcp?list="+list, servertest.Call(1, "TodoWrite", servertest.Todos("pending", text)), "Mcp-Session-Id", id)
	}
	stream := servertest.OpenStream(t, "GET", url+"/api/events", "")
	write("a", "1")
	stream.Event()
	last, _, _ := stream.Event() // todos:update, which ends what is sent of a revision
	write("a", "2")
	write("b", "1")
	write("a", "3")
	resumed := servertest.OpenStream(t, "GET", url+"/api/events", "", "Last-Event-ID", last)
	_, _, first := resumed.Event()
	resumed.Event()
	_, _, second := resumed.Event()
	if !strings.Contains(first, `"name":"b"`) || !strings.Contains(second, `"name":"a"`) || !strings.Contains(second, `"revision":3`) {
		t.Errorf("resumed with %s and %s", first, second)
	}
	other := servertest.OpenStream(t, "GET", url+"/api/events?after=1000000", "")
	_, _, data := other.Event()
	servertest.Has(t, "after another store's id", data, `"name":"b"`)
}

func TestAPI(t *testing.T) {
	_, url := servertest.Site(t)
	get := func(path string, status int, texts ...string) {
		t.Helper()
		servertest.Is(t, path, status, texts...)(servertest.Ask(t, "GET", url+path, ""))
	}
	get("/api/lists", 200, "[]")
	write := servertest.Writer(t, url, "tester")
	write(servertest.Todos("pending", "A"))
	write(servertest.Todos("pending", "A", "B"))
	list := "/api/lists/" + servertest.ListIDs(t, url)[0]
	get("/api/lists", 200, `"revision":2,`)
	get(list+"?revision=1", 200, `"text":"A"`, `"revision":1,`)
	get(list, 200, `"all_completed":false`) // P5
	write(servertest.Todos("completed", "B"))
	get(list, 200, `"all_completed":true`)
	var history []map[string]any
	if servertest.GetJSON(t, url+list+"/history?after=1", &history); len(history) != 2 || history[0]["revision"] != 2.0 {
		t.Errorf("history: %v", history)
	}
	for path, want := range map[string]int{"/api/lists/none": 404, "/api/lists/none/history": 404, "/api/lists?limit=x": 400, list + "?revision=9": 404, "/api/events?after=x": 400} {
		get(path, want)
	}
}

// /api/states says how the open lists stand, and which items a person changed
// that the agent has not seen.
func TestStates(t *testing.T) {
	s, url := servertest.Site(t)
	id := servertest.Session(t, url+"/mcp", "tester")
	write := func(list, status string) {
		t.Helper()
		servertest.Post(t, url+"/mcp?list="+list, servertest.Call(1, "TodoWrite", servertest.Todos(status, "A", "B")), "Mcp-Session-Id", id)
	}
	write("open", "pending")
	write("ended", "completed")
	type state struct {
		List, State, Group, Client string
		Unseen                     []string
	}
	get := func() (states []state) {
		t.Helper()
		if status := servertest.GetJSON(t, url+"/api/states", &states); status != 200 {
			t.Fatal(status)
		}
		return states
	}
	before := get()
	if len(before) != 1 || before[0].State != "working" || before[0].Unseen != nil || before[0].Client != "tester" {
		t.Fatalf("states %+v", before)
	}
	byPerson := board.Write{Target: board.Target{List: before[0].List}, Writer: todo.Writer{Client: "panel", Person: true}}
	servertest.Apply(t, s.Board.As(""), byPerson, func(d *todo.Draft) { d.SetStatus("2", todo.Completed) })
	if got := get(); fmt.Sprint(got[0].Unseen) != "[2]" {
		t.Errorf("after a person's edit: %+v", got)
	}
	var list struct{ Client, Writer string }
	servertest.GetJSON(t, url+"/api/lists/"+before[0].List, &list)
	if list.Client != "tester" || list.Writer != "panel" {
		t.Errorf("after a person's edit the list is of %q, and written by %q", list.Client, list.Writer)
	}
	servertest.Post(t, url+"/mcp?list=open", servertest.WithMeta(servertest.Call(1, "TodoWrite", servertest.Todos("in_progress", "C")), `"todo-mcp/agent":"helper"`), "Mcp-Session-Id", id)
	sub := get()[0].List
	servertest.Apply(t, s.Board.As(""), servertest.On(sub), func(d *todo.Draft) { _ = d.Edit(todo.Edit{Do: todo.EditBlock, Item: "1", Text: "no key"}) })
	for _, got := range get() {
		if got.List == sub && (got.State != "waiting" || got.Group != "") || got.List != sub && (got.State != "working" || got.Group != "waiting") {
			t.Errorf("while a sub-agent waits: %+v", got)
		}
	}
}

// /api/states says what became of what a person did: it waits to be seen, is seen, or
// is overridden, and then what the person's words were.
func TestStatesSayWhatBecameOfAPersonsEdit(t *testing.T) {
	_, url := servertest.Site(t)
	write := servertest.Writer(t, url, "tester")
	plan := servertest.Todos("pending", "A", "B", "C")
	write(plan)
	list := servertest.ListIDs(t, url)[0]
	edit := func(body string) {
		t.Helper()
		if status, _, answer := servertest.Post(t, url+"/lists/"+list+"/edit", body); status != 200 {
			t.Fatal(status, answer)
		}
	}
	expect := func(want string) {
		t.Helper()
		var states []map[string]any
		servertest.GetJSON(t, url+"/api/states", &states)
		for _, name := range []string{"list", "state", "client"} {
			delete(states[0], name)
		}
		if got, err := json.Marshal(states[0]); err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	expect(`{"saw":1}`)
	edit(`{"do":"text","id":"2","text":"B, tested"}`)
	edit(`{"do":"move","id":"3","to":0}`)
	edit(`{"do":"rename","text":"Mine"}`)
	expect(`{"order":"waits to be seen","saw":1,"title":"waits to be seen","unseen":["3","2"]}`)
	write(plan)
	expect(`{"order":"seen","saw":4,"seen":["2"]}`)
	for range todo.MaxRepeats {
		write(plan)
	}
	expect(`{"order":"seen","saw":7,"seen":["2"]}`)
	write(plan)
	expect(`{"lost":[2,3],"order":"overridden","overridden":{"2":"B, tested"},"saw":8}`)
	edit(`{"do":"back","id":"2"}`)
	edit(`{"do":"back"}`)
	expect(`{"order":"waits to be seen","saw":8,"unseen":["3","2"]}`)
}

// A search finds what lists say, and on demand what they said and in which revision; its
// pages lead through all of them.
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
		pages := 0
		for address := site + "/api/lists?" + query; address != ""; pages++ {
			body, next := pageOf(t, address, "next")
			var found []struct{ Found todo.Said }
			if err := json.Unmarshal(body, &found); err != nil {
				t.Fatalf("%s: %s, %v", address, body, err)
			}
			for _, f := range found {
				got = append(got, fmt.Sprintf("%s %d %t", f.Found.Text, f.Found.Revision, f.Found.Left))
			}
			address = next
		}
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
		in := servertest.Must(time.LoadLocation(zone))(t)
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
