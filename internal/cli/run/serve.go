// Package run has the commands that run until they are stopped: stdio, serve, demo and watch.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mdp/qrterminal/v3"
	flag "github.com/spf13/pflag"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/install"
	"github.com/todo-mcp/todo-mcp/internal/store"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/auth"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/metrics"
	mcpstdio "github.com/todo-mcp/todo-mcp/server/stdio"
	"github.com/todo-mcp/todo-mcp/server/web"
)

// Stdio serves one client on standard input and output.
func Stdio(fs *flag.FlagSet) app.Run {
	panel := fs.Bool("panel", false, "serve the panel too, as long as no other process does")
	return func(ctx context.Context, a *app.App, _ []string) error { return (&service{App: a}).stdio(ctx, *panel) }
}

func (a *service) stdio(ctx context.Context, panel bool) error {
	if app.IsTerminal(a.Stdin) {
		fmt.Fprintln(a.Stderr, "todo-mcp speaks MCP on standard input here, for a client to start. For people: `todo-mcp serve`, `todo-mcp help`.")
	}
	defer a.end()
	var listener net.Listener
	if panel {
		listener = a.listenPanel(ctx)
	}
	s, err := a.open(ctx, false)
	if err == nil && panel {
		err = a.sidePanel(ctx, s.Board, listener)
	}
	if err == nil {
		err = a.notify(ctx, s.Board.As(""))
	}
	if err != nil {
		return err
	}
	mcpstdio.Serve(ctx, s, a.Stdin, a.Stdout)
	return nil
}

// Serve serves MCP and the panel over HTTP.
func Serve(fs *flag.FlagSet) app.Run {
	lan := fs.Bool("lan", false, "serve on this machine's network, for your own phone: with a token, as a QR code")
	opens := fs.Bool("open", false, "open the panel in the browser")
	return func(ctx context.Context, a *app.App, _ []string) error {
		service := &service{App: a}
		if *lan {
			if exposed(a) || signsIn(a) {
				return app.Usagef("--lan is for one person's own devices: leave out --addr, --tokens and --issuer")
			}
			ip, err := lanAddress(net.InterfaceAddrs())
			if err != nil {
				return err
			}
			service.joinNetwork(ip)
		}
		return service.serve(ctx, *opens)
	}
}

// storeWait is how long `serve` waits for a locked store before it warns.
const storeWait = 2 * time.Second

func (a *service) serve(ctx context.Context, opens bool) error {
	defer a.end()
	a.Metrics = metrics.New(a.Version)
	place, err := a.Place()
	if err == nil {
		err = place.CheckFolder()
	}
	if err != nil {
		return fmt.Errorf("the store: %w", err)
	}
	s, err := a.open(ctx, true)
	if err != nil {
		return err
	}
	if err := app.IsReadable(s.Board.Everyone(), storeWait); err != nil {
		a.Logger().Warn("the store cannot be read now; calls will wait for it", "error", err)
	}
	if wrong, _ := a.store.Unsafe(ctx); wrong != "" {
		a.Logger().Warn(wrong)
	}
	handler, err := a.newWeb(s)
	if err != nil {
		return err
	}
	listener, err := listen(ctx, a.App)
	if err != nil {
		return err
	}
	listens := Scheme(a.App) + "://" + listener.Addr().String()
	s.Panel = a.PublicURL
	if tcp, ok := listener.Addr().(*net.TCPAddr); s.Panel == "" && ok && !tcp.IP.IsUnspecified() {
		s.Panel = listens // not if it listens on all interfaces: nobody can open 0.0.0.0
	}
	a.measure(s.Board, handler)
	if err := a.serveAdmin(handler); err != nil {
		return err
	}
	lists := s.Board.As("")
	if signsIn(a.App) {
		lists = s.Board.Everyone() // notices to the operator contain no texts
	}
	if err := a.notify(ctx, lists); err != nil {
		return err
	}
	url := cmp.Or(s.Panel, listens)
	page := url + "/"
	if a.lan != nil {
		page = a.greetPhone(listens)
	}
	if err := a.greet(url, listens, place); err != nil {
		return err
	}
	if opens {
		a.browse(ctx, page)
	}
	if !signsIn(a.App) {
		defer a.FollowSessions(ctx, lists)()
	}
	return handler.Serve(ctx, listener)
}

// listen listens on the address of the settings. The error says whether a todo-mcp or another program uses the address.
func listen(ctx context.Context, a *app.App) (net.Listener, error) {
	listener, err := net.Listen("tcp", a.Addr)
	other := "choose another address, such as --addr 127.0.0.1:0 for any free port"
	switch {
	case err == nil:
		return listener, nil
	case a.TLSCert == "" && IsOwnPanel(ctx, a.Addr):
		return nil, fmt.Errorf("todo-mcp is served at %s://%s/ already: use that one, or %s", Scheme(a), a.Addr, other)
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("another program has %s: end it, or %s", a.Addr, other)
	}
	return nil, fmt.Errorf("--addr: %w", err)
}

// Scheme returns the URL scheme of the server.
func Scheme(a *app.App) string {
	if a.TLSCert != "" {
		return "https"
	}
	return "http"
}

// newWeb returns the HTTP handler of the MCP endpoint of server s, the API and the panel.
func (a *service) newWeb(s *server.Server) (*edge.Edge, error) {
	c := edge.Config{
		Board: s.Board, Hosts: a.Hosts, Origins: a.Origins, PublicURL: a.PublicURL, TrustedProxies: a.Proxies, Log: a.Logger(),
		MaxStreams: a.Streams, MaxRate: a.MaxRate, Timeout: a.Request, Ready: a.ready, Key: a.sessionKey, Tokens: a.lan,
	}
	c.Warn = func() string {
		warning := a.Filling(a.store.Bytes())
		if left := a.store.Damaged(); len(left) > 0 {
			warning = strings.TrimPrefix(fmt.Sprintf("%s\n%s damaged and left out; %s", warning, app.Rows(left), app.SeeDamage), "\n")
		}
		return warning
	}
	if a.Metrics != nil {
		c.Observe, c.Drain = a.Metrics.HTTP, a.Operator.Drain
		if a.Operator.Addr == "" && !signsIn(a.App) {
			c.Metrics = a.Metrics
		}
	}
	if err := a.secure(&c); err != nil {
		return nil, err
	}
	return web.New(s, c), nil
}

// greet prints the panel's URL, where lists are stored, and how to add the server to a client.
func (a *service) greet(url, listens string, place store.Place) error {
	var b strings.Builder
	fmt.Fprintf(&b, `todo-mcp %[1]s

  Panel   %[2]s/
  MCP     %[2]s/mcp
  Lists   %[3]s

Add it to your clients with `+"`%[4]s install --http %[2]s/mcp`"+`, or by hand, most of them
in their mcp.json:

  {"mcpServers": {"todo": {"url": "%[2]s/mcp"}}}
`, a.Version, url, place.String(a.Getenv("HOME")), CalledBy(a.App))
	if url != listens {
		fmt.Fprintf(&b, "\nIt listens on %s", listens)
	}
	if to := Receivers(a.App); to != "" {
		fmt.Fprintf(&b, "\nNotices go to %s.", to)
	}
	if signsIn(a.App) || a.lan != nil {
		b.WriteString("\nClients sign in; give those that cannot by themselves the header \"Authorization: Bearer TOKEN\".")
	}
	b.WriteString("\nStop with Ctrl-C.\n")
	return a.Say("%s", b.String())
}

// CalledBy returns what the user types to run this program.
func CalledBy(a *app.App) string {
	m, err := install.ThisMachine(a.Getenv)
	if err != nil {
		return "todo-mcp"
	}
	return m.Typed()
}

// ready returns an error if the audit log cannot be written: a load balancer should then send no calls.
func (a *service) ready() error {
	if a.Audit == nil {
		return nil
	}
	if err := a.Audit.Check(); err != nil {
		return &edge.Error{Status: http.StatusServiceUnavailable, Text: "the audit log cannot be written; the server's log says why", Cause: err}
	}
	return nil
}

func (a *service) measure(b *board.Board, e *edge.Edge) {
	a.Metrics.Gauge("todo_streams_open", "Open event streams, of pages, front ends and MCP clients.",
		func() float64 { return float64(e.OpenStreams()) })
	if a.Audit != nil {
		a.Metrics.Gauge("todo_audit_failed", "1 if the audit log cannot be written, else 0.", func() float64 {
			if a.Audit.Check() != nil {
				return 1
			}
			return 0
		})
	}
	a.Metrics.Gauge("todo_watchers", "Watchers of lists in this process, those of streams and of subscriptions.", func() float64 { return float64(b.Watching()) })
}

// serveAdmin serves the address for operators, --admin-addr, if it is set.
func (a *service) serveAdmin(e *edge.Edge) error {
	if a.Operator.Addr == "" {
		return nil
	}
	l, err := net.Listen("tcp", a.Operator.Addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w (--admin-addr chooses another)", a.Operator.Addr, err)
	}
	srv := &http.Server{Handler: e.Admin(a.Metrics, edge.IsLoopback(a.Operator.Addr)), ReadHeaderTimeout: edge.ClientTimeout}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			a.Logger().Error("the address for operators is not served any more", "error", err)
		}
	})
	fmt.Fprintf(a.Stderr, "todo-mcp: for operators: http://%s/metrics\n", l.Addr())
	a.ends = append(a.ends, serving.Wait, func() { _ = srv.Close() })
	return nil
}

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
		return errors.New("others could reach " + a.Addr + " and all lists: have people sign in by --tokens FILE or --issuer URL (or use --lan, for your own phone)")
	case exposed(a) && a.TLSCert == "" && len(a.Proxies) == 0:
		return errors.New("tokens would cross the network unencrypted: set --tls-cert and --tls-key, or name the proxy that does TLS by --trusted-proxies")
	case (a.TLSCert == "") != (a.TLSKey == ""):
		return errors.New("--tls-cert and --tls-key belong together")
	case len(a.Proxies) > 0 && signsIn(a) && a.PublicURL == "":
		return errors.New("behind a proxy, --public-url says where clients reach the server")
	case in.Issuer != "" && in.Audience == "" && a.PublicURL == "":
		return errors.New("--issuer needs --public-url or --audience, the audience that its tokens must have")
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
	if c.TLS, err = edge.LoadCertificate(a.TLSCert, a.TLSKey, a.Logger()); err != nil {
		return err
	}
	in := a.SignIn
	if in.Tokens != "" {
		c.Tokens = auth.NewTokens(in.Tokens)
	}
	if in.Issuer != "" {
		c.Issuer = &auth.Issuer{URL: in.Issuer, Audience: cmp.Or(in.Audience, a.PublicURL+"/mcp"),
			TenantClaim: in.TenantClaim, ClientID: in.ClientID, ClientSecret: in.ClientSecret}
	}
	if u, err := url.Parse(a.PublicURL); err == nil && u.Host != "" {
		c.Hosts = append(c.Hosts, strings.ToLower(u.Hostname()))
	}
	return nil
}

// joinNetwork sets the address to ip, in the local network, and makes a token that is valid until the process ends.
func (a *service) joinNetwork(ip netip.Addr) {
	_, port, _ := net.SplitHostPort(a.Addr)
	a.Addr = net.JoinHostPort(ip.String(), port)
	a.lan, a.phone = auth.OneToken(auth.Token{Name: "phone", Scopes: []string{auth.ScopeRead, auth.ScopeWrite}})
}

// greetPhone prints the sign-in URL with the token, also as a QR code, and returns the URL.
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
