package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/account"
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

// What is not there, or is no number, is refused. (What is there: testdata/api.txtar of package
// server.)
func TestAPIRefuses(t *testing.T) {
	s, url := servertest.Site(t)
	list := servertest.Apply(t, s.Board.As(""), servertest.In("chat"), func(d *todo.Draft) { d.Append("A") }).List.ID
	for path, want := range map[string]int{"lists/none": 404, "lists/none/history": 404, "lists?limit=x": 400, "lists/" + list + "?revision=9": 404, "events?after=x": 400} {
		servertest.Is(t, path, want)(servertest.Ask(t, "GET", url+"/api/"+path, ""))
	}
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
