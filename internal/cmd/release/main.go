// Command release makes parts of a release that GoReleaser cannot make, from the binaries that it has built: the
// packages for npm, the bundle for desktop clients, the entry of the MCP Registry, the plugins of clients, the Helm
// chart and the shells' completions.
//
//	release [flags] DIST
//
// It is a hook of .goreleaser.yaml. It writes only below DIST: files that are published as they are, and in share/
// files for archives and packages. The same binaries and flags make the same bytes, on any machine.
//
// Its templates are in packaging/. In a template 0.0.0 stands for the version, and a word in capitals, such as OWNER,
// for another value of the release (see [values]).
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

// release has the settings of a release and its folders.
type release struct {
	// root is the folder of the repository. dist has the binaries and gets everything that is written.
	root, dist string
	// version has no v in front. Every file gets its version from here.
	version string
	// owner is the account on GitHub, image the name of the container image.
	owner, image string
}

// check returns an error that names a flag with a malformed value.
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

// make writes all parts of the release.
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

// platform is a system and processor for which the binary is built, with their names in Go and in Node.js.
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

// name returns the platform's part of an npm package's name, such as linux-x64.
func (p platform) name() string { return p.system + "-" + p.processor }

// program returns the name of the binary.
func (p platform) program() string {
	if p.goos == "windows" {
		return "todo-mcp.exe"
	}
	return "todo-mcp"
}
