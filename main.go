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
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals) // before anybody sees that it stops: a second signal ends it at once
		stop()
	}()
	// Without this a write to a standard output that was closed would kill the
	// process. It returns an error instead, and the process still closes its
	// store.
	signal.Ignore(syscall.SIGPIPE)
	env := cli.Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Version: cmp.Or(version, cli.BuildVersion())}
	if err := cli.Run(ctx, os.Args, env); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(cli.ExitCode(err))
	}
}
