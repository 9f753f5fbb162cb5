package panel_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/servertest"
	"todo-mcp/server/web"
)

// chat connects a client on stdio that starts a server for each chat, and
// returns a function that calls TodoWrite in it.
func chat(t *testing.T, s *server.Server) func(args string) {
	t.Helper()
	pipe := servertest.NewPipe(t, s)
	pipe.Send(servertest.Initialize(1, "gemini-cli"))
	pipe.Read()
	pipe.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return func(args string) {
		t.Helper()
		pipe.Send(servertest.Call(2, "TodoWrite", args))
		if a := pipe.Read(); !strings.Contains(a.Text(), "updated") {
			t.Fatal(a.Raw)
		}
	}
}

const (
	firstPlan  = `{"todos":[{"content":"Lay the keel","activeForm":"Laying the keel","status":"in_progress"},{"content":"Caulk it","activeForm":"Caulking it","status":"pending"}]}`
	secondPlan = `{"todos":[{"content":"Raise the mast","activeForm":"Raising the mast","status":"in_progress"},{"content":"Bend the sails","activeForm":"Bending the sails","status":"pending"}]}`
)

// listIDs returns the ids of all lists, the last changed first.
func listIDs(t *testing.T, url string) (ids []string) {
	t.Helper()
	var lists []struct{ List string }
	servertest.GetJSON(t, url+"/api/lists", &lists)
	for _, l := range lists {
		ids = append(ids, l.List)
	}
	return ids
}

func page(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		t.Fatal(res.StatusCode, err)
	}
	return string(data)
}

// element returns what is between a tag with an id and the next one of the same
// name that ends.
func element(t *testing.T, html, tag, id string) string {
	t.Helper()
	found := regexp.MustCompile(`(?s)<` + tag + ` id="` + id + `".*?</` + tag + `>`).FindString(html)
	if found == "" {
		t.Fatalf("no %s in %s", id, html)
	}
	return found
}

// A list that its chat left behind says so on the board and on its own page,
// with the time of its last update and how it is taken up again. It comes after
// the others, nothing on it is happening now, and no time runs.
func TestPanelShowsWhatWasLeftOpen(t *testing.T) {
	now := time.Now()
	s := servertest.New(t, nil, nil)
	web := servertest.Serve(t, s, func(c *web.Config) { c.Now = func() time.Time { return now } })
	write := chat(t, s)
	write(firstPlan)
	now = time.Now()
	if html := page(t, web.URL); strings.Contains(html, "left open") || !strings.Contains(html, "data-run") {
		t.Errorf("while its chat is there: %s", html)
	}
	write(secondPlan)
	ids := listIDs(t, web.URL)
	second, first := ids[0], ids[1]
	html := page(t, web.URL)
	for where, html := range map[string]string{"board": html, "own page": page(t, web.URL+"/lists/"+first)} {
		card := element(t, html, "article", "card-"+first)
		since := regexp.MustCompile(`<strong>left open</strong> since <time datetime="([^"]+)" title="[^"]+">([^<]+)</time> · the prompt <code>resume</code> takes it up</p>`).FindStringSubmatch(card)
		if since == nil || since[2] != localTime(t, since[1]).Format("15:04") || strings.Contains(card, "data-run") || !strings.Contains(card, "in_progress resting") {
			t.Errorf("%s: since %q in %s", where, since, card)
		}
	}
	other := element(t, html, "article", "card-"+second)
	if strings.Contains(other, "left open") || !strings.Contains(other, "data-run") {
		t.Errorf("the second plan: %s", other)
	}
	if !strings.Contains(html, `id="now-`+second) || strings.Contains(html, `id="now-`+first) {
		t.Errorf("now: %s", element(t, html, "ol", "now"))
	}
	if open, left, _ := strings.Cut(html, `<div id="left"`); strings.Contains(open, "card-"+first) || !strings.Contains(left, "card-"+first) {
		t.Error("the first plan is not among those left open")
	}
	began := now
	for days, layout := range map[int]string{3: "Mon 15:04", 400: "2 Jan 2006"} {
		now = began.AddDate(0, 0, days)
		card := element(t, page(t, web.URL+"/lists/"+first), "article", "card-"+first)
		if want := localTime(t, regexp.MustCompile(`since <time datetime="([^"]+)"`).FindStringSubmatch(card)[1]).Format(">" + layout + "<"); !strings.Contains(card, want) {
			t.Errorf("after %d days it lacks %q: %s", days, want, card)
		}
	}
}

func localTime(t *testing.T, stamp string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		t.Fatal(err)
	}
	return at.Local()
}

// drawn is the data of an event.
type drawn struct {
	ID, Card, Now, Say string
	Left, Gone         bool
}

func nextDrawn(t *testing.T, stream *servertest.Events) (d drawn) {
	t.Helper()
	_, name, data := stream.Event()
	if err := json.Unmarshal([]byte(data), &d); err != nil || name != "list" {
		t.Fatalf("%s %s: %v", name, data, err)
	}
	return d
}

// When a chat begins another plan, the open page gets the card that it left
// behind as well, once; and also a page that shows nothing but that list.
func TestPanelSendsWhatWasLeftOpen(t *testing.T) {
	s := servertest.New(t, nil, nil)
	now := time.Now() // stands still: all lists are checked once, at the beginning
	web := servertest.Serve(t, s, func(c *web.Config) { c.Now = func() time.Time { return now } })
	write := chat(t, s)
	write(firstPlan)
	first := listIDs(t, web.URL)[0]
	board := servertest.OpenStream(t, "GET", web.URL+"/panel/events?after=0", "")
	own := servertest.OpenStream(t, "GET", web.URL+"/panel/events?after=0&list="+first, "")
	for _, stream := range []*servertest.Events{board, own} {
		stream.Expect("event: hello")
		stream.Expect("data: \"")
		if d := nextDrawn(t, stream); d.ID != first || d.Left {
			t.Errorf("at the beginning: %+v", d)
		}
	}
	write(secondPlan)
	second := nextDrawn(t, board)
	if second.ID == first || second.Left || second.Now == "" {
		t.Errorf("the second plan: %+v", second)
	}
	for where, d := range map[string]drawn{"board": nextDrawn(t, board), "own page": nextDrawn(t, own)} {
		if d.ID != first || !d.Left || d.Now != "" || !strings.Contains(d.Card, "left open") || !strings.HasSuffix(d.Say, "left open") {
			t.Errorf("%s: the first plan: %+v", where, d)
		}
	}
	write(strings.Replace(secondPlan, "pending", "completed", 1))
	got := []drawn{nextDrawn(t, board)}
	write(strings.Replace(firstPlan, "pending", "completed", 1)) // the chat goes on with its first plan
	got = append(got, nextDrawn(t, board), nextDrawn(t, board))
	if got[0].ID != second.ID || got[0].Left || got[1].ID != first || got[1].Left || got[2].ID != second.ID || !got[2].Left {
		t.Errorf("%+v", got)
	}
}

// A page that connects is sent what differs from what it shows: a process may
// have ended since, and a list may have been taken up again without a write.
func TestPanelSendsWhatDiffers(t *testing.T) {
	store := memory.New()
	s := servertest.New(t, store, nil)
	web := servertest.Serve(t, s, nil)
	ended := todo.NewBoard(store)
	conversation := func(key string) todo.Conversation { return todo.Conversation{Key: key, Hint: true} }
	begin := func(key, text string) todo.Snapshot {
		t.Helper()
		out, err := ended.As("").Apply(t.Context(), todo.Write{
			Target: todo.Target{Conversation: conversation(key), Append: true}, Change: func(d *todo.Draft) error { d.Append(text); return nil }})
		if err != nil {
			t.Fatal(err)
		}
		return out.After
	}
	a, b, c := begin("process:a", "A"), begin("process:b", "B"), begin("process:c", "C")
	ended.Close()
	if err := s.Board.As("").Hold(t.Context(), conversation("process:d"), b); err != nil {
		t.Fatal(err)
	}
	stream := servertest.OpenStream(t, "GET", fmt.Sprintf("%s/panel/events?after=%d&left=%s,%s", web.URL, c.Seq, b.List.ID, c.List.ID), "")
	stream.Expect("data: \"")
	got := map[string]bool{}
	for range 2 {
		d := nextDrawn(t, stream)
		got[d.ID] = d.Left
	}
	if left, ok := got[a.List.ID]; !ok || !left {
		t.Errorf("the list of a process that ended is not sent: %v", got)
	}
	if left, ok := got[b.List.ID]; !ok || left {
		t.Errorf("the list that was taken up again is not sent: %v", got)
	}
}

// Two chats that share a connection without a session do not leave each other's
// list behind by writing in turn.
func TestPanelSharedConnection(t *testing.T) {
	s := servertest.New(t, nil, nil)
	web := servertest.Serve(t, s, nil)
	for _, plan := range []string{firstPlan, secondPlan} {
		if _, _, body := servertest.Post(t, web.URL+"/mcp", servertest.ModernCall(1, "TodoWrite", plan), servertest.ModernHeaders("tools/call", "TodoWrite")...); !strings.Contains(body, "updated") {
			t.Fatal(body)
		}
	}
	if html := page(t, web.URL); strings.Contains(html, "left open") || strings.Count(html, `<article id="card-`) != 2 {
		t.Error(html)
	}
}

// A sub-agent's list leaves the main list's card when it is archived, and a main
// list the board; open items on an archived list keep nothing open.
func TestPanelHidesArchivedLists(t *testing.T) {
	s := servertest.New(t, nil, nil)
	web := servertest.Serve(t, s, nil)
	id := servertest.Session(t, web.URL+"/mcp", "tester")
	write := func(args, meta string) {
		t.Helper()
		servertest.Post(t, web.URL+"/mcp", servertest.WithMeta(servertest.Call(1, "TodoWrite", args), meta), "Mcp-Session-Id", id)
	}
	write(firstPlan, "")
	main := listIDs(t, web.URL)[0]
	write(secondPlan, `"todo-mcp/agent":"helper"`)
	sub := listIDs(t, web.URL)[0]
	if html := page(t, web.URL); !strings.Contains(html, "Raising the mast") {
		t.Errorf("before: %s", html)
	}
	stream := servertest.OpenStream(t, "GET", web.URL+"/panel/events", "")
	stream.Expect("data: \"")
	archive := func(id string) drawn {
		t.Helper()
		if _, err := s.Board.As("").Archive(t.Context(), id, true, todo.Writer{Person: true}); err != nil {
			t.Fatal(err)
		}
		return nextDrawn(t, stream)
	}
	if d := archive(sub); d.ID != main || d.Gone || strings.Contains(d.Card, "Raising the mast") {
		t.Errorf("a sub-agent's list was archived: %+v", d)
	}
	if html := page(t, web.URL); strings.Contains(html, "Raising the mast") || !strings.Contains(html, "Laying the keel") {
		t.Errorf("the board with an archived sub-agent's list: %s", html)
	}
	if html := page(t, web.URL+"/lists/"+sub); !strings.Contains(html, "archived") || strings.Contains(html, "data-run") {
		t.Errorf("the page of an archived list: %s", html)
	}
	if d := archive(main); d.ID != main || !d.Gone || d.Now != "" {
		t.Errorf("a main list was archived: %+v", d)
	}
	if html := page(t, web.URL); strings.Contains(html, "Laying the keel") {
		t.Errorf("the board with an archived list: %s", html)
	}
}
