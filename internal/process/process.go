// Package process gives the processes of this machine ids that are never used again, here or on other machines.
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

// info is the system's information about a process.
type info struct {
	parent int    // the parent's process number
	start  int64  // start time, in a unit of the system
	name   string // the program's name
	lives  bool   // false for a zombie
}

// place returns the id of this machine, its boot and its namespace of process numbers; empty if unknown.
var place = sync.OnceValue(readPlace)

// maxWrappers is how many ancestors Host looks at.
const maxWrappers = 8

// Host returns the id of the nearest ancestor process that is no shell or package runner; empty if unknown.
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

// wraps reports whether a process is a shell or a package runner, such as Node if it runs npm or todo-mcp.js.
func wraps(name string, pid int) bool {
	name = strings.TrimSuffix(strings.ToLower(name), ".exe")
	switch name {
	case "sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox", "cmd", "powershell", "pwsh", "env", "npx", "npm", "bunx", "pnpx":
		return true
	case "node", "bun", "mainthread": // the name of Node's main thread in some versions
		return slices.Contains([]string{"todo-mcp", "todo-mcp.js", "npx", "npx-cli.js", "npm-cli.js"}, filepath.Base(command(pid)))
	}
	return strings.HasPrefix(name, "npm exec")
}

// ID returns the id of a running process by its number; empty if there is none.
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

// IsAlive reports whether an id's process runs. isKnown says that the id is valid, of this machine, boot and namespace.
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
