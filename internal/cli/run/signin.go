package run

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/mdp/qrterminal/v3"

	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/server/auth"
	"github.com/todo-mcp/todo-mcp/server/edge"
)

// exposed reports whether other machines can reach the server.
func exposed(a *app.App) bool { return !edge.IsLoopback(a.Addr) }

// signsIn reports whether clients must sign in.
func signsIn(a *app.App) bool { return a.SignIn.Tokens != "" || a.SignIn.Issuer != "" }

// CheckSignIn checks the settings for sign-in and TLS. Other machines must not reach lists without sign-in, or
// with a token that others on the network can read (BAD-INPUT 15).
func CheckSignIn(a *app.App) error {
	in := a.SignIn
	switch {
	case exposed(a) && !signsIn(a):
		return errors.New("others could reach " + a.Addr + " and all lists: --tokens FILE or --issuer URL lets in who signs in (or --lan, for your own phone)")
	case exposed(a) && a.TLSCert == "" && len(a.Proxies) == 0:
		return errors.New("tokens would cross the network for all to read: --tls-cert and --tls-key serve with TLS, or --trusted-proxies names the proxy that does")
	case (a.TLSCert == "") != (a.TLSKey == ""):
		return errors.New("--tls-cert and --tls-key belong together")
	case len(a.Proxies) > 0 && signsIn(a) && a.PublicURL == "":
		return errors.New("behind a proxy, --public-url says where clients reach the server")
	case in.Issuer != "" && in.Audience == "" && a.PublicURL == "":
		return errors.New("--issuer needs --public-url or --audience: for what must its tokens be?")
	case in.Issuer == "" && in.Audience+in.TenantClaim+in.ClientID+in.ClientSecret != "":
		return errors.New("--audience, --tenant-claim, --client-id and --client-secret are for --issuer")
	}
	return nil
}

// secure adds sign-in and TLS to a configuration.
func (a *service) secure(c *edge.Config) (err error) {
	if wrong := CheckSignIn(a.App); wrong != nil && a.lan == nil {
		return app.UsageError{Err: wrong}
	}
	if c.TLS, err = LoadTLS(a.App); err != nil {
		return err
	}
	c.PublicURL, c.MaxRate, c.TrustedProxies = a.PublicURL, a.MaxRate, a.Proxies
	in := a.SignIn
	if c.Tokens = a.lan; in.Tokens != "" {
		c.Tokens = auth.NewTokens(in.Tokens)
	}
	if in.Issuer != "" {
		c.Issuer = auth.NewIssuer(auth.IssuerConfig{URL: in.Issuer, Audience: cmp.Or(in.Audience, a.PublicURL+"/mcp"),
			TenantClaim: in.TenantClaim, ClientID: in.ClientID, ClientSecret: in.ClientSecret})
	}
	if a.PublicURL != "" {
		u, err := url.Parse(a.PublicURL)
		if err != nil {
			return err
		}
		c.Hosts = append(c.Hosts, strings.ToLower(u.Hostname()))
	}
	return nil
}

// LoadTLS returns nil if no certificate is set.
func LoadTLS(a *app.App) (*tls.Config, error) {
	if a.TLSCert == "" {
		return nil, nil
	}
	return edge.LoadCertificate(a.TLSCert, a.TLSKey, a.Logger())
}

// joinNetwork serves on an address in the local network, to the owner of a token valid until the process ends.
func (a *service) joinNetwork(ip netip.Addr) {
	_, port, _ := net.SplitHostPort(a.Addr)
	a.Addr = net.JoinHostPort(ip.String(), port)
	a.lan, a.phone = auth.OneToken(auth.Token{Name: "phone", Scopes: []string{auth.ScopeRead, auth.ScopeWrite}})
}

// greetPhone prints and returns the sign-in URL with the token, also as a QR code.
func (a *service) greetPhone(listens string) string {
	url := listens + "/signin#" + a.phone
	fmt.Fprintf(a.Stdout, "\nOn your phone in this network, until this process ends:\n\n  %s\n\n", url)
	qrterminal.GenerateHalfBlock(url, qrterminal.L, a.Stdout)
	return url
}

// lanAddress returns this machine's address in a private network, preferring IPv4.
func lanAddress(addresses []net.Addr, err error) (netip.Addr, error) {
	if err != nil {
		return netip.Addr{}, fmt.Errorf("find this machine's network: %w", err)
	}
	var found netip.Addr
	for _, address := range addresses {
		prefix, err := netip.ParsePrefix(address.String())
		if ip := prefix.Addr().Unmap(); err == nil && ip.IsPrivate() && (!found.IsValid() || found.Is6() && ip.Is4()) {
			found = ip
		}
	}
	if !found.IsValid() {
		return found, errors.New("this machine is in no private network")
	}
	return found, nil
}
