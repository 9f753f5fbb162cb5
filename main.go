// Command todo-mcp is an MCP server with the todo tools that models already know. See README.md.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/todo-mcp/todo-mcp/internal/cli"
)

// version is set by the linker (-X main.version); it is empty in a plain go build.
var version = ""

func main() {
	// With SIGPIPE ignored, a write to a closed standard output returns an error, so the store is still closed.
	signal.Ignore(syscall.SIGPIPE)
	if version == "" {
		version = cli.BuildVersion()
	}
	env := cli.Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Version: version, Signals: untilSignal}
	if err := cli.Run(context.Background(), os.Args, env); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(cli.ExitCode(err))
	}
}

// untilSignal returns a context that ends at the first signal to stop. A second signal kills the process.
func untilSignal(parent context.Context) context.Context {
	ctx, stop := context.WithCancel(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // under nohup, SIGHUP is ignored and stays so
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		<-signals
		signal.Stop(signals) // before the context ends, so that the next signal always kills
		stop()
	}()
	return ctx
}
