package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/cli"
)

// completions writes to share/completions the scripts with which shells complete command lines.
func (r release) completions(ctx context.Context) error {
	for shell, suffix := range map[string]string{"bash": "bash", "zsh": "zsh", "fish": "fish", "powershell": "ps1"} {
		var out bytes.Buffer
		env := cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}
		if err := cli.Run(ctx, []string{"todo-mcp", "completion", shell}, env); err != nil {
			return fmt.Errorf("complete in %s: %w", shell, err)
		}
		if err := r.write("share/completions/todo-mcp."+suffix, out.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// plugins writes the plugins of Claude Code and Codex and the extension of Gemini CLI: as folders in share/, and in the
// form that their clients install. Each plugin is a package for npm, which the repository's marketplaces name. The
// extension is one archive for each system.
func (r release) plugins(context.Context) error {
	for _, client := range []string{"claude-code", "codex", "gemini"} {
		files, err := r.template("packaging/"+client, "", nil)
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := r.write(path.Join("share", client, f.name), f.data); err != nil {
				return err
			}
		}
		license, err := r.license(false)
		if err != nil {
			return err
		}
		files = append(files, license...)
		if client == "gemini" {
			if err := r.extension(files); err != nil {
				return err
			}
			continue
		}
		manifest, err := r.template("packaging/npm/"+client+"/package.json", "package.json", nil)
		if err != nil {
			return err
		}
		if err := r.npmPackage(client, append(files, manifest...)); err != nil {
			return err
		}
	}
	return nil
}

// extension writes an archive of Gemini CLI's extension for each system, all with the same content: Gemini CLI takes
// the file of a release whose name begins with the name of its system.
func (r release) extension(files []file) error {
	archive, err := tarball("", files)
	for _, p := range platforms() {
		if err == nil {
			err = r.write(p.system+".todo-mcp.tar.gz", archive)
		}
	}
	return err
}

// chart writes the Helm chart, as `helm package` does.
func (r release) chart(context.Context) error {
	files, err := r.read("packaging/helm/todo-mcp", "")
	if err != nil {
		return err
	}
	for i, f := range files {
		switch f.name {
		case "Chart.yaml":
			var text string
			text, err = r.values(nil).text(string(f.data))
			files[i].data = []byte(text)
		case "values.yaml":
			files[i].data, err = r.withImage(f.data)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	archive, err := tarball("todo-mcp", files)
	if err != nil {
		return err
	}
	return r.write("chart/todo-mcp-"+r.version+".tgz", archive)
}

var imageLine = regexp.MustCompile(`(?m)^  repository: .*$`)

// withImage returns the chart's values with the release's image.
func (r release) withImage(values []byte) ([]byte, error) {
	if len(imageLine.FindAll(values, 2)) != 1 {
		return nil, errors.New("there is not one line for the image's repository")
	}
	return imageLine.ReplaceAllLiteral(values, []byte("  repository: "+r.image)), nil
}

// npm writes the packages for npm: for each platform one with its binary, and the package that people install, which
// has no binary and runs that of the platform's package.
func (r release) npm(context.Context) error {
	for _, p := range platforms() {
		files, err := r.template("packaging/npm/platform", "", values{platformMark: p.name(), systemMark: p.system, processorMark: p.processor})
		if err != nil {
			return err
		}
		binary, err := r.binary(p.goos, p.goarch, "bin/"+p.program())
		if err != nil {
			return err
		}
		license, err := r.license(true)
		if err != nil {
			return err
		}
		if err := r.npmPackage(p.name(), slices.Concat(files, license, []file{binary})); err != nil {
			return err
		}
	}
	var files []file
	for _, name := range []string{"package.json", "README.md", "bin/todo-mcp.js"} {
		some, err := r.template("packaging/npm/"+name, name, nil)
		if err != nil {
			return err
		}
		files = append(files, some...)
	}
	license, err := r.license(false)
	if err != nil {
		return err
	}
	return r.npmPackage("", append(files, license...))
}

// npmPackage writes a package as `npm pack` does. The package with an empty name is todo-mcp, any other @todo-mcp/NAME.
func (r release) npmPackage(name string, files []file) error {
	archive, err := tarball("package", files)
	if err != nil {
		return err
	}
	return r.write("npm/"+strings.TrimSuffix("todo-mcp-"+name, "-")+"-"+r.version+".tgz", archive)
}

// bundle writes the bundle for desktop clients, and the MCP Registry's entry with the bundle's sum. A bundle has one
// program for each system, whatever the processor: that of macOS is universal, Windows on arm64 runs the program for
// x64, and clients on Linux are on x64.
func (r release) bundle(context.Context) error {
	files, err := r.template("packaging/mcpb", "", nil)
	if err != nil {
		return err
	}
	license, err := r.license(true)
	if err != nil {
		return err
	}
	files = append(files, license...)
	for _, b := range [][3]string{
		{"darwin", "all", "server/darwin/todo-mcp"}, {"linux", "amd64", "server/linux/todo-mcp"}, {"windows", "amd64", "server/win32/todo-mcp.exe"},
	} {
		binary, err := r.binary(b[0], b[1], b[2])
		if err != nil {
			return err
		}
		files = append(files, binary)
	}
	archive, err := zipped(files)
	if err != nil {
		return err
	}
	if err := r.write("todo-mcp.mcpb", archive); err != nil {
		return err
	}
	sum := sha256.Sum256(archive)
	entry, err := r.template("packaging/mcp-registry", "", values{sumMark(): hex.EncodeToString(sum[:])})
	if err != nil {
		return err
	}
	return r.write("server.json", entry[0].data)
}
