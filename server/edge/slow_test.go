package edge_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"todo-mcp/server/edge"
	"todo-mcp/server/servertest"
)

// BAD-INPUT 10, 11, 59: a header or a body that does not arrive in time closes its
// connection. A stream that is open meanwhile stays open.
func TestSlowRequestsAreClosed(t *testing.T) {
	address, stop := serve(t, newSite(t, nil, func(c *edge.Config) { c.HeaderTimeout, c.BodyTimeout = 50*time.Millisecond, 50*time.Millisecond }))
	t.Cleanup(stop)
	stream := servertest.OpenStream(t, "GET", "http://"+address+"/api/events", "")
	const body = "Host: %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"
	for name, c := range map[string]struct {
		request string
		status  string
	}{
		"10 a header":              {"POST /mcp HTTP/1.1\r\nHost: %s\r\nX-Never", "400"},
		"11 a body":                {"POST /mcp HTTP/1.1\r\n" + body + "\r\n{", "400"},
		"11 of the wrong type":     {"POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Length: 100\r\n\r\n", "415"},
		"11 of a foreign origin":   {"POST /mcp HTTP/1.1\r\nOrigin: http://evil.example\r\n" + body + "\r\n", "403"},
		"11 of an unknown route":   {"POST /nothing HTTP/1.1\r\n" + body + "\r\n", "404"},
		"11 of a read":             {"GET /livez HTTP/1.1\r\n" + body + "\r\n", "200"},
		"11 chunked":               {"POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{", "400"},
		"11 after a whole request": {"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nPOST /mcp HTTP/1.1\r\n" + body + "\r\n{", "200"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, c.request, address)
			_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
			answer, err := io.ReadAll(conn)
			if err != nil {
				t.Errorf("the connection is not closed: %v", err)
			}
			if !strings.HasPrefix(string(answer), "HTTP/1.1 "+c.status+" ") {
				t.Errorf("answered %q, want status %s", answer, c.status)
			}
		})
	}
	write := servertest.Writer(t, "http://"+address, "tester")
	write(servertest.Todos("pending", "A"))
	stream.Expect(`"revision":1`)
}
