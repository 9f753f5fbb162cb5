package cli

import (
	"crypto/tls"
	"errors"
	"net/url"
	"strings"

	"todo-mcp/server/auth"
	"todo-mcp/server/edge"
)

// exposed reports whether others than this machine can reach the server.
func (a *app) exposed() bool { return !edge.IsLoopback(a.addr) }

// signsIn reports whether clients must sign in.
func (a *app) signsIn() bool { return a.signIn.tokens != "" || a.signIn.issuer != "" }

// checkSignIn returns what is wrong with the settings for sign-in and TLS
// together. Nobody may reach lists from elsewhere without sign-in, or with a token
// that anybody on the way can read (BAD-INPUT 15).
func (a *app) checkSignIn() error {
	in := a.signIn
	switch {
	case a.exposed() && !a.signsIn():
		return errors.New("others could reach " + a.addr + " and all lists: --tokens FILE or --issuer URL lets in who signs in (or --lan, for your own phone)")
	case a.exposed() && a.tlsCert == "" && len(a.proxies) == 0:
		return errors.New("tokens would cross the network for all to read: --tls-cert and --tls-key serve with TLS, or --trusted-proxies names the proxy that does")
	case (a.tlsCert == "") != (a.tlsKey == ""):
		return errors.New("--tls-cert and --tls-key belong together")
	case strings.HasPrefix(a.publicURL, "http:") && a.exposed():
		return errors.New("--public-url must be an https address where others can reach the server")
	case len(a.proxies) > 0 && a.signsIn() && a.publicURL == "":
		return errors.New("behind a proxy, --public-url says where clients reach the server")
	case in.issuer != "" && in.audience == "" && a.publicURL == "":
		return errors.New("--issuer needs --public-url or --audience: for what must its tokens be?")
	case in.issuer == "" && in.audience+in.tenantClaim+in.clientID+in.clientSecret != "":
		return errors.New("--audience, --tenant-claim, --client-id and --client-secret are for --issuer")
	}
	return nil
}

// newSignIn returns who may use the server, where not everybody may.
func (a *app) newSignIn() *auth.SignIn {
	c := auth.Config{PublicURL: a.publicURL, Key: a.sessionKey, Log: a.logger()}
	if a.signIn.tokens != "" {
		c.Tokens = auth.NewTokens(a.signIn.tokens)
	}
	if in := a.signIn; in.issuer != "" {
		if in.audience == "" {
			in.audience = a.publicURL + "/mcp"
		}
		c.Issuer = auth.NewIssuer(auth.IssuerConfig{URL: in.issuer, Audience: in.audience, TenantClaim: in.tenantClaim, ClientID: in.clientID, ClientSecret: in.clientSecret})
	}
	return auth.New(c)
}

// secure adds to a configuration who may use the server, and TLS.
func (a *app) secure(c *edge.Config) error {
	if err := a.checkSignIn(); err != nil {
		return err
	}
	c.PublicURL, c.MaxRate, c.TrustedProxies = a.publicURL, a.maxRate, a.proxies
	if a.signsIn() {
		c.SignIn = a.newSignIn()
	}
	if a.publicURL != "" {
		u, err := url.Parse(a.publicURL)
		if err != nil {
			return err
		}
		c.Hosts = append(c.Hosts, strings.ToLower(u.Hostname()))
	}
	var err error
	c.TLS, err = a.loadTLS()
	return err
}

// loadTLS returns nil without a certificate.
func (a *app) loadTLS() (*tls.Config, error) {
	if a.tlsCert == "" {
		return nil, nil
	}
	return edge.LoadCertificate(a.tlsCert, a.tlsKey, a.logger())
}
