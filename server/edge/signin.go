package edge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/server/auth"
)

// maxRefusals is how many sign-ins of one address may fail in a second.
const maxRefusals = 10

// signIn returns who signed in to send a request (BAD-INPUT 29).
func (e *Edge) signIn(r *http.Request) (board.Identity, error) {
	id, err := e.authenticate(r)
	if err != nil {
		if r.Header.Get("Authorization")+r.Header.Get("Cookie") != "" { // else nothing was tried
			err = cmp.Or(e.countRefusal(r), err)
		}
		return board.Identity{}, err
	}
	if !e.rates.allow(id.Principal + "\x00" + id.Subject) {
		return board.Identity{}, newError(http.StatusTooManyRequests, "too many requests, %d a second is the most (see --max-rate)", e.config.MaxRate)
	}
	return id, nil
}

var errNobody = &auth.Refusal{Status: http.StatusUnauthorized, Text: "sign in: send a bearer token in the header Authorization"}

// authenticate returns who sent a request. It does not read a token in the query (BAD-INPUT 31).
func (e *Edge) authenticate(r *http.Request) (board.Identity, error) {
	switch sent := r.Header.Values("Authorization"); len(sent) {
	case 0:
		id, err := e.fromCookie(r)
		return id, outage(err)
	case 1:
		scheme, token, _ := strings.Cut(sent[0], " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return board.Identity{}, errNobody
		}
		granted, err := e.check(r, strings.TrimSpace(token))
		return granted.Identity, outage(err)
	}
	return board.Identity{}, auth.ErrUnknown // several tokens
}

// check returns what a token entitles to.
func (e *Edge) check(r *http.Request, token string) (granted auth.Grant, err error) {
	err = auth.ErrUnknown
	if e.config.Tokens != nil {
		granted, err = e.config.Tokens.Check(token, e.config.Now())
	}
	if e.config.Issuer != nil && errors.Is(err, auth.ErrUnknown) {
		granted, err = e.config.Issuer.Check(r.Context(), token)
	}
	return granted, err
}

// outage returns nil and refusals as they are, and other errors as failures of the sign-in itself.
func outage(err error) error {
	if _, ok := errors.AsType[*auth.Refusal](err); ok || err == nil {
		return err
	}
	return &Error{http.StatusServiceUnavailable, "sign-in does not work now; the server's log says why", err}
}

// countRefusal counts a failed sign-in, and returns an error after too many from its network.
func (e *Edge) countRefusal(r *http.Request) error {
	if e.refusals.allow(network(e.address(r))) {
		return nil
	}
	return newError(http.StatusTooManyRequests, "too many failed sign-ins from this address: wait a second")
}

// isStillSignedIn reports whether a request would still be answered to its sender. It would not if the token has
// expired, was revoked, or grants something else.
func (r *Request) isStillSignedIn(ctx context.Context) bool {
	if !r.edge.signsIn {
		return true
	}
	id, err := r.edge.authenticate(r.WithContext(ctx))
	if err != nil {
		return describe(err).Status >= http.StatusInternalServerError // an outage refuses nobody
	}
	return id == r.Identity
}

// challenge sets the header that says with status 401 or 403 how to sign in, or which scope is missing (RFC 6750
// section 3, RFC 9728 section 5.1).
func (e *Edge) challenge(w http.ResponseWriter, r *http.Request, refusal *Error) {
	if !e.signsIn {
		return
	}
	challenge := fmt.Sprintf("Bearer scope=%q", auth.ScopeRead+" "+auth.ScopeWrite)
	switch {
	case refusal.Status == http.StatusForbidden:
		challenge += fmt.Sprintf(`, error="insufficient_scope", error_description=%q`, refusal.Text)
	case r.Header.Get("Authorization") != "":
		challenge += fmt.Sprintf(`, error="invalid_token", error_description=%q`, refusal.Text)
	}
	if e.config.Issuer != nil {
		challenge += fmt.Sprintf(", resource_metadata=%q", e.origin(r)+e.path+metadataPath+resourcePath)
	}
	w.Header().Set("WWW-Authenticate", challenge)
}

// Forbid sets the header that says which scope a writer lacks, and returns the error to answer.
func (r *Request) Forbid(w http.ResponseWriter) *Error {
	refusal := describe(board.ErrReadOnly)
	r.edge.challenge(w, r.Request, refusal)
	return refusal
}

const (
	// resourcePath is the path of the resource that tokens are for.
	resourcePath = "/mcp"
	metadataPath = "/.well-known/oauth-protected-resource"
)

// metadata answers with the metadata of the protected resource (RFC 9728).
func (e *Edge) metadata(w http.ResponseWriter, r *Request) error {
	return WriteJSON(w, http.StatusOK, map[string]any{
		"resource":                 r.Site() + resourcePath,
		"resource_name":            "todo-mcp",
		"authorization_servers":    []string{e.config.Issuer.URL},
		"scopes_supported":         []string{auth.ScopeRead, auth.ScopeWrite},
		"bearer_methods_supported": []string{"header"},
	})
}

// address returns the address of the client: the other end of the connection or, if that is a trusted proxy, the last
// address in X-Forwarded-For that is not one.
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

// network returns the network that one client may have whole: the first 64 bits of an IPv6 address, else the address.
func network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil || ip.Unmap().Is4() {
		return address
	}
	prefix, _ := ip.WithZone("").Prefix(64)
	return prefix.String()
}

// isPrivate reports whether nobody on the way can have read a request: it came over TLS, from a trusted proxy or from
// this machine.
func (e *Edge) isPrivate(r *http.Request) bool {
	from := hostOf(r.RemoteAddr)
	return r.TLS != nil || IsLoopback(from) || e.isTrusted(from)
}

func (e *Edge) isTrusted(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(e.config.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(ip.Unmap()) })
}
