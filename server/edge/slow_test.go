package edge_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
	"github.com/todo-mcp/todo-mcp/server/sse"
)

// newLargeSite returns a site whose /large answers with 8 MB, the size of the largest page of lists: more than a
// connection's buffers hold.
func newLargeSite(t *testing.T, clientTimeout time.Duration) *edge.Edge {
	t.Helper()
	e := newSite(t, nil, func(c *edge.Config) { c.ClientTimeout = clientTimeout })
	e.Handle("GET /large", edge.Text, func(w http.ResponseWriter, _ *edge.Request) error {
		return edge.Write(w, http.StatusOK, "text/plain", make([]byte, 8<<20))
	})
	return e
}

func askAndStall(t *testing.T, address string) (line string) {
	t.Helper()
	conn := checktest.Must(net.Dial("tcp", address))(t)
	t.Cleanup(func() { conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	fmt.Fprintf(conn, "GET /large HTTP/1.1\r\nHost: %s\r\n\r\n", address)
	return checktest.Must(bufio.NewReaderSize(conn, 16).ReadString('\n'))(t)
}

// BAD-INPUT 61: the memory of an answer that nobody reads is freed.
func TestUnreadAnswersAreGivenUp(t *testing.T) {
	e := newLargeSite(t, 250*time.Millisecond)
	const n = 10
	ended := make(chan struct{}, n)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.ServeHTTP(w, r)
		ended <- struct{}{}
	}))
	defer func() { site.CloseClientConnections(); site.Close() }()
	grew := servertest.Grows(t)
	for range n {
		askAndStall(t, strings.TrimPrefix(site.URL, "http://"))
	}
	for range n {
		<-ended
	}
	grew("61: still held", 8<<20)
}

// BAD-INPUT 61: one client's unread answers beyond 64 MB are refused until earlier ones are read or dropped.
func TestUnreadAnswersOfOneClientAreFew(t *testing.T) {
	address, stop := serve(t, newLargeSite(t, time.Minute))
	defer stop()
	t.Run("unread", func(t *testing.T) {
		lines, grew := "", servertest.Grows(t)
		for range 20 {
			lines += askAndStall(t, address)
		}
		if grew("61", 100<<20); strings.Count(lines, " 200 ") < 5 || strings.Count(lines, " 429 ") < 5 {
			t.Errorf("61: answered %s", lines)
		}
	})
	t.Run("later", func(t *testing.T) {
		for !strings.Contains(askAndStall(t, address), "200") { // until the answers of the first subtest are dropped
		}
	})
}

// BAD-INPUT 61, 63: the system's buffers hold little of an unread answer; no other limit covers them.
func TestUnreadAnswersStayOutOfTheSystem(t *testing.T) {
	e := newSite(t, nil, func(c *edge.Config) { c.ClientTimeout = 250 * time.Millisecond })
	taken := make(chan int, 1)
	e.Handle("GET /large", edge.Text, func(w http.ResponseWriter, _ *edge.Request) error {
		total, piece := 0, make([]byte, 16<<10)
		for total < 16<<20 {
			n, err := w.Write(piece)
			if total += n; err != nil {
				break
			}
		}
		taken <- total
		return nil
	})
	address, stop := serve(t, e)
	defer stop()
	askAndStall(t, address)
	if n := <-taken; n > 1<<20 {
		t.Errorf("61: the system took %d bytes", n)
	}
}

// serve serves an edge on a local port. stop, which the test must call, ends it
// and waits for its end.
func serve(t *testing.T, e *edge.Edge) (address string, stop func()) {
	t.Helper()
	l := checktest.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Serve(ctx, l) }()
	return l.Addr().String(), func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// BAD-INPUT 10: A header or body that does not arrive within 10 s → The connection is closed
//
// BAD-INPUT 59: 300 connections, idle or with bodies that never come, at 256 descriptors → The
// idle ones are closed at once, the others after 10 s
func TestSlowRequestsAreClosed(t *testing.T) {
	address, stop := serve(t, newSite(t, nil, func(c *edge.Config) { c.ClientTimeout = 200 * time.Millisecond }))
	t.Cleanup(stop)
	stream := servertest.OpenStream(t, "GET", "http://"+address+"/api/events", "")
	t.Run("at once", func(t *testing.T) { testSlowRequests(t, address) })
	servertest.Writer(t, "http://"+address, "tester")(servertest.Todos("pending", "A"))
	stream.Expect(`"revision":1`)
}

func testSlowRequests(t *testing.T, address string) {
	const body = "Host: %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"
	for name, c := range map[string]struct{ request, status string }{
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
			t.Parallel()
			conn := checktest.Must(net.Dial("tcp", address))(t)
			defer conn.Close()
			fmt.Fprintf(conn, c.request, address)
			answer, _ := io.ReadAll(conn) // until the server closes it
			if !strings.HasPrefix(string(answer), "HTTP/1.1 "+c.status+" ") {
				t.Errorf("answered %q, want status %s", answer, c.status)
			}
		})
	}
}

func serveTLS(t *testing.T, writeTimeout time.Duration, route func(*edge.Edge)) (address string) {
	t.Helper()
	own := httptest.NewUnstartedServer(nil)
	own.StartTLS() // makes a certificate
	t.Cleanup(own.Close)
	e := newSite(t, nil, func(c *edge.Config) {
		c.ClientTimeout, c.TLS = writeTimeout, &tls.Config{Certificates: own.TLS.Certificates}
	})
	route(e)
	address, stop := serve(t, e)
	t.Cleanup(stop)
	return address
}

// isLate checks that a request over HTTP/2 gets the handler's answer "late".
func isLate(t *testing.T, address, path string) {
	t.Helper()
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Get("https://" + address + path)
	checktest.Check(t, err)
	defer res.Body.Close()
	if data, err := io.ReadAll(res.Body); err != nil || res.ProtoMajor != 2 || !strings.Contains(string(data), "late") {
		t.Errorf("%s: %s %q, %v", path, res.Proto, data, err)
	}
}

// Over HTTP/2, the client timeout ends neither an answer that the server still works on, nor a stream on which nothing
// happens.
func TestHTTP2OutlivesTheClientTimeout(t *testing.T) {
	const bound = 300 * time.Millisecond // a busy machine takes long to shake hands
	address := serveTLS(t, bound, func(e *edge.Edge) {
		e.Handle("GET /slow", edge.Text, func(w http.ResponseWriter, _ *edge.Request) error {
			<-time.After(2 * bound)
			_, err := io.WriteString(w, "late")
			return err
		})
		e.Handle("GET /stream", edge.Text, func(w http.ResponseWriter, r *edge.Request) error {
			return r.Stream(w, func(s *sse.Stream) error {
				if err := s.Begin(); err != nil {
					return err
				}
				<-time.After(2 * bound)
				return s.Send(sse.Event{Data: "late"})
			})
		}, edge.Stream)
	})
	for _, path := range []string{"/slow", "/stream"} {
		isLate(t, address, path)
	}
}

// BAD-INPUT 61: A client that does not read its stream or answer → The connection closes when 256 kB take over 10 s.
// Past 64 MB unread per client, 128 in all: 429
func TestHTTP2UnreadAnswers(t *testing.T) {
	const n = 20
	ended := make(chan error, n)
	address := serveTLS(t, 250*time.Millisecond, func(e *edge.Edge) {
		e.Handle("GET /large", edge.Text, func(w http.ResponseWriter, _ *edge.Request) error {
			_, err := w.Write(make([]byte, 4<<20))
			ended <- err
			return nil
		})
	})
	conn := checktest.Must(tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}))(t)
	defer conn.Close()
	checktest.Must(io.WriteString(conn, http2.ClientPreface))(t)
	framer := http2.NewFramer(conn, nil) // nothing is read
	const window = 1 << 30
	checktest.Check(t, errors.Join(framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}), framer.WriteWindowUpdate(0, window)))
	for i := range uint32(n) {
		var header bytes.Buffer
		encoder := hpack.NewEncoder(&header)
		for name, value := range map[string]string{":method": "GET", ":scheme": "https", ":path": "/large", ":authority": address} {
			checktest.Check(t, encoder.WriteField(hpack.HeaderField{Name: name, Value: value}))
		}
		checktest.Check(t, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: header.Bytes(), EndStream: true, EndHeaders: true}))
	}
	for range n {
		if <-ended == nil {
			t.Error("61: an answer that nobody read was written")
		}
	}
}

// BAD-INPUT 58: a stopping server still answers calls in progress, over HTTP/2 too, even past the client timeout.
func TestHTTP2CallsInHandAreAnswered(t *testing.T) {
	begun := make(chan *edge.Edge, 1)
	address := serveTLS(t, time.Second, func(e *edge.Edge) {
		e.Handle("GET /slow", edge.Text, func(w http.ResponseWriter, _ *edge.Request) error {
			begun <- e
			<-time.After(1500 * time.Millisecond)
			_, err := io.WriteString(w, "late")
			return err
		})
	})
	go func() { (<-begun).Close() }()
	isLate(t, address, "/slow")
}
