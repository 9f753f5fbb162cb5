// Package postgrestest starts private PostgreSQL servers for tests, and cuts and
// holds the connections to them. Only tests import it. PostgreSQL's programs must be
// installed; `make deps` does that on Debian.
package postgrestest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// Server is a PostgreSQL server in a temporary folder. It listens only on a socket in that folder.
type Server struct {
	dir       string
	options   string
	template  string
	databases atomic.Int64
}

// New makes a server and starts it. The settings have the form name=value, as in "fsync=off". The caller closes it.
func New(settings ...string) (*Server, error) {
	dir, err := os.MkdirTemp("", "todo-postgres")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, options: "-c listen_addresses='' -k " + dir}
	for _, setting := range settings {
		s.options += " -c " + setting
	}
	if err = os.Chmod(dir, 0o777); err == nil { //nolint:gosec // another user's server has its folder in it
		err = s.makeCluster()
	}
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// makeCluster copies an empty cluster, because making one takes two seconds of processor time. The original is made
// once for all tests that a user runs with this PostgreSQL.
func (s *Server) makeCluster() error {
	path, err := program("initdb")
	if err != nil {
		return fmt.Errorf("PostgreSQL is not installed (make deps installs it): %w", err)
	}
	empty := filepath.Join(os.TempDir(), fmt.Sprintf("todo-mcp-postgres-%d-%x", os.Geteuid(), sha256.Sum256([]byte(path)))[:40])
	if _, err := os.Stat(empty); err != nil {
		made := filepath.Join(s.dir, "empty")
		if err := s.run("initdb", "-D", made, "-U", "todo", "-A", "trust", "-E", "UTF8", "--locale=C"); err != nil {
			return err
		}
		if err := os.Rename(made, empty); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return s.run("cp", "-a", empty, s.data())
}

// Log returns the path of the server's log.
func (s *Server) Log() string { return filepath.Join(s.dir, "log") }

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Start starts the server after [Server.Stop], and returns when it takes connections.
func (s *Server) Start() error {
	return s.run("pg_ctl", "-D", s.data(), "-w", "-t", "60", "-l", s.Log(), "-o", s.options, "start")
}

// Stop stops the server in one of PostgreSQL's modes: "fast" ends connections and closes cleanly; "immediate" is like a
// crash, after which the log is replayed.
func (s *Server) Stop(mode string) error {
	return s.run("pg_ctl", "-D", s.data(), "-w", "-m", mode, "stop")
}

// Close stops the server and removes its folder.
func (s *Server) Close() {
	_ = s.Stop("immediate") // it may be stopped already
	_ = os.RemoveAll(s.dir)
}

// Socket is the path of the socket on which the server listens.
func (s *Server) Socket() string { return filepath.Join(s.dir, ".s.PGSQL.5432") }

// Address is the postgres:// URL of a database of the server.
func (s *Server) Address(database string) string {
	return "postgres://todo@/" + database + "?host=" + url.QueryEscape(s.dir)
}

// SetTemplate makes the database that [Server.NewDatabase] copies. migrate fills it, and must leave no connection open.
func (s *Server) SetTemplate(migrate func(address string) error) error {
	const name = "migrated"
	if err := s.Exec("CREATE DATABASE " + name); err != nil {
		return err
	}
	if err := migrate(s.Address(name)); err != nil {
		return err
	}
	s.template = " TEMPLATE " + name + " STRATEGY FILE_COPY"
	return nil
}

// NewDatabase makes a database, empty or a copy of the template, and returns its
// address.
func (s *Server) NewDatabase() (address string, err error) {
	name := fmt.Sprint("test", s.databases.Add(1))
	if err := s.Exec("CREATE DATABASE " + name + s.template); err != nil {
		return "", err
	}
	return s.Address(name), nil
}

// Exec executes a statement in the database "postgres".
func (s *Server) Exec(statement string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.Address("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing depends on it
	_, err = conn.Exec(ctx, statement)
	return err
}

// run runs one of PostgreSQL's programs. As root, it runs the program as the user nobody, because these programs refuse
// root.
func (s *Server) run(name string, args ...string) error {
	path, err := program(name)
	if err != nil {
		return fmt.Errorf("PostgreSQL is not installed (make deps installs it): %w", err)
	}
	out, err := unprivileged(path, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// unprivileged returns a command that runs as the user nobody if this process runs as root.
func unprivileged(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	if os.Geteuid() == 0 {
		cmd = exec.Command("setpriv", append([]string{"--reuid=nobody", "--regid=nogroup", "--clear-groups", path}, args...)...)
	}
	cmd.Dir = "/"
	return cmd
}

// program returns the path of one of PostgreSQL's programs.
func program(name string) (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return exec.LookPath(name)
	}
	return found[len(found)-1], nil
}
