package postgrestest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Pooler is a pgbouncer process in front of a server.
type Pooler struct {
	dir string
	cmd *exec.Cmd
}

// NewPooler starts a pooler. The settings have the form name=value, as in pgbouncer.ini. The caller closes it.
func NewPooler(s *Server, settings ...string) (*Pooler, error) {
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		return nil, fmt.Errorf("pgbouncer is not installed (make deps installs it): %w", err)
	}
	dir, err := os.MkdirTemp("", "todo-pooler")
	if err != nil {
		return nil, err
	}
	p := &Pooler{dir: dir}
	file := filepath.Join(dir, "pgbouncer.ini")
	lines := append([]string{"[databases]", "* = host=" + s.dir + " user=todo", "[pgbouncer]", "listen_port=6432", "unix_socket_dir=" + dir,
		"auth_type=any", "logfile=" + filepath.Join(dir, "log")}, settings...)
	if err = os.Chmod(dir, 0o777); err == nil { //nolint:gosec // another user's server has its socket in it
		err = os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644) //nolint:gosec // it reads it
	}
	if err == nil {
		p.cmd = unprivileged(path, "--quiet", file)
		err = p.cmd.Start()
	}
	for deadline := time.Now().Add(20 * time.Second); err == nil; {
		conn, dialled := net.Dial("unix", filepath.Join(dir, ".s.PGSQL.6432"))
		if dialled == nil {
			return p, conn.Close()
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			err = fmt.Errorf("pgbouncer: %w\n%s", dialled, log)
		}
	}
	p.Close()
	return nil, err
}

// Through returns an address that leads, through the pooler, to the database at address.
func (p *Pooler) Through(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	return "postgres://todo@" + u.Path + "?port=6432&host=" + url.QueryEscape(p.dir), nil
}

// Close ends the pooler and its connections.
func (p *Pooler) Close() {
	if p.cmd != nil && p.cmd.Process != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
	_ = os.RemoveAll(p.dir)
}
