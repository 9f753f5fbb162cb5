// Command todo-mcp is an MCP server with the todo tools that models already
// know. It stores every list durably and shows lists live to people. See
// README.md.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"todo-mcp/internal/cli"
)

// version is set by the linker in a release, and empty otherwise.
var version = ""

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends the process as it does any other
	// Without this a write to a standard output that was closed would kill the
	// process. It returns an error instead, and the process still closes its
	// store.
	signal.Ignore(syscall.SIGPIPE)
	env := cli.Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Version: cmp.Or(version, cli.BuildVersion())}
	if err := cli.Run(ctx, os.Args, env); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(cli.ExitCode(err)) //nolint:gocritic // stop was called
	}
}
