package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	flag "github.com/spf13/pflag"

	"github.com/mark3labs/mcp-go/mcp"

	"todo-mcp/server"
	"todo-mcp/server/edge"
	"todo-mcp/server/metrics"
	mcpstdio "todo-mcp/server/stdio"
	"todo-mcp/server/web"
)

func stdioFlags(fs *flag.FlagSet) func(context.Context, *app, []string) error {
	panel := fs.Bool("panel", false, "serve the panel too, as long as no other process does")
	return func(ctx context.Context, a *app, _ []string) error { return a.stdio(ctx, *panel) }
}

func (a *app) stdio(ctx context.Context, panel bool) error {
	if a.isTerminalIn() {
		fmt.Fprintln(a.Stderr, "todo-mcp speaks MCP on standard input here, for a client to start. For people: `todo-mcp serve`, `todo-mcp help`.")
	}
	var listener net.Listener
	if panel {
		listener = a.listenPanel(ctx)
	}
	s, done, err := a.openServer(false)
	if err != nil {
		if listener != nil {
			listener.Close()
		}
		return err
	}
	defer done()
	if panel {
		panelCtx, stop := context.WithCancel(ctx)
		wait, err := a.sidePanel(panelCtx, s.Board, listener)
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

func serveFlags(fs *flag.FlagSet) func(context.Context, *app, []string) error {
	lan := fs.Bool("lan", false, "serve on this machine's network too, for your own phone: with a token, as a QR code")
	open := fs.Bool("open", false, "open the panel in the browser")
	return func(ctx context.Context, a *app, _ []string) error {
		a.opens = *open
		return a.serve(ctx, *lan)
	}
}

func (a *app) serve(ctx context.Context, lan bool) error {
	if err := a.checkSignIn(); err != nil {
		return err
	}
	if !lan {
		return a.serveOn(ctx, netip.Addr{})
	}
	if a.exposed() || a.signsIn() {
		return errors.New("--lan is for one person's own devices: leave out --addr, --tokens and --issuer")
	}
	ip, err := lanAddress(net.InterfaceAddrs())
	if err != nil {
		return err
	}
	return a.serveOn(ctx, ip)
}

// serveOn serves at the address of the settings, and if lan is valid, at that one
// too.
func (a *app) serveOn(ctx context.Context, lan netip.Addr) error {
	a.metrics = metrics.New(a.Version)
	place, err := a.place()
	if err == nil {
		err = place.CheckFolder()
	}
	if err != nil {
		return fmt.Errorf("the store: %w", err)
	}
	s, done, err := a.openServer(true)
	if err != nil {
		return err
	}
	defer done()
	if err := isReadable(s.Board, storeWait); err != nil {
		a.logger().Warn("the store cannot be read now; calls will wait for it", "error", err)
	}
	listener, err := a.listen(ctx)
	if err != nil {
		return err
	}
	s.SetPanel(a.ownAddress(listener.Addr()))
	handler, err := a.newWeb(s)
	if err != nil {
		return err
	}
	edges := []*edge.Edge{handler}
	if lan.IsValid() {
		network, done, err := a.serveLAN(ctx, s, listener.Addr(), lan)
		if err != nil {
			return err
		}
		defer done()
		edges = append(edges, network)
	}
	a.measure(s.Board, edges...)
	endAdmin, err := a.serveAdmin(handler)
	if err != nil {
		return err
	}
	defer endAdmin()
	if err := a.greet(ctx, listener.Addr(), place); err != nil {
		return err
	}
	draining, drained := handler.Drain(ctx, a.operator.drain)
	defer drained()
	return handler.Serve(draining, listener)
}

// storeWait is for how long `serve` waits for a store that another program has locked
// before it says so.
const storeWait = 2 * time.Second

// listen listens on the address of the settings. The error says who has it already.
func (a *app) listen(ctx context.Context) (net.Listener, error) {
	listener, err := net.Listen("tcp", a.addr)
	switch {
	case err == nil:
		return listener, nil
	case a.tlsCert == "" && isOwnPanel(ctx, a.addr):
		return nil, fmt.Errorf("todo-mcp is served at %s://%s/ already: use that one, or take another address, as --addr 127.0.0.1:0 for any free port", a.scheme(), a.addr)
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("another program has %s: end it, or take another address, as --addr 127.0.0.1:0 for any free port", a.addr)
	}
	return nil, fmt.Errorf("--addr: %w", err)
}

// ownAddress returns where browsers reach the panel on a listener; empty for one
// that listens on every interface, which does not say it.
func (a *app) ownAddress(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); a.publicURL != "" || !ok || tcp.IP.IsUnspecified() {
		return a.publicURL
	}
	return a.scheme() + "://" + addr.String()
}

func (a *app) scheme() string {
	if a.tlsCert != "" {
		return "https"
	}
	return "http"
}

// newWeb returns the HTTP handler: MCP on s, the API and the panel.
func (a *app) newWeb(s *server.Server) (*edge.Edge, error) {
	config := a.webConfig(s)
	if err := a.secure(&config); err != nil {
		return nil, err
	}
	if a.metrics != nil && a.operator.addr == "" && !a.signsIn() {
		config.Metrics = a.metrics
	}
	return web.New(s, config)
}

// webConfig returns the configuration of HTTP without who may use it.
func (a *app) webConfig(s *server.Server) edge.Config {
	c := edge.Config{
		Board: s.Board, Hosts: a.hosts, Origins: a.origins, Log: a.logger(),
		MaxStreams: a.streams, Timeout: a.request, Ready: a.ready,
	}
	if a.metrics != nil {
		c.Observe = a.metrics.HTTP
	}
	return c
}

func (a *app) version(context.Context, []string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "todo-mcp %s (%s, %s/%s)\n", a.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(&b, "MCP %s\n", strings.Join(mcp.ValidProtocolVersions, ", "))
	_, err := io.WriteString(a.Stdout, b.String())
	return err
}

// BuildVersion returns the version in the binary's build information, or
// "devel" when there is none. It is for a binary that was linked without a
// version.
func BuildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	return strings.TrimSuffix(strings.Trim(info.Main.Version, "()"), "+dirty")
}

// indent returns text with each line indented by two columns.
func indent(text string) string {
	if text == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}
