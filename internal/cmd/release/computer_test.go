//go:build e2e || hosts

package main

import (
	"bytes"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
)

type registry struct {
	url string
	mu  sync.Mutex
	// packages has each package's document by name; archives has the name of each package whose archive was fetched.
	packages map[string]map[string]any
	archives []string
}

func newRegistry(t *testing.T, r release) *registry {
	t.Helper()
	reg := &registry{packages: make(map[string]map[string]any)}
	folder := filepath.Join(r.dist, "npm")
	mux := http.NewServeMux()
	mux.Handle("GET /archives/", http.StripPrefix("/archives/", reg.noting(http.FileServer(http.Dir(folder)))))
	mux.HandleFunc("GET /{name...}", func(w http.ResponseWriter, q *http.Request) {
		if document, ok := reg.packages[q.PathValue("name")]; ok {
			_ = json.NewEncoder(w).Encode(document)
			return
		}
		http.NotFound(w, q)
	})
	server := httptest.NewUnstartedServer(mux)
	reg.url = "http://" + server.Listener.Addr().String()
	archives := checktest.Must(os.ReadDir(folder))(t)
	for _, archive := range archives {
		reg.add(t, filepath.Join(folder, archive.Name()))
	}
	server.Start()
	t.Cleanup(server.Close)
	return reg
}

func (reg *registry) add(t *testing.T, archive string) {
	t.Helper()
	manifest := object(t, contents(t, archive)["package/package.json -rw-r--r--"])
	sum := sha512.Sum512(readFile(t, archive))
	manifest["dist"] = map[string]any{
		"tarball": reg.url + "/archives/" + filepath.Base(archive), "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
	}
	name, version := manifest["name"].(string), manifest["version"].(string)
	reg.packages[name] = map[string]any{"name": name, "dist-tags": map[string]any{"latest": version}, "versions": map[string]any{version: manifest}}
}

func (reg *registry) noting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		reg.mu.Lock()
		reg.archives = append(reg.archives, strings.TrimSuffix(path.Base(q.URL.Path), "-1.2.3.tgz"))
		reg.mu.Unlock()
		next.ServeHTTP(w, q)
	})
}

func (reg *registry) fetched() []string {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	return slices.Sorted(slices.Values(reg.archives))
}

type computer struct {
	t    *testing.T
	home string
	env  []string
}

func newComputer(t *testing.T, registry string) computer {
	home := t.TempDir()
	return computer{t, home, []string{
		// npm looks for installed programs below its prefix
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "npm_config_prefix=" + filepath.Join(home, "npm"), "npm_config_registry=" + registry, "npm_config_update_notifier=false", "npm_config_audit=false", "npm_config_fund=false",
	}}
}

func (c computer) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(c.t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = c.home, c.env
	// Cancel kills the command's children, too
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

func (c computer) run(args ...string) (stdout, stderr string, code int) {
	c.t.Helper()
	cmd := c.command(args...)
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	if err := cmd.Run(); cmd.ProcessState == nil {
		c.t.Fatal(err)
	}
	return out.String(), failed.String(), cmd.ProcessState.ExitCode()
}

func (c computer) succeeds(args ...string) {
	c.t.Helper()
	if stdout, stderr, code := c.run(args...); code != 0 {
		c.t.Fatalf("%v: %d: %s%s", args, code, stdout, stderr)
	}
}
