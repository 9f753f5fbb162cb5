package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

// Any config file and secret give settings, or an error that is safe to print and does not show the secret.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{"# none\n\nmax-items = 5\n", "max-items=-1", "addr = 0.0.0.0:1", "keep-revisions = short", "client-secret = a b", "x = \x1b[2J", "tools = all,\xff", "=", "structured = auto\r\nstructured = never", "store = file:\x00"} {
		f.Add([]byte(text), "secret-8d0c41")
	}
	path := filepath.Join(f.TempDir(), "config")
	f.Fuzz(func(t *testing.T, text []byte, secret string) {
		secret = "8d0c41" + secret // never empty, and too rare to be in an error by chance
		checktest.Check(t, os.WriteFile(path, text, 0o600))
		environment := map[string]string{"TODO_CONFIG": path, "TODO_CLIENT_SECRET": secret}
		err := app.NewSettings().Collect(app.Env{Getenv: func(name string) string { return environment[name] }})
		if err != nil {
			programtest.CheckPrintable(t, err)
			if strings.Contains(err.Error(), secret) {
				t.Fatalf("a secret is shown: %v", err)
			}
		}
	})
}
