package run

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/install"
	"todo-mcp/internal/store"
	"todo-mcp/internal/watch"
)

// greet prints where the panel and the lists are and how to add the server to a client.
// If opens is true it opens the panel in the browser.
func (a *service) greet(ctx context.Context, addr net.Addr, place store.Place, opens bool) error {
	listens, signsIn := Scheme(a.App)+"://"+addr.String(), signsIn(a.App) || a.lan != nil
	url := cmp.Or(ownAddress(a.App, addr), listens)
	shell := install.POSIX // into which a person here probably pastes a command
	if runtime.GOOS == "windows" {
		shell = install.PowerShell
	}
	typed, program := calledBy(a.App, shell)
	var b strings.Builder
	fmt.Fprintf(&b, `todo-mcp %[1]s

  Panel   %[2]s/
  MCP     %[2]s/mcp
  Lists   %[3]s

Add it to your clients with `+"`%[4]s install --http %[2]s/mcp`"+`, or by hand, most of them
in their mcp.json:

  {"mcpServers": {"todo": {"url": "%[2]s/mcp"}}}
`, a.Version, url, place.String(a.Getenv("HOME")), typed)
	if place.File != "" && !signsIn {
		command := program
		if a.Store != "" {
			command += " " + shell.Command("--store", a.Store)
		}
		fmt.Fprintf(&b, "\nOr let each client start it, over stdio, on the same lists:\n\n  %s install, or the command %s\n", program, command)
	}
	if url != listens {
		fmt.Fprintf(&b, "\nIt listens on %s", listens)
	}
	if signsIn {
		b.WriteString("\nClients sign in; give those that cannot by themselves the header \"Authorization: Bearer TOKEN\".")
	}
	b.WriteString("\nStop with Ctrl-C.\n")
	if opens {
		go func() { // for as long as that takes
			if err := watch.Browse(context.WithoutCancel(ctx), a.Getenv, url+"/"); err != nil {
				fmt.Fprintf(a.Stderr, "todo-mcp: no browser could be opened (%v): open %s/ yourself\n", err, url)
			}
		}()
	}
	return a.Say("%s", b.String())
}

// calledBy returns what a person types to call this program, and what a client can start:
// not one that `go run` built for now.
func calledBy(a *app.App, shell install.Shell) (typed, program string) {
	m, err := install.ThisMachine(a.Getenv)
	if err != nil {
		return "todo-mcp", "todo-mcp"
	}
	words, err := m.Command(false)
	if err != nil {
		return "go run .", "todo-mcp"
	}
	return shell.Command(words...), shell.Command(words...)
}
