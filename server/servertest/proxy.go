package servertest

import (
	"github.com/todo-mcp/todo-mcp/internal/checktest"

	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
)

// Below returns the address below which a reverse proxy serves a server, as /todo, beside
// others. It takes the path out of requests, or leaves it there.
func Below(t testing.TB, server, path string, strips bool) string {
	t.Helper()
	target := checktest.Must(url.Parse(server))(t)
	proxy := http.Handler(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}})
	if strips {
		proxy = http.StripPrefix(path, proxy)
	}
	mux := http.NewServeMux()
	mux.Handle(path+"/", proxy)
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	return web.URL + path
}
