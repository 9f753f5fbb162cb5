package run

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
)

// browse opens an address in the browser, in the background: it may take long.
func (a *service) browse(ctx context.Context, address string) {
	go func() {
		err := errors.New("no display")
		if command := browser(a.Getenv, address); command != nil {
			err = exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...).Run()
		}
		if err != nil {
			fmt.Fprintf(a.Stderr, "todo-mcp: no browser could be opened (%v): open %s yourself\n", err, address)
		}
	}()
}

// browser returns the command that opens an address in the browser; nil without a desktop,
// where xdg-open would start a browser in this terminal.
func browser(getenv func(string) string, address string) []string {
	switch {
	case runtime.GOOS == "darwin":
		return []string{"open", address}
	case runtime.GOOS == "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler", address}
	case getenv("DISPLAY")+getenv("WAYLAND_DISPLAY") != "":
		return []string{"xdg-open", address}
	}
	return nil
}
