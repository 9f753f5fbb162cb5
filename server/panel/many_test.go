package panel_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	memory "todo-mcp/internal/store/memorytest"
	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

// leftOpen serves lists that were left open as many days ago as their ids say.
func leftOpen(t *testing.T, days ...int) (url string) {
	t.Helper()
	store := memory.New()
	for _, n := range days {
		at := time.Now().Add(-time.Duration(n)*24*time.Hour - time.Minute)
		l := todo.List{ID: fmt.Sprintf("left%d", n), Client: "claude-code", Chat: "4f1c", Conversation: "chat:4f1c", Workspace: "/src/a'b", Created: at}
		_, err := storetest.Save(t.Context(), store, todo.Snapshot{List: l, Revision: 1, LastID: 2, Updated: at, Worked: at,
			Items: []todo.Item{{ID: "1", Text: "Lay the keel", Status: todo.InProgress}, {ID: "2", Text: "Caulk it", Status: todo.Pending}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return servertest.Serve(t, servertest.New(t, store, nil), nil).URL
}

// A list that was left open says on its row and its page which command resumes its chat, and
// offers to tick what is open; above all of them stands how many are older than a day, a
// week and a month. Those are archived at once, and come back at once.
func TestPanelArchivesWhatIsOlder(t *testing.T) {
	url := leftOpen(t, 0, 2, 8, 9, 40)
	html := page(t, url+"/?show=left")
	const command = `data-command="cd &#39;/src/a&#39;\&#39;&#39;b&#39; &amp;&amp; claude --resume 4f1c"`
	if row := element(t, html, "li", "row-left0"); !strings.Contains(row, command) || !strings.Contains(row, `data-open="left0"`) {
		t.Errorf("its row: %s", row)
	}
	if own := page(t, url+"/lists/left0"); !strings.Contains(own, command) || !strings.Contains(own, `data-do="command"`) || !strings.Contains(own, `data-do="finish"`) {
		t.Errorf("its page: %s", own)
	}
	if want := `data-older="[[1,&#34;a day&#34;,4],[7,&#34;a week&#34;,3],[30,&#34;a month&#34;,1]]"`; !strings.Contains(html, want) {
		t.Errorf("lacks %s: %s", want, html)
	}
	post := func(body, want string) []string {
		t.Helper()
		var got struct{ Lists []string }
		status, _, answer := servertest.Post(t, url+"/lists/edit", body)
		if err := json.Unmarshal([]byte(answer), &got); err != nil || status != 200 || fmt.Sprint(len(got.Lists)) != want {
			t.Fatalf("%s: %d %s", body, status, answer)
		}
		return got.Lists
	}
	lists := post(`{"do":"archive","days":7}`, "3")
	if html := page(t, url+"/?show=left"); strings.Contains(html, "left9") || !strings.Contains(html, "left2") {
		t.Errorf("after a week's are archived: %s", html)
	}
	post(`{"do":"archive","days":7}`, "0")
	back, err := json.Marshal(map[string]any{"do": "unarchive", "lists": lists, "op": "1"})
	if err != nil {
		t.Fatal(err)
	}
	post(string(back), "3")
	if html := page(t, url+"/?show=left"); !strings.Contains(html, "left40") {
		t.Errorf("after they came back: %s", html)
	}
}

// BAD-INPUT 126: An edit of several lists that names none, 2,001 or foreign ones, does another
// deed than archive and unarchive, or comes from a foreign page → Refused, or they stay as they
// are
func TestEditsOfSeveralLists(t *testing.T) {
	url := leftOpen(t, 2)
	for body, want := range map[string]int{
		`{"do":"archive"}`: 400, `{"do":"delete","lists":["left2"]}`: 400, `{"do":"finish","days":1}`: 400, `{"do":"archive","days":-1}`: 400,
		`{"do":"archive","days":1,"lists":["left2"]}`: 400, `{"do":"archive","lists":["left2"],"all":true}`: 400, `{"do":"archive","days":1,"Days":2}`: 400,
		`{"do":"archive","lists":[` + strings.Repeat(`"x",`, 2000) + `"x"]}`: 400, `nothing`: 400, `{"do":"archive","lists":["another's"]}`: 404,
		`{"do":"archive","days":99999999999}`: 200,
	} {
		if status, _, answer := servertest.Post(t, url+"/lists/edit", body); status != want {
			t.Errorf("126: %.60s: %d %s", body, status, answer)
		}
	}
	const edit = `{"do":"archive","days":1}`
	if status, _, _ := servertest.Post(t, url+"/lists/edit", edit, "Origin", "http://evil.example"); status != 403 {
		t.Errorf("126: from a foreign page: %d", status)
	}
	if status, _, _ := servertest.Ask(t, "POST", url+"/lists/edit", edit, "Content-Type", "text/plain"); status != 415 {
		t.Errorf("126: as a form sends it: %d", status)
	}
	if html := page(t, url+"/?show=left"); !strings.Contains(html, "row-left2") {
		t.Error("126: the list was archived")
	}
}
