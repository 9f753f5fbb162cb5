//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// machine returns a line that says when, where and with which versions it was
// measured.
func machine(peers string, runs int) (string, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return "", err
	}
	cores, err := fs.CPUInfo()
	if err != nil || len(cores) == 0 {
		return "", fmt.Errorf("read the processor: %w", err)
	}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
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
	return fmt.Sprintf("Measured on %s: %d cores of %s, Linux %s; %s; medians of %d.\n",
		time.Now().UTC().Format(time.DateOnly), len(cores), cores[0].ModelName, strings.TrimSpace(string(kernel)), strings.Join(versions, ", "), runs), nil
}

// packageVersion returns the version of an npm package by a pattern of its
// package.json.
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
