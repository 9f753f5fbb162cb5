package card_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/server"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// withApps returns an initialize request of a client that shows apps of a media type.
func withApps(client, mime string) string {
	return strings.Replace(servertest.Initialize(1, client), `"capabilities":{}`,
		`"capabilities":{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["`+mime+`"]}}}`, 1)
}

const (
	appMIME  = "text/html;profile=mcp-app"
	viewTool = "todo_list_view"
	tickTool = "todo_list_tick"
	listing  = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
)

// The page has the right type, is small, and contains nothing that makes network
// requests or inserts markup.
func TestAppPage(t *testing.T) {
	p := servertest.NewPipe(t, servertest.New(t, nil, nil))
	go p.Send(servertest.Initialize(1, "somebody"), `{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"ui://todo/list.html"}}`)
	servertest.Has(t, "the extension", p.Read().Raw, `"extensions":{"io.modelcontextprotocol/ui":{}}`)
	var a struct {
		Result struct {
			Contents []struct {
				URI, MIMEType, Text string
				Meta                json.RawMessage `json:"_meta"`
			}
		}
	}
	if err := json.Unmarshal([]byte(p.Read().Raw), &a); err != nil || len(a.Result.Contents) != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	page := a.Result.Contents[0]
	if page.MIMEType != appMIME || page.URI != "ui://todo/list.html" {
		t.Errorf("%s is %s", page.URI, page.MIMEType)
	}
	if want := `{"ui":{"csp":{"connectDomains":[],"resourceDomains":[]},"prefersBorder":true}}`; string(page.Meta) != want {
		t.Errorf("_meta = %s, want %s", page.Meta, want)
	}
	t.Logf("%d bytes", len(page.Text))
	if len(page.Text) >= 30_000 || !strings.HasPrefix(page.Text, "<!doctype html>") {
		t.Errorf("%d bytes: %.40s", len(page.Text), page.Text)
	}
	for _, bad := range []string{"innerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "url(", "<link", " src=", "@import"} {
		if strings.Contains(page.Text, bad) {
			t.Errorf("36: the page has %s", bad)
		}
	}
}

// Every tool names the page. The page's own tools are listed only in sessions of
// clients that show apps, which hide them from their models.
func TestAppListing(t *testing.T) {
	for _, c := range []struct {
		hello string
		view  bool
	}{
		{servertest.Initialize(1, "claude-code"), false},
		{withApps("claude-ai", appMIME), true},
		{withApps("somebody", appMIME), true},
		{withApps("somebody", "text/plain"), false},
		{strings.Replace(withApps("somebody", appMIME), `["text/html;profile=mcp-app"]`, `7`, 1), false},
	} {
		s := servertest.New(t, nil, func(c *server.Config) { c.Publish = []string{"auto"} })
		p := servertest.NewPipe(t, s)
		go p.Send(c.hello, listing, strings.Replace(listing, `"id":2`, `"id":3,"params":{`+servertest.Meta+`}`, 1))
		p.Read()
		stdio, raw := servertest.Listed(t, p.Read().Raw)
		checkListing(t, "stdio", stdio, raw, c.view)
		sessionless, raw := servertest.Listed(t, p.Read().Raw)
		checkListing(t, "sessionless", sessionless, raw, false)
		if !slices.Equal(sessionless, []string{"TodoWrite"}) {
			t.Errorf("sessionless lists vary: %v", sessionless)
		}

		web := servertest.Serve(t, s, nil)
		_, header, _ := servertest.Post(t, web.URL+"/mcp", c.hello)
		_, _, body := servertest.Post(t, web.URL+"/mcp", listing, "Mcp-Session-Id", header.Get("Mcp-Session-Id"))
		names, raw := servertest.Listed(t, body)
		checkListing(t, "http", names, raw, c.view)
		if !slices.Equal(names, stdio) {
			t.Errorf("http %v, stdio %v", names, stdio)
		}
	}
}

func checkListing(t *testing.T, where string, names []string, raw map[string]json.RawMessage, view bool) {
	t.Helper()
	for _, own := range []string{viewTool, tickTool} {
		if slices.Contains(names, own) != view {
			t.Errorf("%s: listed %v, %s wanted: %v", where, names, own, view)
		}
	}
	for name, tool := range raw {
		want := `"ui":{"resourceUri":"ui://todo/list.html"}}`
		if name == viewTool || name == tickTool {
			want = `"_meta":{"ui":{"visibility":["app"]}}`
			if !strings.Contains(string(tool), fmt.Sprintf(`"readOnlyHint":%v`, name == viewTool)) {
				t.Errorf("%s: read-only: %s", name, tool)
			}
		}
		if !strings.Contains(string(tool), want) {
			t.Errorf("%s: %s lacks %s", where, name, want)
		}
	}
}

// A session keeps its client's capability after a restart of the server and on
// another replica with the same key.
func TestAppListingAfterRestart(t *testing.T) {
	_, header, _ := servertest.Post(t, servertest.Serve(t, servertest.New(t, nil, nil), nil).URL+"/mcp", withApps("somebody", appMIME))
	_, _, body := servertest.Post(t, servertest.Serve(t, servertest.New(t, nil, nil), nil).URL+"/mcp", listing, "Mcp-Session-Id", header.Get("Mcp-Session-Id"))
	if names, _ := servertest.Listed(t, body); !slices.Contains(names, viewTool) {
		t.Errorf("listed %v", names)
	}
}

// The view tool can be called in both eras whether it is listed or not. It
// returns the newest revision with core statuses, in agreement with its output
// schema, and a tool error for a list that does not exist.
func TestAppView(t *testing.T) {
	web := servertest.Serve(t, servertest.New(t, nil, nil), nil)
	_, header, _ := servertest.Post(t, web.URL+"/mcp", withApps("somebody", appMIME))
	id := []string{"Mcp-Session-Id", header.Get("Mcp-Session-Id")}
	_, _, body := servertest.Post(t, web.URL+"/mcp", listing, id...)
	_, raw := servertest.Listed(t, body)
	schema := viewSchema(t, raw[viewTool])

	callView := func(args string) []servertest.Answer {
		t.Helper()
		_, _, apps := servertest.Post(t, web.URL+"/mcp", servertest.Call(3, viewTool, args), id...)
		_, _, noApps := servertest.Post(t, web.URL+"/mcp", servertest.Call(3, viewTool, args), "Mcp-Session-Id", servertest.Session(t, web.URL+"/mcp", "no-apps"))
		_, _, modern := servertest.Post(t, web.URL+"/mcp", servertest.ModernCall(3, viewTool, args), servertest.ModernHeaders("tools/call", viewTool)...)
		return []servertest.Answer{servertest.Parse(t, apps), servertest.Parse(t, noApps), servertest.Parse(t, modern)}
	}
	servertest.Post(t, web.URL+"/mcp", servertest.Call(2, "create_todos", `{"items":["One","Two","Three"]}`), id...)
	_, _, body = servertest.Post(t, web.URL+"/mcp", servertest.Call(2, "update_todo", `{"id":"2","status":"failed"}`), id...)
	var written struct{ List string }
	if err := json.Unmarshal(servertest.Parse(t, body).Result.Structured, &written); err != nil || written.List == "" {
		t.Fatalf("%v: %s", err, body)
	}
	want := fmt.Sprintf(`{"message":"0 of 3 completed","display":[{"type":"todo","items":[{"id":"1","title":"One","status":"pending"},{"id":"2","title":"Two","status":"failed"},{"id":"3","title":"Three","status":"pending"}]}],"list":%q,"revision":2,"counts":{"failed":1,"pending":2}}`, written.List)
	for _, a := range callView(fmt.Sprintf(`{"list_id":%q}`, written.List)) {
		if got := string(a.Result.Structured); got != want || a.Result.IsError || a.Text() != "0 of 3 completed" {
			t.Errorf("got  %s\nwant %s", a.Raw, want)
		}
		var structured any
		if err := json.Unmarshal(a.Result.Structured, &structured); err != nil || schema.Validate(structured) != nil {
			t.Errorf("%s: %v, %v", a.Result.Structured, err, schema.Validate(structured))
		}
	}
	for args, text := range map[string]string{`{"list_id":"nothere"}`: "list_id: There is no such list", `{}`: "list_id: Required",
		`{"list_id":""}`: "list_id: Required", `{"list_id":[]}`: "list_id: "} {
		for _, a := range callView(args) {
			if a.Error != nil || !a.Result.IsError || !strings.Contains(a.Text(), text) {
				t.Errorf("%s: %s", args, a.Raw)
			}
		}
	}
}

// viewSchema compiles the output schema of the view tool as listed.
func viewSchema(t *testing.T, tool json.RawMessage) *jsonschema.Resolved {
	t.Helper()
	var published struct{ OutputSchema jsonschema.Schema }
	if err := json.Unmarshal(tool, &published); err != nil {
		t.Fatalf("%v: %s", err, tool)
	}
	for _, bad := range []string{"$ref", "$defs", "$schema", "$id"} {
		if strings.Contains(string(tool), bad) {
			t.Errorf("V1: the view tool's schemas have %s", bad)
		}
	}
	return servertest.Must(published.OutputSchema.Resolve(nil))(t)
}
