package install

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
)

// Link adds this server to a client by one click: the program is run by npx.
type Link struct {
	// Title is that of the program, as VS Code Insiders.
	Title string
	// URL opens the program itself. Many pages show no links but those to pages.
	URL string
	// Page is a page of the client's maker that leads to URL.
	Page string
}

// Links returns the links that add this server to a client; none where it has no such
// links.
func (c Client) Links() ([]Link, error) {
	if c.links == nil {
		return nil, nil
	}
	p := Machine{}.npx()
	entry := make(map[string]any)
	for _, f := range c.shape(DefaultName, Server{Command: p.inTerminal, Args: p.args}) {
		entry[f.key] = f.value
	}
	return c.links(entry)
}

func cursorLinks(entry map[string]any) ([]Link, error) {
	config, err := json.Marshal(entry)
	query := url.Values{"name": {DefaultName}, "config": {base64.StdEncoding.EncodeToString(config)}}.Encode()
	return []Link{{"Cursor", "cursor://anysphere.cursor-deeplink/mcp/install?" + query, "https://cursor.com/en/install-mcp?" + query}}, err
}

// vscodeLinks returns the links of both its editions. The query of their own scheme is
// the entry itself.
func vscodeLinks(entry map[string]any) ([]Link, error) {
	config, err := json.Marshal(entry)
	if err != nil {
		return nil, err
	}
	entry["name"] = DefaultName
	named, err := json.Marshal(entry)
	query := url.Values{"name": {DefaultName}, "config": {string(config)}}
	page := "vscode.dev/redirect/mcp/install?" + query.Encode()
	own := ":mcp/install?" + url.PathEscape(string(named))
	return []Link{
		{"VS Code", "vscode" + own, "https://" + page},
		{"VS Code Insiders", "vscode-insiders" + own, "https://insiders." + page + "&quality=insiders"},
	}, err
}
