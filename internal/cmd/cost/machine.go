//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"github.com/todo-mcp/todo-mcp/internal/cmd/page"
	"os"
	"path/filepath"
	"strings"
)

// machine returns a line with the date, the machine, the versions of the other servers and the number of runs.
func machine(peers string, runs int) (string, error) {
	where, err := page.Machine()
	if err != nil {
		return "", err
	}
	var versions []string
	for _, name := range []string{"@modelcontextprotocol/server-memory", "backlog.md", "mcp-shrimp-task-manager", "task-master-ai", "node-linux-*"} {
		version, err := packageVersion(filepath.Join(peers, "node_modules", name, "package.json"))
		if err != nil {
			return "", err
		}
		versions = append(versions, strings.TrimSuffix(filepath.Base(name), "-linux-*")+" "+version)
	}
	return fmt.Sprintf("%s; %s; medians of %d.\n", where, strings.Join(versions, ", "), runs), nil
}

// packageVersion returns the version in the one package.json whose path matches a pattern.
func packageVersion(pattern string) (string, error) {
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("%d files %s", len(found), pattern)
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		return "", err
	}
	var p struct{ Version string }
	err = json.Unmarshal(data, &p)
	return p.Version, err
}
