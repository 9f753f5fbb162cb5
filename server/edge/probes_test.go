package edge_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BAD-INPUT 89: On `--admin-addr`: a foreign page or Host; a request for lists → 403; 404
func TestAdmin(t *testing.T) {
	e := newSite(t, nil, nil)
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("metrics")) })
	for _, c := range []struct {
		path, host, site string
		loopback         bool
		want             int
	}{
		{"/metrics", "127.0.0.1:1", "", true, 200},
		{"/livez", "127.0.0.1:1", "", true, 200},
		{"/readyz", "10.0.0.7:1", "", false, 200},
		{"/debug/pprof/", "127.0.0.1:1", "", true, 404},
		{"/", "127.0.0.1:1", "", true, 404},
		{"/api/lists", "127.0.0.1:1", "", true, 404},
		{"/mcp", "127.0.0.1:1", "", true, 404},
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
