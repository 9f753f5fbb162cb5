package servertest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Subscribe sends resources/subscribe.
func (c *Chat) Subscribe(uri string) {
	c.Helper()
	if a := c.Asks("resources/subscribe", fmt.Sprintf(`{"uri":%q}`, uri)); a.Error != nil {
		c.Fatal(a.Raw)
	}
}

// Subscribes subscribes to resources with the method of the transport's protocol version.
func (c *Chat) Subscribes(uris ...string) {
	c.Helper()
	if c.By.Modern() {
		c.Listens("L", uris...)
		return
	}
	if c.By == Session {
		c.Stream(http.MethodGet, "", "Mcp-Session-Id", c.Session)
	}
	for _, uri := range uris {
		c.Subscribe(uri)
	}
}

// Listens subscribes to resources by a subscriptions/listen request with an id.
func (c *Chat) Listens(id string, uris ...string) {
	c.Helper()
	raw, _ := json.Marshal(uris)
	message := c.Message(id, "subscriptions/listen", `{"notifications":{"resourceSubscriptions":`+string(raw)+`}}`)
	if c.in != nil {
		go c.Write(message + "\n")
	} else {
		c.Stream(http.MethodPost, message, c.Headers(message)...)
	}
	if got := c.Note(); !strings.Contains(got, "notifications/subscriptions/acknowledged") {
		c.Fatalf("listen: %s", got)
	}
}

// Stream opens an event stream, whose notifications [Chat.Note] then returns.
func (c *Chat) Stream(method, body string, headers ...string) {
	c.Helper()
	req, err := c.request(c.Context(), method, body, headers)
	if err != nil {
		c.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		c.Fatalf("open stream: %v, %v", res, err)
	}
	c.Cleanup(func() { res.Body.Close() })
	go func() {
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && strings.Contains(data, `"method"`) {
				c.notes <- data
			}
		}
	}()
}

// Note returns the next notification.
func (c *Chat) Note() string {
	c.Helper()
	select {
	case note := <-c.notes:
		return note
	case <-time.After(Patience):
		c.Fatal("no notification comes")
		return ""
	}
}

// NoteNow returns the next notification if it has come; empty otherwise.
func (c *Chat) NoteNow() string {
	select {
	case note := <-c.notes:
		return note
	default:
		return ""
	}
}

// Updated returns the URI in the next notification, and the id of the notification's
// stream, if it has one.
func (c *Chat) Updated() (uri, stream string) {
	c.Helper()
	var m struct {
		Params struct {
			URI  string
			Meta struct {
				Stream string `json:"io.modelcontextprotocol/subscriptionId"`
			} `json:"_meta"`
		}
	}
	if err := json.Unmarshal([]byte(c.Note()), &m); err != nil {
		c.Fatal(err)
	}
	return m.Params.URI, m.Params.Meta.Stream
}

// Beacon is a list whose notifications mark a point among other notifications. The list's own chat changes it.
type Beacon struct {
	chat    *Chat
	URI     string
	touched int
}

// Beacon writes the chat's list, and returns it as a beacon.
func (c *Chat) Beacon() *Beacon {
	c.Helper()
	c.Writes("p:X")
	return &Beacon{chat: c, URI: "todo://lists/" + c.Current()}
}

// Before changes the beacon twice, and returns the other URIs in c's notifications up to the
// second change. By then, c has the notifications of all writes before the call.
func (b *Beacon) Before(c *Chat) (uris []string) {
	c.Helper()
	for range 2 {
		b.touched++
		b.chat.Adds(fmt.Sprint("Touch", b.touched))
		for uri := ""; uri != b.URI; {
			uri, _ = c.Updated()
			uris = append(uris, uri)
		}
	}
	return slices.DeleteFunc(uris, func(uri string) bool { return uri == b.URI })
}

// Get returns the page at a path of the chat's server.
func (c *Chat) Get(path string) string {
	c.Helper()
	res, err := http.Get(strings.TrimSuffix(c.URL, "/mcp") + path)
	if err != nil {
		c.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		c.Fatal(err)
	}
	return string(data)
}
