package run

import (
	"cmp"
	"context"
	"fmt"
	"io"
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
func greet(ctx context.Context, a *app.App, addr net.Addr, place store.Place, opens bool) error {
	listens := Scheme(a) + "://" + addr.String()
	url := cmp.Or(ownAddress(a, addr), listens)
	program, stays := calledBy(a)
	var b strings.Builder
	fmt.Fprintf(&b, `todo-mcp %[1]s

  Panel   %[2]s/
  MCP     %[2]s/mcp
  Lists   %[3]s

Add it to your clients with `+"`%[4]s install --http %[2]s/mcp`"+`, or by hand, most of them
in their mcp.json:

  {"mcpServers": {"todo": {"url": "%[2]s/mcp"}}}
`, a.Version, url, place.String(a.Getenv("HOME")), program)
	greetStdio(a, &b, place, program, stays)
	if url != listens {
		fmt.Fprintf(&b, "\nIt listens on %s", listens)
	}
	if signsIn(a) {
		b.WriteString("\nClients sign in; give those that cannot by themselves the header \"Authorization: Bearer TOKEN\".")
	}
	b.WriteString("\nStop with Ctrl-C.\n")
	if opens {
		go openPanel(ctx, a, url+"/")
	}
	return a.Say("%s", b.String())
}

// calledBy returns what a person types to call this program; stays is false for one that
// `go run` built for now.
func calledBy(a *app.App) (program string, stays bool) {
	m, err := install.ThisMachine(a.Getenv)
	if err != nil {
		return "todo-mcp", true
	}
	words, err := m.Command()
	if err != nil {
		return "go run .", false
	}
	return ownShell().Command(words...), true
}

// ownShell returns the shell into which a person here probably pastes a command.
func ownShell() install.Shell {
	if runtime.GOOS == "windows" {
		return install.PowerShell
	}
	return install.POSIX
}

// greetStdio says how clients start the program themselves, over stdio, where they see
// the same lists then.
func greetStdio(a *app.App, w io.Writer, place store.Place, program string, stays bool) {
	if place.File == "" || signsIn(a) {
		return
	}
	after := ""
	if !stays {
		program, after = "todo-mcp", " (after `make build`, with bin/todo-mcp on your PATH)"
	}
	command := program
	if a.Store != "" {
		command += " " + ownShell().Command("--store", a.Store)
	}
	fmt.Fprintf(w, "\nOr let each client start it, over stdio, on the same lists%s:\n\n  %s install, or the command %s\n",
		after, program, command)
}

// openPanel opens an address in the browser, for as long as that takes.
func openPanel(ctx context.Context, a *app.App, url string) {
	if err := watch.Browse(context.WithoutCancel(ctx), a.Getenv, url); err != nil {
		fmt.Fprintf(a.Stderr, "todo-mcp: no browser could be opened (%v): open %s yourself\n", err, url)
	}
}
