// Command licenses writes into a folder the licence texts of everything in the binary: of the modules that it links on
// each system that `make cross` builds for, and of Go.
//
// The texts come from the module cache and the Go distribution. Only modules that the cache lacks are downloaded.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: licenses MODULE-FOLDER INTO")
		os.Exit(2)
	}
	files, err := collect(context.Background(), os.Args[1])
	if err == nil {
		err = write(os.Args[2], files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

// systems returns the systems that the binary is built for.
func systems() []string { return []string{"linux", "darwin", "windows"} }

// legal matches the names of files that a licence may require to be passed on.
var legal = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents|unlicense)`)

// source is a module, or Go itself; root is its folder.
type source struct{ name, version, root string }

// collect returns the files to write, by their slash-separated paths in the folder INTO. root is the folder of this
// module, whose main package is the binary.
func collect(ctx context.Context, root string) (map[string][]byte, error) {
	folders := make(map[source]map[string]bool) // for each source, the folders of its linked packages
	for _, system := range systems() {
		out, err := run(ctx, root, system, "list", "-deps", "-f", "{{with .Module}}{{if not (or .Main .Replace)}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", ".")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(out) {
			f := strings.Split(strings.TrimSpace(line), "\t")
			if len(f) != 4 {
				continue // a package of the standard library or of this module, or of a replaced module
			}
			s := source{f[0], f[1], f[2]}
			if folders[s] == nil {
				folders[s] = make(map[string]bool)
			}
			folders[s][f[3]] = true
		}
	}
	goroot, err := run(ctx, root, "", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	goSource := source{name: "go", root: strings.TrimSpace(goroot)}
	folders[goSource] = map[string]bool{goSource.root: true}

	files := make(map[string][]byte)
	index := "# What the binary contains\n\nWritten by `make licenses`: the modules that todo-mcp links, and Go's runtime and standard library. Their licences are in the folders of their names.\n\n| module | version |\n|---|---|\n"
	for _, s := range slices.SortedFunc(maps.Keys(folders), func(a, b source) int { return strings.Compare(a.name, b.name) }) {
		found, err := s.texts(folders[s])
		if err != nil {
			return nil, err
		}
		maps.Copy(files, found)
		index += fmt.Sprintf("| %s | %s |\n", s.name, s.version)
	}
	files["README.md"] = []byte(index)
	return files, nil
}

// texts returns the legal files of a module: in its root, in the folders of the linked packages, and in folders
// between. It fails if there are none.
func (s source) texts(packages map[string]bool) (map[string][]byte, error) {
	files := make(map[string][]byte)
	read := make(map[string]bool)
	for dir := range packages {
		for ; !read[dir]; dir = filepath.Dir(dir) {
			read[dir] = true
			entries, err := os.ReadDir(dir)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			below, err := filepath.Rel(s.root, dir)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			for _, e := range entries {
				if e.IsDir() || !legal.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
					continue
				}
				data, err := os.ReadFile(filepath.Join(dir, e.Name()))
				if err != nil {
					return nil, fmt.Errorf("%s: %w", s.name, err)
				}
				// The name ends in .txt, so that no tool takes the text for a document of this repository.
				name := path.Join(s.name, filepath.ToSlash(below), strings.TrimSuffix(e.Name(), ".md"))
				files[strings.TrimSuffix(name, ".txt")+".txt"] = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
			}
			if dir == s.root {
				break
			}
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s %s has no licence in %s", s.name, s.version, s.root)
	}
	return files, nil
}

// run returns the output of a go command for a system; an empty system is this one.
func run(ctx context.Context, dir, system string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if system != "" {
		cmd.Env = append(cmd.Env, "GOOS="+system, "GOARCH=amd64")
	}
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, failed.Stderr)
	}
	return string(out), err
}

// write makes a folder hold these files and no others.
func write(into string, files map[string][]byte) error {
	if err := os.RemoveAll(into); err != nil {
		return err
	}
	for name, data := range files {
		file := filepath.Join(into, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
