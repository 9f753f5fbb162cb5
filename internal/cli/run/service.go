package run

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/atomicfile"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/process"
	"github.com/todo-mcp/todo-mcp/internal/store"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/auth"
)

// service is a server as the settings say. Whoever makes one calls end.
type service struct {
	*app.App
	lan       *auth.Tokens // what lets in with --lan; else nil
	phone     string       // the token of lan
	panel     string       // the address of the panel beside a server on stdio, which clients are told
	sharedKey []byte       // of session ids, where several servers share it; else nil
	store     *store.Opened
	ends      []func() // of what was opened
	// takesHooks is true for a server that the hooks of its client call.
	takesHooks bool
}

// end closes what was opened, the last first.
func (a *service) end() {
	for _, end := range slices.Backward(a.ends) {
		end()
	}
}

// openStore is [app.App.Open], which, if waits is true, waits for a database that is away.
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

// open opens the store and returns a server on it. replica is true for a server whose
// sessions others on the same store may serve, too.
func (a *service) open(ctx context.Context, replica bool) (s *server.Server, err error) {
	hangups := make(chan os.Signal, 1) // nobody reads it
	// A service manager may send one at any time, and it ends no server. In a terminal it
	// says that the terminal is closed, and ends the process, unless there is an audit log.
	if a.Operator.Audit != "" || !app.IsTerminal(a.Stdin) {
		signal.Notify(hangups, syscall.SIGHUP)
		a.ends = append(a.ends, func() { signal.Stop(hangups) })
	}
	st, b, closeStore, err := a.openStore(ctx, replica)
	if err != nil {
		return nil, err
	}
	a.store, a.ends = st, append(a.ends, closeStore)
	config, err := a.serverConfig(b)
	if err != nil {
		return nil, err
	}
	if st.SessionKey != nil {
		// It is read as a server starts: one that came to make up a key, as the database
		// did not answer just then, would not know the sessions of the others.
		ctx, cancel := context.WithTimeout(context.Background(), sessionKeyTimeout)
		defer cancel()
		if a.sharedKey, err = st.SessionKey(ctx, newKey()); err != nil {
			return nil, err
		}
	}
	if s, err = server.New(config); err != nil {
		return nil, err
	}
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
	if a.takesHooks {
		c.Hook = a.hook
	}
	return c, err
}

// sessionKeyTimeout bounds how long a database may take to return the key.
const sessionKeyTimeout = 10 * time.Second

// sessionKey returns the 32-byte or longer key that signs session ids. It is beside the
// lists, in a file or in the database that several servers share, and is made at first
// use, so that sessions survive a restart. For lists in memory, or when the file cannot
// be used, the key is new in each process.
func (a *service) sessionKey() []byte {
	if a.sharedKey != nil {
		return a.sharedKey
	}
	place, err := a.Place()
	if err == nil && !place.Memory() {
		var key []byte
		if key, err = loadOrStoreKey(place.KeyFile()); err == nil {
			return key
		}
	}
	if err != nil {
		fmt.Fprintln(a.Stderr, "todo-mcp: sessions will not outlive this process:", err)
	}
	return newKey()
}

func newKey() []byte {
	key := make([]byte, 32)
	rand.Read(key) //nolint:errcheck // never fails
	return key
}

// loadOrStoreKey returns the key in the file at path, and makes the file if there is
// none. When several processes start at once, all return the key of the one that was
// first.
func loadOrStoreKey(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = storeKey(path)
		if err == nil || errors.Is(err, fs.ErrExist) { // another process may have been first
			data, err = os.ReadFile(path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("session key: %w", err)
	}
	stored, err := hex.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(stored) < 32 {
		return nil, fmt.Errorf("session key: %s is damaged, delete it", path)
	}
	return stored, nil
}

// storeKey writes a new key to a file that does not exist yet; the error wraps
// [fs.ErrExist] when it does. The file has its name only once it is whole, and on
// the disk: nobody would replace an empty one that a power loss left.
func storeKey(path string) error {
	key := hex.EncodeToString(newKey())
	temporary := path + "." + key[:8]
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = atomicfile.Write(temporary, []byte(key+"\n"), nil)
	}
	if err == nil {
		defer os.Remove(temporary)
		err = os.Link(temporary, path)
	}
	return err
}
