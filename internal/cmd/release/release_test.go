package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
)

func newRelease(t testing.TB) release {
	t.Helper()
	r := release{root: filepath.Join("..", "..", ".."), dist: t.TempDir(), version: "1.2.3", owner: "someone", image: "registry.example.com/someone/todo-mcp"}
	for _, p := range platforms() {
		r.build(t, p.goos, p.goarch+"_v1", p.program(), []byte("the program of "+p.name()))
	}
	r.build(t, "darwin", "all", "todo-mcp", []byte("the program of macOS"))
	return r
}

func (r release) build(t testing.TB, goos, goarch, name string, data []byte) {
	t.Helper()
	checktest.Check(t, r.write("todo-mcp_"+goos+"_"+goarch+"/"+name, data))
}

func (r release) mustMake(t testing.TB) release {
	t.Helper()
	checktest.Check(t, r.make(t.Context()))
	return r
}

func contents(t testing.TB, archive string) map[string]string {
	t.Helper()
	data := readFile(t, archive)
	out := make(map[string]string)
	add := func(name string, mode fs.FileMode, r io.Reader) {
		text := checktest.Must(io.ReadAll(r))(t)
		out[name+" "+mode.Perm().String()] = string(text)
	}
	if z, err := zip.NewReader(bytes.NewReader(data), int64(len(data))); err == nil {
		for _, f := range z.File {
			r := checktest.Must(f.Open())(t)
			add(f.Name, f.Mode(), r)
		}
		return out
	}
	z := checktest.Must(gzip.NewReader(bytes.NewReader(data)))(t)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		checktest.Check(t, err)
		add(h.Name, h.FileInfo().Mode(), r)
	}
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	return checktest.Must(os.ReadFile(path))(t)
}

func object(t testing.TB, text string) (out map[string]any) {
	t.Helper()
	checktest.Check(t, json.Unmarshal([]byte(text), &out))
	return out
}

// Each platform has a package with its binary and licences, which npm installs on that platform only. The package that
// people install requires all these packages in its own version.
func TestNpmPackages(t *testing.T) {
	r := newRelease(t).mustMake(t)
	main := contents(t, filepath.Join(r.dist, "npm", "todo-mcp-1.2.3.tgz"))
	manifest := object(t, main["package/package.json -rw-r--r--"])
	if main["package/bin/todo-mcp.js -rw-r--r--"] == "" || main["package/LICENSE -rw-r--r--"] == "" || len(main) != 4 {
		t.Errorf("the package has %d files", len(main))
	}
	if manifest["version"] != "1.2.3" || manifest["mcpName"] != "io.github.someone/todo-mcp" || manifest["scripts"] != nil {
		t.Errorf("its manifest is %v", manifest)
	}
	needs := manifest["optionalDependencies"].(map[string]any)
	for _, p := range platforms() {
		own := contents(t, filepath.Join(r.dist, "npm", "todo-mcp-"+p.name()+"-1.2.3.tgz"))
		manifest := object(t, own["package/package.json -rw-r--r--"])
		want := map[string]any{"name": "@todo-mcp/" + p.name(), "version": "1.2.3", "os": []any{p.system}, "cpu": []any{p.processor}, "scripts": nil}
		for key, value := range want {
			if diff := cmp.Diff(value, manifest[key]); diff != "" {
				t.Errorf("%s of %s (-want +got):\n%s", key, p.name(), diff)
			}
		}
		if own["package/bin/"+p.program()+" -rwxr-xr-x"] != "the program of "+p.name() {
			t.Errorf("%s has not its program", p.name())
		}
		if own["package/LICENSES/go/LICENSE.txt -rw-r--r--"] == "" {
			t.Errorf("%s has no licences", p.name())
		}
		if needs["@todo-mcp/"+p.name()] != "1.2.3" {
			t.Errorf("%s is not needed in its version: %v", p.name(), needs)
		}
		delete(needs, "@todo-mcp/"+p.name())
	}
	if len(needs) > 0 {
		t.Errorf("needed, and not made: %v", needs)
	}
}

// The registry's entry is valid by its schema and names the packages of this release, and the bundle with its checksum.
// The bundle has an executable program for each system that its manifest names.
func TestRegistryEntry(t *testing.T) {
	r := newRelease(t).mustMake(t)
	bundle := contents(t, filepath.Join(r.dist, "todo-mcp.mcpb"))
	for name, want := range map[string]string{
		"server/darwin/todo-mcp": "the program of macOS", "server/linux/todo-mcp": "the program of linux-x64", "server/win32/todo-mcp.exe": "the program of win32-x64",
	} {
		if bundle[name+" -rwxr-xr-x"] != want {
			t.Errorf("%s is not %s", name, want)
		}
	}
	manifest := bundle["manifest.json -rw-r--r--"]
	if object(t, manifest)["version"] != "1.2.3" {
		t.Errorf("the manifest is %s", manifest)
	}
	for _, m := range regexp.MustCompile(`"\$\{__dirname\}/([^"]*)"`).FindAllStringSubmatch(manifest, -1) {
		if bundle[m[1]+" -rwxr-xr-x"] == "" {
			t.Errorf("the manifest runs %s, which is not there", m[1])
		}
	}
	entry := object(t, string(readFile(t, filepath.Join(r.dist, "server.json"))))
	// server.schema.json is the file internal/validators/schemas/2025-12-11.json of the module
	// github.com/modelcontextprotocol/registry, without descriptions and examples.
	document := object(t, string(readFile(t, filepath.Join("testdata", "server.schema.json"))))
	address, _ := document["$id"].(string)
	compiler := jsonschema.NewCompiler()
	checktest.Check(t, compiler.AddResource(address, document))
	schema := checktest.Must(compiler.Compile(address))(t)
	if err := schema.Validate(entry); err != nil {
		t.Error(err)
	}
	if entry["$schema"] != address {
		t.Errorf("it names the schema %v, and is checked against %s", entry["$schema"], address)
	}
	sum := sha256.Sum256(readFile(t, filepath.Join(r.dist, "todo-mcp.mcpb")))
	var got []any
	for _, p := range entry["packages"].([]any) {
		p := p.(map[string]any)
		got = append(got, p["identifier"], p["version"], p["fileSha256"])
	}
	want := []any{
		"todo-mcp", "1.2.3", nil,
		"registry.example.com/someone/todo-mcp:1.2.3", nil, nil,
		"https://github.com/someone/todo-mcp/releases/download/v1.2.3/todo-mcp.mcpb", nil, hex.EncodeToString(sum[:]),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("its packages (-want +got):\n%s", diff)
	}
	delete(entry, "description")
	if err := schema.Validate(entry); err == nil {
		t.Error("the schema takes an entry without a description")
	}
}

// The plugins, as folders and as archives, and the chart have the version of the release; the chart has the release's
// image. A plugin has the files that its manifest names, and runs the server as todo-mcp. Each shell has a completion
// script.
func TestPluginsAndChart(t *testing.T) {
	r := newRelease(t).mustMake(t)
	for _, p := range []struct{ archive, folder, client, manifest, server string }{
		{"npm/todo-mcp-claude-code-1.2.3.tgz", "package/", "claude-code", ".claude-plugin/plugin.json", ".mcp.json"},
		{"npm/todo-mcp-codex-1.2.3.tgz", "package/", "codex", ".codex-plugin/plugin.json", ".mcp.json"},
		{"darwin.todo-mcp.tar.gz", "", "gemini", "gemini-extension.json", "gemini-extension.json"},
		{"linux.todo-mcp.tar.gz", "", "gemini", "gemini-extension.json", "gemini-extension.json"},
		{"win32.todo-mcp.tar.gz", "", "gemini", "gemini-extension.json", "gemini-extension.json"},
	} {
		has := contents(t, filepath.Join(r.dist, p.archive))
		text := func(name string) string { return has[p.folder+name+" -rw-r--r--"] }
		manifest := object(t, text(p.manifest))
		if manifest["version"] != "1.2.3" || manifest["name"] != "todo-mcp" || string(readFile(t, filepath.Join(r.dist, "share", p.client, p.manifest))) != text(p.manifest) {
			t.Errorf("the manifest in %s is %v", p.archive, manifest)
		}
		if diff := cmp.Diff(map[string]any{"todo": map[string]any{"command": "todo-mcp"}}, object(t, text(p.server))["mcpServers"]); diff != "" {
			t.Errorf("the server of %s (-want +got):\n%s", p.archive, diff)
		}
		for _, named := range []any{manifest["hooks"], manifest["mcpServers"], "./hooks/hooks.json", "./LICENSE", "./README.md"} {
			if name, isPath := named.(string); isPath && text(strings.TrimPrefix(name, "./")) == "" {
				t.Errorf("%s has no %s", p.archive, name)
			}
		}
	}
	chart := contents(t, filepath.Join(r.dist, "chart", "todo-mcp-1.2.3.tgz"))
	var about map[string]any
	if err := yaml.Unmarshal([]byte(chart["todo-mcp/Chart.yaml -rw-r--r--"]), &about); err != nil || about["version"] != "1.2.3" || about["appVersion"] != "1.2.3" {
		t.Errorf("the chart is %v (%v)", about, err)
	}
	for name, want := range map[string]string{"bash": "complete -o default", "zsh": "#compdef todo-mcp", "fish": "complete -c todo-mcp",
		"ps1": "Register-ArgumentCompleter"} {
		checktest.Has(t, name, string(readFile(t, filepath.Join(r.dist, "share", "completions", "todo-mcp."+name))), want)
	}
	var values struct{ Image struct{ Repository string } }
	if err := yaml.Unmarshal([]byte(chart["todo-mcp/values.yaml -rw-r--r--"]), &values); err != nil || values.Image.Repository != r.image {
		t.Errorf("its image is %v (%v)", values, err)
	}
}

// BAD-INPUT 102: A release with a malformed version, no owner or image, none or two programs of a platform → Refused;
// the error says which
func TestRefused(t *testing.T) {
	for name, spoil := range map[string]func(*release){
		"-version": func(r *release) { r.version = "v1.2.3" },
		"-image":   func(r *release) { r.image = "todo-mcp" },
		"-owner":   func(r *release) { r.owner = `"` },
		"there are 0 programs": func(r *release) {
			_ = os.RemoveAll(filepath.Join(r.dist, "todo-mcp_linux_arm64_v1"))
		},
		"there are 2 programs": func(r *release) { r.build(t, "linux", "amd64_v3", "todo-mcp", nil) },
	} {
		r := newRelease(t)
		spoil(&r)
		if err := r.make(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	v := values{versionMark: `1"`}
	if out, err := v.json([]byte(`{"a": "x0.0.0"}`)); err != nil || string(out) != "{\n  \"a\": \"x1\\\"\"\n}\n" {
		t.Errorf("%s (%v)", out, err)
	}
	for _, template := range []string{`{"a": "OWNER"}`, `{"a": `, `{"a": 1, "a": 2}`} {
		if out, err := v.json([]byte(template)); err == nil {
			t.Errorf("%s becomes %s", template, out)
		}
	}
}

// In the templates of the packages every version of this program is the mark 0.0.0, so that a release gets its version
// from the tag alone.
func TestVersionHasOnePlace(t *testing.T) {
	found := 0
	version := regexp.MustCompile(`(?m)^\s*"?(?:version|appVersion|@todo-mcp/[a-z0-9-]+)"?: *"?([^"\s]+)"?,?$`)
	root := filepath.Join("..", "..", "..")
	for _, folder := range []string{"packaging", ".claude-plugin"} {
		for path := range sums(t, filepath.Join(root, folder)) {
			if !slices.Contains([]string{".json", ".yaml"}, filepath.Ext(path)) {
				continue
			}
			for _, m := range version.FindAllStringSubmatch(string(readFile(t, filepath.Join(root, folder, path))), -1) {
				if found++; m[1] != versionMark {
					t.Errorf("%s has the version %s", path, m[1])
				}
			}
		}
	}
	if found < 15 {
		t.Errorf("%d versions: their form changed", found)
	}
}

func sums(t testing.TB, folder string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		sum := sha256.Sum256(readFile(t, filepath.Join(folder, name)))
		out[name] = hex.EncodeToString(sum[:])
		return nil
	})
	checktest.Check(t, err)
	return out
}
