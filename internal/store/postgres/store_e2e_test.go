//go:build e2e

package postgres

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

// cluster is a private PostgreSQL server in a temporary folder.
type cluster struct {
	dir string
	err error
}

var (
	private   cluster
	startOnce sync.Once
	databases atomic.Int64
)

func TestMain(m *testing.M) {
	code := m.Run()
	private.stop()
	os.Exit(code)
}

// binary returns the path of one of PostgreSQL's programs.
func binary(name string) (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return exec.LookPath(name)
	}
	return found[len(found)-1], nil
}

// run runs one of PostgreSQL's programs, which refuse to run as root, as the user
// nobody then.
func (c *cluster) run(name string, args ...string) error {
	path, err := binary(name)
	if err != nil {
		return fmt.Errorf("PostgreSQL is not installed (make deps installs it): %w", err)
	}
	cmd := exec.Command(path, args...)
	if os.Geteuid() == 0 {
		cmd = exec.Command("setpriv", append([]string{"--reuid=nobody", "--regid=nogroup", "--clear-groups", path}, args...)...)
	}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

func (c *cluster) start() {
	dir, err := os.MkdirTemp("", "todo-postgres")
	if c.dir, c.err = dir, err; err != nil {
		return
	}
	c.err = os.Chmod(dir, 0o777) //nolint:gosec // another user's server has its folder in it
	data := filepath.Join(dir, "data")
	for _, step := range [][]string{
		{"initdb", "-D", data, "-U", "todo", "-A", "trust", "-E", "UTF8", "--locale=C"},
		{"pg_ctl", "-D", data, "-w", "-t", "60", "-l", filepath.Join(dir, "log"), "-o", "-c listen_addresses='' -c fsync=off -k " + dir, "start"},
	} {
		if c.err == nil {
			c.err = c.run(step[0], step[1:]...)
		}
	}
	if c.err == nil {
		c.err = c.makeTemplate()
	}
}

// makeTemplate makes the database that others are copies of: migrating takes
// longer than copying.
func (c *cluster) makeTemplate() error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, c.address("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "CREATE DATABASE migrated"); err != nil {
		return err
	}
	s, err := Open(ctx, c.address("migrated"))
	if err != nil {
		return err
	}
	return s.Close()
}

func (c *cluster) stop() {
	if c.dir != "" {
		_ = c.run("pg_ctl", "-D", filepath.Join(c.dir, "data"), "-m", "immediate", "stop")
		_ = os.RemoveAll(c.dir)
	}
}

// address returns the address of a database in the cluster.
func (c *cluster) address(database string) string {
	return fmt.Sprintf("host=%s user=todo dbname=%s", c.dir, database)
}

// newDatabase makes a database without lists and returns its address.
func newDatabase(t testing.TB) string {
	t.Helper()
	startOnce.Do(private.start)
	if private.err != nil {
		t.Fatal(private.err)
	}
	name := fmt.Sprint("test", databases.Add(1))
	conn, err := pgx.Connect(context.Background(), private.address("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), "CREATE DATABASE "+name+" TEMPLATE migrated STRATEGY FILE_COPY"); err != nil {
		t.Fatal(err)
	}
	return private.address(name)
}

func open(t testing.TB, url string, opts ...Option) *Store {
	t.Helper()
	s, err := Open(context.Background(), url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t testing.TB) todo.Store { return open(t, newDatabase(t)) })
}

func TestKeep(t *testing.T) {
	storetest.RunKeep(t, func(t testing.TB, keep todo.Keep) todo.Store { return open(t, newDatabase(t), WithKeep(keep)) })
}

func TestDurable(t *testing.T) {
	url := ""
	storetest.RunDurable(t, func(string) (todo.Store, error) {
		if url == "" {
			url = newDatabase(t)
		}
		return Open(t.Context(), url)
	})
}

// An address that cannot be read is refused without showing what may be a
// password, and a database that cannot be reached soon.
func TestOpenRefusals(t *testing.T) {
	for _, url := range []string{"postgres://user:secret@host:port/x", "postgres://user:secret@127.0.0.1:1/x?connect_timeout=1"} {
		begun := time.Now()
		_, err := Open(t.Context(), url)
		if err == nil || strings.Contains(err.Error(), "secret") || time.Since(begun) > openTimeout+time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	}
}
