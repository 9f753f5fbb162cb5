package edge

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"todo-mcp/internal/todo"
)

// Authenticator says who sends requests.
type Authenticator interface {
	// Authenticate returns who sent a request. An error has the status 401 when the
	// request says it wrongly or not at all, 403 when who sent it is known and has
	// no lists here, and 503 when it cannot be found out now.
	Authenticate(r *http.Request) (todo.Identity, error)
	// Challenge returns the header WWW-Authenticate of a refusal with status 401
	// or 403: how to sign in, or which scope is missing.
	Challenge(r *http.Request, refusal *Error) string
	// Page returns the address of the page where a person can sign in to see what
	// the request asked for.
	Page(r *http.Request) string
	// Route adds the pages for signing in to an edge.
	Route(e *Edge)
}

// ReadOnly is what somebody reads who may not change what he tried to.
const ReadOnly = "you may see these lists, not change them: the scope todos:write is missing"

// maxRefusals is how many sign-ins of one address may fail in a second.
const maxRefusals = 10

// identify returns who sent a request to a route with some traits.
func (e *Edge) identify(r *http.Request, traits []Trait) (id todo.Identity, err error) {
	if len(e.config.TrustedProxies) > 0 && !slices.Contains(traits, Direct) && !e.isPrivate(r) {
		return id, &Error{http.StatusForbidden, "come by the proxy: others could read along here (see --trusted-proxies)"}
	}
	if err := checkSite(r, slices.Contains(traits, Page)); err != nil {
		return id, err
	}
	if e.config.SignIn == nil || slices.Contains(traits, Public) {
		return id, nil
	}
	return e.signIn(r)
}

// signIn returns who signed in to send a request (BAD-INPUT 29).
func (e *Edge) signIn(r *http.Request) (todo.Identity, error) {
	id, err := e.config.SignIn.Authenticate(r)
	if err != nil {
		if r.Header.Get("Authorization")+r.Header.Get("Cookie") != "" { // without either nothing was tried
			err = cmp.Or(e.countRefusal(r), err)
		}
		return todo.Identity{}, err
	}
	if !e.rates.allow(id.Principal + "\x00" + id.Subject) {
		return todo.Identity{}, tooMany("too many requests, %d a second is the most (see --max-rate)", e.config.MaxRate)
	}
	return id, nil
}

// countRefusal counts a sign-in that failed, and returns an error when there are too
// many from its address.
func (e *Edge) countRefusal(r *http.Request) error {
	if e.refusals.allow(network(e.address(r))) {
		return nil
	}
	return &Error{http.StatusTooManyRequests, "too many failed sign-ins from this address: wait a second"}
}

// CountRefusal counts a sign-in that failed on a public route, and returns an
// [*Error] with status 429 when there are too many from its address.
func (r *Request) CountRefusal() error { return r.edge.countRefusal(r.Request) }

// network returns the network of an address that one client may have whole: for
// IPv6 the 64 bits that are usually given to one, else the address itself.
func network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil || ip.Unmap().Is4() {
		return address
	}
	prefix, _ := ip.WithZone("").Prefix(64)
	return prefix.String()
}

// endWithToken calls end soon after a request would not be answered any more to who
// sent it: the token has expired or was revoked, or entitles to something else. The
// caller must call stop when it does not matter any more.
func (e *Edge) endWithToken(r *Request, end func()) (stop func()) {
	if e.config.SignIn == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	// What signs in is in the header: the rest may be large.
	asked := (&http.Request{Method: r.Method, URL: r.URL, Host: r.Host, TLS: r.TLS, Header: r.Header}).WithContext(ctx)
	was := r.Identity
	var timer *time.Timer
	timer = time.AfterFunc(time.Hour, func() { // Reset begins it, when timer is set
		id, err := e.config.SignIn.Authenticate(asked)
		switch {
		case ctx.Err() != nil:
		case err == nil && id != was, err != nil && describe(err).Status < http.StatusInternalServerError:
			end()
		default:
			timer.Reset(e.config.SignInCheck)
		}
	})
	timer.Reset(e.config.SignInCheck)
	return func() { cancel(); timer.Stop() }
}

// refuse answers a request of somebody unknown. A browser that visits a page is
// led to the one for signing in.
func (e *Edge) refuse(w http.ResponseWriter, r *http.Request, format Format, err error) {
	answer := describe(err)
	switch answer.Status {
	case http.StatusUnauthorized:
		if isVisit(r) {
			http.Redirect(w, r, e.config.SignIn.Page(r), http.StatusSeeOther)
			return
		}
		e.challenge(w, r, answer)
	case http.StatusForbidden:
		e.challenge(w, r, answer)
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	}
	e.fail(w, r, format, err)
}

// isVisit reports whether a browser asks for a page to show it.
func isVisit(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html")
}

func (e *Edge) challenge(w http.ResponseWriter, r *http.Request, refusal *Error) {
	if e.config.SignIn != nil {
		w.Header().Set("WWW-Authenticate", e.config.SignIn.Challenge(r, refusal))
	}
}

// Forbid says in the header of an answer which scope the sender lacks to change
// a list, and returns the answer's error.
func (r *Request) Forbid(w http.ResponseWriter) *Error {
	refusal := describe(todo.ErrReadOnly)
	r.edge.challenge(w, r.Request, refusal)
	return refusal
}

// address returns the address of the client that sent a request: the other end of the
// connection, or if that is a trusted proxy, the last address in X-Forwarded-For that
// is none.
func (e *Edge) address(r *http.Request) string {
	address := hostOf(r.RemoteAddr)
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for len(hops) > 0 && e.isTrusted(address) {
		last := strings.TrimSpace(hops[len(hops)-1])
		if _, err := netip.ParseAddr(last); err != nil {
			break
		}
		address, hops = last, hops[:len(hops)-1]
	}
	return address
}

// isPrivate reports whether nobody on its way can have read a request: it came by
// TLS, by a trusted proxy or from this machine.
func (e *Edge) isPrivate(r *http.Request) bool {
	from := hostOf(r.RemoteAddr)
	return r.TLS != nil || isLoopback(from) || e.isTrusted(from)
}

func (e *Edge) isTrusted(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(e.config.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(ip.Unmap()) })
}
