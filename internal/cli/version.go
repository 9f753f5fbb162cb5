package cli

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"todo-mcp/internal/cli/app"
)

func version(_ context.Context, a *app.App, _ []string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "todo-mcp %s (%s, %s/%s)\n", a.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(&b, "MCP %s\n", strings.Join(mcp.ValidProtocolVersions, ", "))
	_, err := io.WriteString(a.Stdout, b.String())
	return err
}

// BuildVersion returns the version in the binary's build information, or
// "devel" when there is none. It is for a binary that was linked without a
// version.
func BuildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	return strings.TrimSuffix(strings.Trim(info.Main.Version, "()"), "+dirty")
}
