package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/signal"
	"syscall"
	"time"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/edge"
	"todo-mcp/server/metrics"
	mcpstdio "todo-mcp/server/stdio"
	"todo-mcp/server/web"
)

// OpenServer opens the store and returns a server on it; done closes both. replica
// is true for a server whose sessions others on the same store may serve, too.
func OpenServer(a *app.App, replica bool) (s *server.Server, done func(), err error) {
	hangups := catchHangups(a)
	board, closeStore, err := a.Open()
	if err != nil {
		signal.Stop(hangups)
		return nil, nil, err
	}
	if replica {
		collectLess(a.Getenv)
	}
	config, err := serverConfig(a, board)
	if replica && a.Sessions != nil {
		config.Subscriptions = a.Sessions
	}
	if err == nil {
		err = readSharedKey(a)
	}
	if err == nil {
		s, err = server.New(config)
	}
	if err == nil && a.Audit != nil {
		err = a.Audit.Check()
	}
	if err != nil {
		signal.Stop(hangups)
		closeStore()
		return nil, nil, err
	}
	endReopening := reopenAudit(a, hangups)
	return s, func() { s.Close(); endReopening(); closeStore() }, nil
}

// serverConfig returns the configuration, from the settings, of a server on
// board.
func serverConfig(a *app.App, board *todo.Board) (server.Config, error) {
	list, texts, err := a.NewTools()
	var observe func(server.Operation)
	if a.Metrics != nil {
		observe = a.Metrics.MCP
	}
	return server.Config{
		Board: board, Tools: list, Publish: a.Publish, Structured: a.Content, Texts: texts, Version: a.Version,
		List: a.List, Panel: a.Panel, Dir: app.WorkingDir(), Getenv: a.Getenv, Timeout: a.Request, Log: a.Logger(), SessionKey: func() []byte { return sessionKey(a) }, Observe: observe,
	}, err
}

func Stdio(fs *flag.FlagSet) func(context.Context, *app.App, []string) error {
	panel := fs.Bool("panel", false, "serve the panel too, as long as no other process does")
	return func(ctx context.Context, a *app.App, _ []string) error { return stdio(ctx, a, *panel) }
}

func stdio(ctx context.Context, a *app.App, panel bool) error {
	if a.IsTerminalIn() {
		fmt.Fprintln(a.Stderr, "todo-mcp speaks MCP on standard input here, for a client to start. For people: `todo-mcp serve`, `todo-mcp help`.")
	}
	var listener net.Listener
	if panel {
		listener = listenPanel(ctx, a)
	}
	s, done, err := OpenServer(a, false)
	if err != nil {
		if listener != nil {
			listener.Close()
		}
		return err
	}
	defer done()
	if panel {
		panelCtx, stop := context.WithCancel(ctx)
		wait, err := sidePanel(panelCtx, a, s.Board, listener)
		if err != nil {
			stop()
			return err
		}
		defer wait()
		defer stop()
	}
	in, inDone := polled(a.Stdin)
	defer inDone()
	out, outDone := polled(a.Stdout)
	defer outDone()
	return mcpstdio.Serve(ctx, s, in, out)
}

func Serve(fs *flag.FlagSet) func(context.Context, *app.App, []string) error {
	lan := fs.Bool("lan", false, "serve on this machine's network too, for your own phone: with a token, as a QR code")
	open := fs.Bool("open", false, "open the panel in the browser")
	return func(ctx context.Context, a *app.App, _ []string) error {
		a.Opens = *open
		return serve(ctx, a, *lan)
	}
}

func serve(ctx context.Context, a *app.App, lan bool) error {
	if err := CheckSignIn(a); err != nil {
		return err
	}
	if !lan {
		return serveOn(ctx, a, netip.Addr{})
	}
	if exposed(a) || signsIn(a) {
		return errors.New("--lan is for one person's own devices: leave out --addr, --tokens and --issuer")
	}
	ip, err := lanAddress(net.InterfaceAddrs())
	if err != nil {
		return err
	}
	return serveOn(ctx, a, ip)
}

// serveOn serves at the address of the settings, and if lan is valid, at that one
// too.
func serveOn(ctx context.Context, a *app.App, lan netip.Addr) error {
	a.Metrics = metrics.New(a.Version)
	place, err := a.Place()
	if err == nil {
		err = place.CheckFolder()
	}
	if err != nil {
		return fmt.Errorf("the store: %w", err)
	}
	s, done, err := OpenServer(a, true)
	if err != nil {
		return err
	}
	defer done()
	if err := app.IsReadable(s.Board, storeWait); err != nil {
		a.Logger().Warn("the store cannot be read now; calls will wait for it", "error", err)
	}
	listener, err := listen(ctx, a)
	if err != nil {
		return err
	}
	s.SetPanel(ownAddress(a, listener.Addr()))
	handler, err := NewWeb(a, s)
	if err != nil {
		return err
	}
	edges := []*edge.Edge{handler}
	if lan.IsValid() {
		network, done, err := serveLAN(ctx, a, s, listener.Addr(), lan)
		if err != nil {
			return err
		}
		defer done()
		edges = append(edges, network)
	}
	measure(a, s.Board, edges...)
	endAdmin, err := serveAdmin(a, handler)
	if err != nil {
		return err
	}
	defer endAdmin()
	if err := greet(ctx, a, listener.Addr(), place); err != nil {
		return err
	}
	draining, drained := handler.Drain(ctx, a.Operator.Drain)
	defer drained()
	return handler.Serve(draining, listener)
}

// storeWait is for how long `serve` waits for a store that another program has locked
// before it says so.
const storeWait = 2 * time.Second

// listen listens on the address of the settings. The error says who has it already.
func listen(ctx context.Context, a *app.App) (net.Listener, error) {
	listener, err := net.Listen("tcp", a.Addr)
	switch {
	case err == nil:
		return listener, nil
	case a.TLSCert == "" && IsOwnPanel(ctx, a.Addr):
		return nil, fmt.Errorf("todo-mcp is served at %s://%s/ already: use that one, or take another address, as --addr 127.0.0.1:0 for any free port", Scheme(a), a.Addr)
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("another program has %s: end it, or take another address, as --addr 127.0.0.1:0 for any free port", a.Addr)
	}
	return nil, fmt.Errorf("--addr: %w", err)
}

// ownAddress returns where browsers reach the panel on a listener; empty for one
// that listens on every interface, which does not say it.
func ownAddress(a *app.App, addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); a.PublicURL != "" || !ok || tcp.IP.IsUnspecified() {
		return a.PublicURL
	}
	return Scheme(a) + "://" + addr.String()
}

func Scheme(a *app.App) string {
	if a.TLSCert != "" {
		return "https"
	}
	return "http"
}

// NewWeb returns the HTTP handler: MCP on s, the API and the panel.
func NewWeb(a *app.App, s *server.Server) (*edge.Edge, error) {
	config := webConfig(a, s)
	if err := secure(a, &config); err != nil {
		return nil, err
	}
	if a.Metrics != nil && a.Operator.Addr == "" && !signsIn(a) {
		config.Metrics = a.Metrics
	}
	return web.New(s, config)
}

// webConfig returns the configuration of HTTP without who may use it.
func webConfig(a *app.App, s *server.Server) edge.Config {
	c := edge.Config{
		Board: s.Board, Hosts: a.Hosts, Origins: a.Origins, Log: a.Logger(),
		MaxStreams: a.Streams, Timeout: a.Request, Ready: func() error { return ready(a) },
	}
	if a.Metrics != nil {
		c.Observe = a.Metrics.HTTP
	}
	return c
}
