package card_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/server"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/todo-mcp/todo-mcp/server/servertest"
)

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
	checktest.Has(t, "the extension", p.Read().Raw, `"extensions":{"io.modelcontextprotocol/ui":{}}`)
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
	if len(page.Text) >= 30_500 || !strings.HasPrefix(page.Text, "<!doctype html>") {
		t.Errorf("%d bytes: %.40s", len(page.Text), page.Text)
	}
	for _, bad := range []string{"innerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "url(", "<link", " src=", "@import"} {
		if strings.Contains(page.Text, bad) {
			t.Errorf("37: the page has %s", bad)
		}
	}
}

// Every tool names the page. The page's own tools are listed only in sessions of clients that show apps, since these
// hide the tools from their models. A session lists the same after a restart and on another replica with the same key.
func TestAppListing(t *testing.T) {
	for hello, view := range map[string]bool{
		withApps("claude-ai", appMIME): true, withApps("somebody", appMIME): true, withApps("somebody", "text/plain"): false,
		strings.Replace(withApps("somebody", appMIME), `["text/html;profile=mcp-app"]`, `7`, 1): false,
	} {
		server := func() *server.Server {
			return servertest.New(t, nil, func(c *server.Config) { c.Publish = []string{"auto"} })
		}
		p := servertest.NewPipe(t, server())
		go p.Send(hello, listing, strings.Replace(listing, `"id":2`, `"id":3,"params":{`+servertest.Meta+`}`, 1))
		p.Read()
		names, raw := servertest.Listed(t, p.Read().Raw)
		checkListing(t, "stdio", names, raw, view)
		sessionless, raw := servertest.Listed(t, p.Read().Raw)
		checkListing(t, "sessionless", sessionless, raw, false)
		if !slices.Equal(sessionless, []string{"TodoWrite"}) {
			t.Errorf("sessionless lists vary: %v", sessionless)
		}
		_, header, _ := servertest.Post(t, servertest.Serve(t, server(), nil).URL+"/mcp", hello)
		_, _, body := servertest.Post(t, servertest.Serve(t, server(), nil).URL+"/mcp", listing, "Mcp-Session-Id", header.Get("Mcp-Session-Id"))
		inSession, raw := servertest.Listed(t, body)
		checkListing(t, "http", inSession, raw, view)
		if !slices.Equal(inSession, names) {
			t.Errorf("http %v, stdio %v", inSession, names)
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
			checktest.Has(t, name, string(tool), fmt.Sprintf(`"readOnlyHint":%v`, name == viewTool))
		}
		checktest.Has(t, where+" "+name, string(tool), want)
	}
}

// V1, V3: the view tool has an output schema that strict clients accept, and the tool's answer matches the schema.
// (Contents of its answers: testdata/page.txtar of package server.)
func TestViewSchema(t *testing.T) {
	p := servertest.NewPipe(t, servertest.New(t, nil, nil))
	go p.Send(withApps("somebody", appMIME), listing, servertest.Call(3, "create_todos", `{"items":["One","Two"]}`))
	p.Read()
	_, raw := servertest.Listed(t, p.Read().Raw)
	var published struct{ OutputSchema jsonschema.Schema }
	checktest.Check(t, json.Unmarshal(raw[viewTool], &published))
	for _, bad := range []string{"$ref", "$defs", "$schema", "$id"} {
		if strings.Contains(string(raw[viewTool]), bad) {
			t.Errorf("V1: the view tool's schemas have %s", bad)
		}
	}
	var written struct{ List string }
	checktest.Check(t, json.Unmarshal(p.Read().Result.Structured, &written))
	go p.Send(servertest.Call(4, viewTool, fmt.Sprintf(`{"list_id":%q}`, written.List)))
	var structured any
	checktest.Check(t, json.Unmarshal(p.Read().Result.Structured, &structured))
	checktest.Check(t, checktest.Must(published.OutputSchema.Resolve(nil))(t).Validate(structured))
}
