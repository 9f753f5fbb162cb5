package auth_test

import (
	"fmt"
	"strings"
	"testing"

	"todo-mcp/server/auth"
	"todo-mcp/server/servertest"
)

// rpc returns a request.
func rpc(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
}

// begin begins a session and returns the headers of requests in it.
func (s *site) begin(t *testing.T, token string) []string {
	t.Helper()
	a := s.ask(t, "POST /mcp", servertest.Initialize(1, "c"), bearer(token)...)
	if a.status != 200 {
		t.Fatalf("initialize: %d %s", a.status, a.body)
	}
	return append(bearer(token), "Mcp-Session-Id", a.header.Get("Mcp-Session-Id"))
}

// subscribe subscribes to resources in a session.
func (s *site) subscribe(t *testing.T, session []string, params ...string) {
	t.Helper()
	for i, p := range params {
		if a := s.ask(t, "POST /mcp", rpc(10+i, "resources/subscribe", p), session...); a.status != 200 || strings.Contains(a.body, "error") {
			t.Fatalf("subscribe to %s: %d %s", p, a.status, a.body)
		}
	}
}

// BAD-INPUT 34: a session's subscriptions are to the lists of who subscribed: their
// changes are told, and those of others with the same id, key or server are not.
func TestSubscriptionsAreOfTheirIdentity(t *testing.T) {
	s := newSite(t, nil, nil)
	ann, bob := s.token(t, auth.Token{Name: "ann"}), s.token(t, auth.Token{Name: "bob"})
	mine, servers := s.list(t, "ann", "mine"), s.list(t, "", "the server's own")
	of := s.begin(t, ann)
	stream := servertest.OpenStream(t, "GET", s.URL+"/mcp", "", append(of, "Accept", "text/event-stream")...)
	s.subscribe(t, of, `{"uri":"todo://lists/`+mine+`"}`, `{"uri":"todo://lists/`+servers+`"}`, `{"uri":"todo://list","_meta":{"todo-mcp/conversation":"1"}}`)
	s.add(t, "", servers, "x")
	inConversation := servertest.WithMeta(servertest.Call(3, "TodoWrite", servertest.Todos("pending", "bob's")), `"todo-mcp/conversation":"1"`)
	if a := s.ask(t, "POST /mcp", inConversation, s.begin(t, bob)...); a.status != 200 {
		t.Fatalf("bob's call: %d %s", a.status, a.body)
	}
	s.add(t, "ann", mine, "x")
	if _, _, data := stream.Event(); !strings.Contains(data, mine) {
		t.Errorf("34: told of %s", data)
	}
	if a := s.ask(t, "POST /mcp", strings.Replace(inConversation, "bob's", "ann's", 2), of...); a.status != 200 {
		t.Fatalf("ann's call: %d %s", a.status, a.body)
	}
	if _, _, data := stream.Event(); !strings.Contains(data, `"todo://list"`) {
		t.Errorf("34: told of %s", data)
	}
}
