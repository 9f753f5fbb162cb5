// Package process tells one process of this machine for good: by an id that no later process
// has, and that means nothing elsewhere.
package process

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// info is what the system says of a process: its parent, when it started in a unit of the
// system's own, the name of its program, and whether it runs on.
type info struct {
	parent int
	start  int64
	name   string
	lives  bool
}

// place returns what tells this machine since its start, and this space of process ids on it, from
// all others; empty where that cannot be told.
var place = sync.OnceValue(readPlace)

// maxWrappers is through how many processes the one is sought that began another.
const maxWrappers = 8

// Host returns the id of the process that had this one started, past shells and runners of
// packages; empty where it is gone or cannot be told.
func Host() string {
	at, err := read(os.Getpid())
	for range maxWrappers {
		pid, began := at.parent, at.start
		if err != nil || pid <= 1 {
			break
		}
		if at, err = read(pid); err == nil && at.lives && at.start <= began && !wraps(at.name, pid) {
			return id(pid, at.start)
		}
	}
	return ""
}

// wraps reports whether a process only runs others: a shell, or a runner of packages. Node is one
// if it runs a program of ours, or of npm.
func wraps(name string, pid int) bool {
	name = strings.TrimSuffix(strings.ToLower(name), ".exe")
	switch name {
	case "sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox", "cmd", "powershell", "pwsh", "env", "npx", "npm", "bunx", "pnpx":
		return true
	case "node", "bun", "mainthread": // as some versions of Node name their thread
		return slices.Contains([]string{"todo-mcp", "todo-mcp.js", "npx", "npx-cli.js", "npm-cli.js"}, filepath.Base(command(pid)))
	}
	return strings.HasPrefix(name, "npm exec")
}

// ID returns the id of a process that runs, by its number; empty for none.
func ID(pid int) string {
	p, err := read(pid)
	if err != nil || !p.lives {
		return ""
	}
	return id(pid, p.start)
}

func id(pid int, start int64) string {
	if place() == "" {
		return ""
	}
	return fmt.Sprintf("%s/%d/%d", place(), pid, start)
}

// IsAlive reports whether the process of an id runs; isKnown is false for one of another machine,
// of another space of process ids, or of before this machine started.
func IsAlive(id string) (is, isKnown bool) {
	of, rest, _ := strings.Cut(id, "/")
	number, start, _ := strings.Cut(rest, "/")
	pid, err := strconv.Atoi(number)
	began, wrong := strconv.ParseInt(start, 10, 64)
	if cmp.Or(err, wrong) != nil || of == "" || of != place() {
		return false, false
	}
	now, err := read(pid)
	return err == nil && now.lives && now.start == began, err == nil || os.IsNotExist(err)
}
