package run

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/notify"
	"github.com/todo-mcp/todo-mcp/internal/process"
	"github.com/todo-mcp/todo-mcp/internal/store"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/auth"
	"github.com/todo-mcp/todo-mcp/server/edge"
)

const (
	sessionKeyTimeout = 10 * time.Second       // limits how long the store may take to return the key
	takeoverInterval  = time.Second            // between tries to listen on the panel's port while it is taken
	panelWait         = 500 * time.Millisecond // how long the check of the port may delay a client's first answer
)

// service is a server with the settings of an App. Its creator calls end.
type service struct {
	*app.App
	lan        auth.Tokens // for --lan; else nil
	phone      string      // the token in lan
	panel      string      // URL of the panel beside a stdio server, sent to clients
	store      *store.Opened
	sessionKey func() []byte // signs session ids, see storedKey
	ends       []func()      // the functions that close what was opened
}

// end closes what was opened, in reverse order.
func (a *service) end() {
	for _, end := range slices.Backward(a.ends) {
		end()
	}
}

// openStore calls [app.App.Open] and, if waits is true, tries again while the database is unavailable.
func (a *service) openStore(ctx context.Context, waits bool) (st *store.Opened, b *board.Board, done func(), err error) {
	for tries := 0; ; tries++ {
		st, b, done, err = a.Open()
		if !waits || !errors.Is(err, board.ErrUnavailable) {
			return st, b, done, err
		}
		if tries%30 == 0 {
			a.Logger().Warn("waits for the database", "error", err)
		}
		if !board.Sleep(ctx, time.Second) {
			return nil, nil, nil, err
		}
	}
}

// open opens the store and returns a server on it. If replica is true, other servers may share store and sessions.
func (a *service) open(ctx context.Context, replica bool) (s *server.Server, err error) {
	st, b, closeStore, err := a.openStore(ctx, replica)
	if err != nil {
		return nil, err
	}
	a.store, a.ends = st, append(a.ends, closeStore)
	key := sync.OnceValues(a.storedKey)
	if place, _ := a.Place(); place.URL != "" { // no error: the store is open
		// Servers that share a database need the same key: with a key of its own, a server rejects others' sessions.
		if _, err := key(); err != nil {
			return nil, err
		}
	}
	a.sessionKey = sync.OnceValue(func() []byte {
		key, err := key()
		if err != nil {
			fmt.Fprintln(a.Stderr, "todo-mcp: sessions will not outlive this process:", err)
		}
		return key
	})
	config, err := a.serverConfig(b)
	if err != nil {
		return nil, err
	}
	s = server.New(config)
	a.ends = append(a.ends, s.Close)
	if a.Audit != nil {
		err = a.Audit.Check()
	}
	return s, err
}

// serverConfig returns the configuration of a server on a board.
func (a *service) serverConfig(b *board.Board) (server.Config, error) {
	list, texts, err := a.NewTools()
	c := server.Config{
		Board: b, Tools: list, Publish: a.Publish, Structured: a.Content, Texts: texts, Version: a.Version,
		List: a.List, Panel: a.panel, Dir: app.Absolute(""), Host: process.Host(), Getenv: a.Getenv, Timeout: a.Request, Log: a.Logger(),
		SessionKey: a.sessionKey,
	}
	if a.Metrics != nil {
		c.Observe = a.Metrics.MCP
	}
	return c, err
}

// storedKey returns the key that signs session ids. The store keeps the key, so that sessions survive a restart and are
// valid on every server of a database. With an error it returns a new key that only this process has.
func (a *service) storedKey() ([]byte, error) {
	fresh := make([]byte, 32)
	rand.Read(fresh) //nolint:errcheck // never fails
	ctx, cancel := context.WithTimeout(context.Background(), sessionKeyTimeout)
	defer cancel()
	key, err := a.store.SessionKey(ctx, fresh)
	if err == nil && len(key) < len(fresh) {
		err = fmt.Errorf("the session key has %d bytes, not %d", len(key), len(fresh))
	}
	if err != nil {
		return fresh, err
	}
	return key, nil
}

// Notify sends a test notice to each address and prints the result.
func Notify(ctx context.Context, a *app.App, _ []string) error {
	if len(a.Notify.Targets) == 0 {
		return app.Usagef("no address: set --notify or TODO_NOTIFY, to ntfy://ntfy.sh/TOPIC for example")
	}
	var failed []error
	for _, t := range a.Notify.Targets {
		if _, err := t.Send(ctx, notify.Test()); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", t, err))
		} else if err := a.Say("sent to %s\n", t); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

// CheckNotify checks the settings for notices: the operator of a server must not get other people's texts.
func CheckNotify(a *app.App) error {
	if a.Notify.Texts && signsIn(a) {
		return errors.New("--notify-texts would send the texts of everybody's lists: leave it out")
	}
	return nil
}

// Receivers returns the targets of notices, without secrets; empty if there are none.
func Receivers(a *app.App) string {
	var names []string
	for _, t := range a.Notify.Targets {
		names = append(names, t.String())
	}
	return strings.Join(names, ", ")
}

// notify sends notices in the background until end is called or ctx ends.
func (a *service) notify(ctx context.Context, lists board.Lists) error {
	if err := CheckNotify(a.App); err != nil {
		return app.UsageError{Err: err}
	}
	if len(a.Notify.Targets) == 0 {
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	config := a.Notify
	config.Lists, config.Panel, config.Log = lists, a.PublicURL, a.Logger()
	n := notify.New(config)
	var work sync.WaitGroup
	work.Go(func() { n.Run(ctx) })
	a.ends = append(a.ends, work.Wait, stop)
	return nil
}

// listenPanel listens for the panel, or returns nil. It sets a.panel if this process or another todo-mcp has the port.
func (a *service) listenPanel(ctx context.Context) net.Listener {
	ctx, cancel := context.WithTimeout(ctx, panelWait)
	defer cancel()
	l, err := net.Listen("tcp", a.Addr)
	switch {
	case err == nil:
		a.panel = "http://" + l.Addr().String() + "/"
		a.ends = append(a.ends, func() { l.Close() })
		return l
	case IsOwnPanel(ctx, a.Addr):
		a.panel = "http://" + a.Addr + "/"
	}
	return nil
}

// sidePanel serves the panel in the background until end is called or ctx ends. It begins on first, if not nil.
func (a *service) sidePanel(ctx context.Context, b *board.Board, first net.Listener) error {
	config, err := a.serverConfig(b)
	if err != nil {
		return err
	}
	config.List = "" // --list applies to the stdio client only
	s := server.New(config)
	if a.panel != "" {
		fmt.Fprintf(a.Stderr, "todo-mcp: the panel is at %s\n", a.panel)
	}
	ctx, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { a.keepPanel(ctx, s, first) })
	a.ends = append(a.ends, s.Close, work.Wait, stop)
	return nil
}

// keepPanel serves the panel whenever its port is free, and warns once if another program has it (BAD-INPUT 84).
func (a *service) keepPanel(ctx context.Context, s *server.Server, l net.Listener) {
	strangers := 0 // consecutive tries at which another program held the port
	for ; ctx.Err() == nil; l = nil {
		var err error
		if l == nil {
			l, err = net.Listen("tcp", a.Addr)
		}
		strangers++
		switch {
		case err == nil:
			a.servePanel(ctx, l, s)
			strangers = 0
		case IsOwnPanel(ctx, a.Addr):
			strangers = 0
		case strangers == 2 && ctx.Err() == nil: // at the first try it may be a todo-mcp that is ending
			a.Logger().Warn("no panel: another program uses its port; --addr chooses another", "address", a.Addr, "error", err)
		}
		board.Sleep(ctx, takeoverInterval)
	}
}

func (a *service) servePanel(ctx context.Context, l net.Listener, s *server.Server) {
	defer l.Close()
	h, err := a.newWeb(s)
	if err == nil {
		a.Logger().Info("panel", "address", "http://"+l.Addr().String()+"/")
		defer a.FollowSessions(ctx, s.Board.As(""))()
		err = h.Serve(ctx, l)
	}
	if err != nil {
		a.Logger().Error("panel", "error", err)
	}
}

// IsOwnPanel reports whether a todo-mcp answers at an address. It uses no proxy and follows no redirect.
func IsOwnPanel(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/livez", nil)
	if err != nil {
		return false
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.Header.Get("Server") == edge.ServerName
}
