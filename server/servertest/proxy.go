package servertest

import (
	"github.com/todo-mcp/todo-mcp/internal/checktest"

	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
)

// Below starts a reverse proxy that serves a server below a path such as /todo, and returns
// its address with the path. If strips is true, the proxy takes the path out of requests.
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
