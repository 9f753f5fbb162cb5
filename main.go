// Command todo-mcp gives any MCP client the todo tool its model already knows,
// keeps every list safe, and lets people watch it live. See README.md.
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

// version is set while linking a release.
var version = ""

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A reader that goes away is the end of the output, not of the process: an
	// answer that could not be sent must not undo an orderly end.
	signal.Ignore(syscall.SIGPIPE)
	if err := run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if version == "" {
		version = cli.BuildVersion()
	}
	return cli.Run(ctx, args, cli.Env{Stdin: stdin, Stdout: stdout, Stderr: stderr, Getenv: os.Getenv, Version: version})
}
