package edge_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
	"github.com/todo-mcp/todo-mcp/server/sse"
)

// serveTLS serves an edge with a certificate for tests until the test ends.
func serveTLS(t *testing.T, writeTimeout time.Duration, route func(*edge.Edge)) (address string) {
	t.Helper()
	own := httptest.NewUnstartedServer(nil)
	own.StartTLS() // it has a certificate
	t.Cleanup(own.Close)
	e := newSite(t, nil, func(c *edge.Config) {
		c.ClientTimeout, c.TLS = writeTimeout, &tls.Config{Certificates: own.TLS.Certificates}
	})
	route(e)
	address, stop := serve(t, e)
	t.Cleanup(stop)
	return address
}

// insecure is a client that speaks HTTP/2.
func insecure(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// The bound on how long a client may take to read does not end, over HTTP/2, an
// answer that the server still works at, nor a stream on which nothing happens.
func TestHTTP2OutlivesTheClientTimeout(t *testing.T) {
	const bound = 100 * time.Millisecond
	address := serveTLS(t, bound, func(e *edge.Edge) {
		e.Handle("GET /slow", edge.Text, func(w http.ResponseWriter, _ *edge.Request) error {
			<-time.After(5 * bound)
			_, err := io.WriteString(w, "late")
			return err
		})
		e.Handle("GET /stream", edge.Text, func(w http.ResponseWriter, r *edge.Request) error {
			return r.Stream(w, func(s *sse.Stream) error {
				if err := s.Begin(); err != nil {
					return err
				}
				<-time.After(5 * bound)
				return s.Send(sse.Event{Data: "late"})
			})
		}, edge.Stream)
	})
	for _, path := range []string{"/slow", "/stream"} {
		res, err := insecure(t).Get("https://" + address + path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		data, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.ProtoMajor != 2 || !strings.Contains(string(data), "late") {
			t.Errorf("%s: %s %q, %v", path, res.Proto, data, err)
		}
	}
}

// BAD-INPUT 61: A client that does not read its stream or answer → It is closed when 256 kB take
// over 10 s. Of one client 64 MB wait, of all 128: else 429
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
	conn := servertest.Must(tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}))(t)
	defer conn.Close()
	servertest.Must(io.WriteString(conn, http2.ClientPreface))(t)
	framer := http2.NewFramer(conn, nil) // nothing is read
	const window = 1 << 30
	servertest.Check(t, errors.Join(framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}), framer.WriteWindowUpdate(0, window)))
	for i := range uint32(n) {
		var header bytes.Buffer
		encoder := hpack.NewEncoder(&header)
		for name, value := range map[string]string{":method": "GET", ":scheme": "https", ":path": "/large", ":authority": address} {
			servertest.Check(t, encoder.WriteField(hpack.HeaderField{Name: name, Value: value}))
		}
		servertest.Check(t, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: header.Bytes(), EndStream: true, EndHeaders: true}))
	}
	for range n {
		if <-ended == nil {
			t.Error("61: an answer that nobody read was written")
		}
	}
}

// BAD-INPUT 58: a server that stops answers the calls in hand, over HTTP/2 too, however long they take.
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
	res, err := insecure(t).Get("https://" + address + "/slow")
	if err != nil {
		t.Fatalf("58: %v", err)
	}
	defer res.Body.Close()
	if data, err := io.ReadAll(res.Body); err != nil || res.ProtoMajor != 2 || string(data) != "late" {
		t.Errorf("58: %s %q, %v", res.Proto, data, err)
	}
}
