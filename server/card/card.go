// Package card contains the page that shows a list in the chat of a host that implements MCP Apps. Other hosts show
// the text of the tool result.
//
// The page makes no network requests, and the texts of a list cannot run as markup or script on it (BAD-INPUT 37).
package card

import (
	"embed"
	"slices"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// The identifiers of the page in MCP Apps.
const (
	Extension = "io.modelcontextprotocol/ui" // the capability
	URI       = "ui://todo/list.html"        // the page's resource
	MIME      = "text/html;profile=mcp-app"  // its type
)

//go:embed card.html card.css safe.js card.js
var files embed.FS

// Colours is a style sheet with the colours of this page and of the panel, for light and dark schemes. Took is a script
// for both pages with functions that format durations (took, gap, two).
var (
	//go:embed palette.css
	Colours string
	//go:embed took.js
	Took string
)

// page returns all files as one HTML page, because a page of MCP Apps cannot load other files.
var page = sync.OnceValue(func() string {
	read := func(name string) string {
		data, _ := files.ReadFile(name) // cannot fail: the file is embedded
		return string(data)
	}
	return strings.NewReplacer("{{style}}", Colours+read("card.css"), "{{script}}", read("safe.js")+Took+read("card.js")).Replace(read("card.html"))
})

// ToolMeta returns the _meta of a tool whose results the page draws.
func ToolMeta() *mcp.Meta { return meta("resourceUri", URI) }

// OwnMeta returns the _meta of a tool that only the page may call.
func OwnMeta() *mcp.Meta { return meta("visibility", []string{"app"}) }

func meta(key string, value any) *mcp.Meta {
	return &mcp.Meta{AdditionalFields: map[string]any{"ui": map[string]any{key: value}}}
}

// Contents returns the page's resource. Its _meta allows the page no network requests.
func Contents() mcp.ResourceContents {
	none := []string{}
	return mcp.TextResourceContents{
		URI: URI, MIMEType: MIME, Text: page(),
		Meta: map[string]any{"ui": map[string]any{"csp": map[string]any{"connectDomains": none, "resourceDomains": none}, "prefersBorder": true}}}
}

// ShownBy reports whether a client that declared these extensions can show the page.
func ShownBy(extensions map[string]any) bool {
	settings, _ := extensions[Extension].(map[string]any)
	types, _ := settings["mimeTypes"].([]any)
	return slices.Contains(types, any(MIME))
}
