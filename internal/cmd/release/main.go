// Command release makes, of the binaries that GoReleaser has built, what it has no room
// for: the packages for npm, the bundle for desktop clients, the entry of the MCP
// Registry, the plugins of clients, the Helm chart and the shells' completions.
//
//	release [flags] DIST
//
// It is a hook of .goreleaser.yaml. All that it writes is below DIST: what is
// published as it is, and in share/ what goes into archives and packages. The same
// binaries and flags make the same bytes, on any machine.
//
// What it writes is made of templates in packaging/. They stand for the version by
// 0.0.0 and for what else a release decides by a word in capitals (see [values]).
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
)

func main() {
	var r release
	flag.StringVar(&r.root, "root", ".", "`folder` of the repository")
	flag.StringVar(&r.version, "version", "", "version of the release, without a v")
	flag.StringVar(&r.owner, "owner", "", "`account` on GitHub that releases")
	flag.StringVar(&r.image, "image", "", "`name` of the container image, with its registry and without a tag")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	r.dist = flag.Arg(0)
	if err := r.make(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is what is released, and where.
type release struct {
	// root is the folder of the repository, dist the folder of the binaries, where all is
	// written.
	root, dist string
	// version has no v in front. It is the only place from which any file has one.
	version string
	// owner is the account on GitHub, image the name of the container image.
	owner, image string
}

// check returns an error that says what is wrong with the flags.
func (r release) check() error {
	for _, c := range []struct{ flag, value, form, example string }{
		{"version", r.version, `^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`, "1.2.3"},
		{"owner", r.owner, `^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`, "someone"},
		{"image", r.image, `^[a-z0-9]([a-z0-9./:-]*[a-z0-9])?/todo-mcp$`, "registry.example.com/someone/todo-mcp"},
	} {
		if !regexp.MustCompile(c.form).MatchString(c.value) {
			return fmt.Errorf("-%s %q: give one such as %s", c.flag, c.value, c.example)
		}
	}
	return nil
}

// make makes everything.
func (r release) make(ctx context.Context) error {
	if err := r.check(); err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{r.completions, r.plugins, r.chart, r.npm, r.bundle} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// platform is one that the binary is built for, by the names of Go and of Node.js.
type platform struct{ goos, goarch, system, processor string }

func platforms() []platform {
	return []platform{
		{"darwin", "amd64", "darwin", "x64"},
		{"darwin", "arm64", "darwin", "arm64"},
		{"linux", "amd64", "linux", "x64"},
		{"linux", "arm64", "linux", "arm64"},
		{"windows", "amd64", "win32", "x64"},
		{"windows", "arm64", "win32", "arm64"},
	}
}

// name returns the platform's name in the names of npm's packages.
func (p platform) name() string { return p.system + "-" + p.processor }

// program returns the name of the binary.
func (p platform) program() string {
	if p.goos == "windows" {
		return "todo-mcp.exe"
	}
	return "todo-mcp"
}
