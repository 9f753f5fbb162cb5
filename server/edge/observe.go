package edge

import (
	"cmp"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"
)

// observe reports a request that was answered, see [Config.Observe].
func (e *Edge) observe(a *answer, r *http.Request, began time.Time) {
	if e.config.Observe == nil || a.stream {
		return
	}
	_, route, _ := strings.Cut(r.Pattern, " ")
	e.config.Observe(r.Method, cmp.Or(route, r.Pattern), cmp.Or(a.status, http.StatusOK), time.Since(began))
}

// OpenStreams returns how many event streams are open.
func (e *Edge) OpenStreams() int {
	e.streams.mu.Lock()
	defer e.streams.mu.Unlock()
	return e.streams.all
}

// Admin returns what operators ask, for an address of its own: metrics on /metrics,
// the profiles of the Go runtime below /debug/pprof/, and the probes /livez and
// /readyz. There is no sign-in, and any Host is served unless onlyLoopback; pages
// of other sites are refused. No list's content is in any answer, but who can
// reach the address can slow the server down by profiles.
func (e *Edge) Admin(metrics http.Handler, onlyLoopback bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /livez", e.mux)
	mux.Handle("GET /readyz", e.mux)
	mux.Handle("GET /metrics", metrics)
	// Not /debug/pprof/cmdline: there may be secrets among the flags.
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := checkSite(r, false)
		if onlyLoopback && err == nil {
			err = e.guard.check(r)
		}
		if err != nil {
			e.fail(w, r, Text, err)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	})
}
