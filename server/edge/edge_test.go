package edge_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// BAD-INPUT 1: A Host header neither loopback, nor configured, nor the address of arrival → 403
// that names it, escaped and cut
//
// BAD-INPUT 2
func TestHTTPGuard(t *testing.T) {
	web := servertest.Serve(t, servertest.New(t, nil, nil), func(c *edge.Config) {
		c.Hosts, c.Origins = []string{"todo.example"}, []string{"https://app.example"}
	})
	own := strings.TrimPrefix(web.URL, "http://")
	for _, c := range []struct {
		row          string
		host, origin string
		want         bool
		site         string // Sec-Fetch-Site
	}{
		{"own page that sends no Origin", own, "", true, "same-origin"},
		{"own", own, "", true, ""},
		{"1 foreign host", "evil.example", "", false, ""},
		{"1 looks like loopback", "127.0.0.1.evil.example", "", false, ""},
		{"1 configured host", "todo.example:8765", "", true, ""},
		{"IPv6 loopback", "[::1]:8765", "", true, ""},
		{"own origin", own, "http://" + own, true, ""},
		{"2 5 foreign origin", own, "http://evil.example", false, ""},
		{"2 another port of this machine", own, "http://127.0.0.1:1", false, ""},
		{"3 null origin", own, "null", false, ""},
		{"4 origin equals foreign host", "evil.example", "http://evil.example", false, ""},
		{"configured origin", own, "https://app.example", true, ""},
	} {
		for _, route := range []string{"GET /livez", "GET /readyz", "GET /mcp", "POST /mcp", "POST /mcp/", "DELETE /mcp", "OPTIONS /mcp", "GET /",
			"GET /lists/x", "POST /lists/x/edit", "GET /api/lists", "GET /api/workspace"} {
			method, path, _ := strings.Cut(route, " ")
			status, header, _ := servertest.Ask(t, method, web.URL+path, "", with("Host", c.host, "Origin", c.origin, "Sec-Fetch-Site", c.site)...)
			if allowed := status != http.StatusForbidden; allowed != c.want {
				t.Errorf("%s: %s: status %d", c.row, route, status)
			}
			for name := range header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("2: %s answers with %s", route, name)
				}
			}
		}
	}
	for host, want := range map[string]string{"Host.Docker.internal:8765": `the Host "host.docker.internal" is not served here (see --allowed-hosts)`,
		strings.Repeat("x", 1000): `"` + strings.Repeat("x", 100) + `" is`, "a%22b": `"a%22b"`} {
		servertest.Is(t, host, http.StatusForbidden, want)(servertest.Ask(t, "GET", web.URL+"/", "", "Host", host))
	}
}

func with(headers ...string) (set []string) {
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] != "" {
			set = append(set, headers[i:i+2]...)
		}
	}
	return set
}

// BAD-INPUT 2: if the server has TLS, a page of the same host without TLS is foreign. Strict-Transport-Security makes
// browsers use TLS only, unless the public URL has a port: other ports may lack TLS.
func TestPagesWithoutTLS(t *testing.T) {
	for public, lasting := range map[string]string{"https://todo.example": "max-age=15552000", "https://todo.example:8765": ""} {
		web := servertest.Serve(t, servertest.New(t, nil, nil), func(c *edge.Config) {
			c.PublicURL, c.Hosts = public, []string{"todo.example"}
		})
		host := strings.TrimPrefix(public, "https://")
		for origin, want := range map[string]int{"http://" + host: http.StatusForbidden, public: http.StatusOK} {
			status, header, body := servertest.Ask(t, "GET", web.URL+"/api/lists", "", "Host", host, "Origin", origin)
			if status != want || header.Get("Strict-Transport-Security") != lasting {
				t.Errorf("2: from %s: %d %v %s", origin, status, header, body)
			}
		}
	}
}

// BAD-INPUT 2: A foreign or null `Origin`, also with the same foreign Host (DNS rebinding); a
// write from another site (`Sec-Fetch-Site`) → 403 on every route. A preflight request gets no
// `Access-Control-Allow-*` header
func TestHTTPGuardBySecFetchSite(t *testing.T) {
	_, url := servertest.Site(t)
	for _, c := range []struct {
		path, site, mode, dest string
		want                   bool
	}{
		{"/api/lists", "same-site", "no-cors", "image", false},
		{"/panel/events", "cross-site", "no-cors", "empty", false},
		{"/mcp", "cross-site", "no-cors", "empty", false},
		{"/", "cross-site", "no-cors", "image", false},
		{"/", "cross-site", "navigate", "iframe", false},
		{"/api/workspace", "same-site", "navigate", "document", false},
		{"/", "cross-site", "navigate", "document", true},
		{"/lists/x", "same-site", "navigate", "document", true},
		{"/api/lists", "none", "navigate", "document", true},
		{"/api/lists", "same-origin", "cors", "empty", true},
		{"/api/lists", "", "", "", true},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			status, _, _ := servertest.Ask(t, method, url+c.path, "", with("Sec-Fetch-Site", c.site, "Sec-Fetch-Mode", c.mode, "Sec-Fetch-Dest", c.dest)...)
			if allowed := status != http.StatusForbidden; allowed != c.want {
				t.Errorf("2: %s %+v: status %d", method, c, status)
			}
		}
	}
	for site, want := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 404, "none": 404} {
		servertest.Is(t, "2: "+site, want)(servertest.Post(t, url+"/lists/x/edit", `{"do":"restore","revision":1}`, "Sec-Fetch-Site", site))
	}
}

// BAD-INPUT 62: HEAD on a stream is answered and ends.
func TestHeadOfAStreamEnds(t *testing.T) {
	e := newSite(t, nil, nil)
	for _, path := range []string{"/api/events", "/api/stream", "/panel/events"} {
		answer := httptest.NewRecorder()
		e.ServeHTTP(answer, httptest.NewRequest("HEAD", "http://localhost"+path, nil))
		if answer.Code != http.StatusOK || answer.Header().Get("Content-Type") != "text/event-stream" {
			t.Errorf("62: HEAD %s: %d %v", path, answer.Code, answer.Header())
		}
	}
}

// BAD-INPUT 79: A store that can be read, but not written → `/readyz` answers 503, or 507 when
// full, and logs why; it tries once a second
func TestReadyMeansWritable(t *testing.T) {
	var broken error
	store := &servertest.Failing{Store: storetest.NewMemory(), Fault: func(method, _ string) error {
		if method != "Update" {
			return nil
		}
		return broken
	}}
	synctest.Test(t, func(t *testing.T) {
		e := newSite(t, store, nil)
		broken = servertest.ErrDisk
		for _, want := range []int{http.StatusServiceUnavailable, http.StatusServiceUnavailable, http.StatusOK} { // the 2nd repeats the first
			if got := get(t.Context(), e, "/readyz").Code; got != want {
				t.Errorf("79: %d, want %d", got, want)
			}
			if broken == nil {
				time.Sleep(time.Second)
			}
			broken = nil
		}
	})
}

// BAD-INPUT 63: one address may have half of MaxStreams. When one stream is closed, another may be opened.
func TestStreamCap(t *testing.T) {
	web := servertest.Serve(t, servertest.New(t, nil, nil), func(c *edge.Config) {
		c.MaxStreams, c.TrustedProxies = 3, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	})
	from := func(client string) []string { return []string{"X-Forwarded-For", "192.0.2." + client} }
	url := web.URL + "/mcp"
	id := servertest.NewSession(t, url, "tester")
	refused := func(path, client, why string) {
		t.Helper()
		status, header, body := servertest.Ask(t, "GET", web.URL+path, "", from(client)...)
		servertest.Is(t, path, http.StatusTooManyRequests, why)(status, header, body)
		checktest.Has(t, path, fmt.Sprint(header), "Retry-After")
	}
	first := servertest.OpenStream(t, "GET", web.URL+"/api/events", "", from("1")...)
	refused("/api/events", "1", "of one client, 1 is the most (half of --max-streams)")
	servertest.OpenStream(t, "GET", web.URL+"/api/stream", "", from("2")...)
	servertest.OpenStream(t, "GET", url, "", append(from("3"), "Mcp-Session-Id", id)...)
	listen := `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["todo://list"]},` + servertest.Meta + `}}`
	for _, path := range []string{"/api/events", "/api/stream", "/panel/events"} {
		refused(path, "4", "too many open streams, 3")
	}
	servertest.Is(t, "63: listen", http.StatusTooManyRequests)(servertest.Post(t, url, listen, servertest.ModernHeaders("subscriptions/listen", "")...))
	first.Close()
	for status := 0; status != http.StatusOK; { // the server needs a moment to notice that the first stream ended
		req := checktest.Must(http.NewRequest("GET", web.URL+"/api/stream?list=x", nil))(t)
		req.Header.Set("X-Forwarded-For", "192.0.2.1")
		res, err := http.DefaultClient.Do(req)
		checktest.Check(t, err)
		res.Body.Close()
		status = res.StatusCode
	}
	one := servertest.Serve(t, servertest.New(t, nil, nil), func(c *edge.Config) { c.MaxStreams = 1 })
	servertest.OpenStream(t, "GET", one.URL+"/api/events", "") // half of one stream counts as one
}

func newSite(t *testing.T, store board.Store, edit func(*edge.Config)) *edge.Edge {
	t.Helper()
	e := servertest.Handler(t, servertest.New(t, store, nil), edit)
	t.Cleanup(e.Close)
	return e
}

func get(ctx context.Context, e http.Handler, path string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	e.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil))
	return answer
}

// BAD-INPUT 89: On `--admin-addr`: a foreign page or Host; asking for lists → 403; lists: 404
func TestAdmin(t *testing.T) {
	e := newSite(t, nil, nil)
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("metrics")) })
	for _, c := range []struct {
		path, host, site string
		loopback         bool
		want             int
	}{
		{"/metrics", "127.0.0.1:1", "", true, 200},
		{"/readyz", "10.0.0.7:1", "", false, 200},
		{"/debug/pprof/", "127.0.0.1:1", "", true, 404},
		{"/api/lists", "127.0.0.1:1", "", true, 404},
		{"/metrics", "evil.example", "", true, 403},
		{"/metrics", "todo.internal:1", "", false, 200},
		{"/metrics", "10.0.0.7:1", "cross-site", false, 403},
		{"/metrics", "127.0.0.1:1", "same-site", true, 403},
	} {
		r := httptest.NewRequest("GET", "http://"+c.host+c.path, strings.NewReader(""))
		r.Header.Set("Sec-Fetch-Site", c.site)
		w := httptest.NewRecorder()
		e.Admin(metrics, c.loopback).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s of %s: %d, want %d", c.path, c.host, w.Code, c.want)
		}
	}
}
