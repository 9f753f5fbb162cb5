package edge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

// ready answers /readyz: lists can be read, and written (BAD-INPUT 79), and the
// server is not about to stop (BAD-INPUT 58).
func ready(w http.ResponseWriter, r *Request) error {
	if r.edge.stopping.Load() {
		Text(w, http.StatusServiceUnavailable, "stopping")
		return nil
	}
	if _, err := r.Lists.Find(r.Context(), board.Query{Limit: 1}); err != nil {
		return err
	}
	if err := r.edge.probe.check(r); err != nil {
		return err
	}
	if ready := r.edge.config.Ready; ready != nil {
		if err := ready(); err != nil {
			return err
		}
	}
	fmt.Fprintln(w, "ok")
	if warning := r.Warning(); warning != "" {
		fmt.Fprintln(w, warning)
	}
	return nil
}

// writeProbe finds out whether the store can be written, by a write that no list
// shows. Its result is good for probeAge, so that asking often writes seldom. The zero
// value is ready to use.
type writeProbe struct {
	mu   sync.Mutex
	last time.Time // zero before the first write
	err  error
}

const probeAge = time.Second

func (p *writeProbe) check(r *Request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := r.Context().Err(); err != nil {
		return err // it waited too long for another probe
	}
	now := r.edge.config.Now()
	if age := now.Sub(p.last); !p.last.IsZero() && age >= 0 && age < probeAge {
		return p.err
	}
	err := r.Lists.TryWrite(r.Context())
	if errors.Is(err, context.Canceled) {
		return err // the caller is gone, which says nothing of the store
	}
	p.last, p.err = now, err
	return err
}

// Admin returns what operators ask, for an address of its own: metrics on /metrics, and the
// probes /livez and /readyz. There is no sign-in, and any Host is served unless onlyLoopback;
// pages of other sites are refused. No list's content is in any answer.
func (e *Edge) Admin(metrics http.Handler, onlyLoopback bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /livez", e.mux)
	mux.Handle("GET /readyz", e.mux)
	mux.Handle("GET /metrics", metrics)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := e.guard(r, false, !onlyLoopback); err != nil {
			e.fail(w, r, Text, err)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	})
}
