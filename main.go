// Command todo-mcp is an MCP server with the todo tools that models already
// know. It stores every list durably and shows lists live to people. See
// README.md.
package main

import (
	"context"
	"fmt"
	"io"
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
	if err := run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(cli.ExitCode(err)) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if version == "" {
		version = cli.BuildVersion()
	}
	return cli.Run(ctx, args, cli.Env{Stdin: stdin, Stdout: stdout, Stderr: stderr, Getenv: os.Getenv, Version: version})
}
