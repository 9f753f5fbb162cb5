// Package card is the page that shows a list in the chat, in hosts that speak MCP
// Apps. Other hosts show the result's text.
//
// It promises that the page asks nothing of the network, and that whatever a
// list's texts hold is inert on it (BAD-INPUT 36, 38).
package card

import (
	"embed"
	"slices"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"todo-mcp/server/palette"
)

// The page as MCP Apps names it.
const (
	Extension = "io.modelcontextprotocol/ui"
	URI       = "ui://todo/list.html"
	MIME      = "text/html;profile=mcp-app"
)

//go:embed card.html card.css safe.js card.js
var files embed.FS

// page joins the files into the one that a host wants: MCP Apps have nowhere to
// load a second from.
var page = sync.OnceValue(func() string {
	read := func(name string) string {
		data, err := files.ReadFile(name)
		if err != nil {
			panic(err) // embedded: it is there
		}
		return string(data)
	}
	return strings.NewReplacer("{{style}}", "\n"+palette.CSS+read("card.css"), "{{script}}", "\n"+read("safe.js")+read("card.js")).Replace(read("card.html"))
})

// ToolMeta returns the _meta of a tool whose result the page draws.
func ToolMeta() *mcp.Meta { return meta("resourceUri", URI) }

// ViewMeta returns the _meta of a tool that only the page may call.
func ViewMeta() *mcp.Meta { return meta("visibility", []string{"app"}) }

func meta(key string, value any) *mcp.Meta {
	return &mcp.Meta{AdditionalFields: map[string]any{"ui": map[string]any{key: value}}}
}

// Contents returns the page as a resource is read. It says that it asks nothing
// of the network.
func Contents() mcp.ResourceContents {
	none := []string{}
	return mcp.TextResourceContents{
		URI: URI, MIMEType: MIME, Text: page(),
		Meta: map[string]any{"ui": map[string]any{
			"csp":           map[string]any{"connectDomains": none, "resourceDomains": none},
			"prefersBorder": true,
		}},
	}
}

// ShownBy reports whether a client with these extensions can draw the page.
func ShownBy(extensions map[string]any) bool {
	settings, _ := extensions[Extension].(map[string]any)
	types, _ := settings["mimeTypes"].([]any)
	return slices.Contains(types, any(MIME))
}
