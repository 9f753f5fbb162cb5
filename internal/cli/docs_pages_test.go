package cli_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/pflag"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"go.yaml.in/yaml/v4"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/cli"
	"github.com/todo-mcp/todo-mcp/internal/install"
	"github.com/todo-mcp/todo-mcp/tools"
)

// repository is the root folder of the repository.
var repository = filepath.Join("..", "..")

type page struct {
	path   string // relative to the repository's root, with slashes
	source []byte
	root   ast.Node
}

// pages returns the Markdown files whose paths match accepts, ordered by path.
func pages(t *testing.T, match func(path string) bool) (out []page) {
	t.Helper()
	parser := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()
	err := fs.WalkDir(os.DirFS(repository), ".", func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() && (strings.HasPrefix(e.Name(), ".") && path != "." || e.Name() == "node_modules") {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, ".md") || !match(path) {
			return err
		}
		source, err := os.ReadFile(filepath.Join(repository, filepath.FromSlash(path)))
		out = append(out, page{path, source, parser.Parse(text.NewReader(source))})
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%d pages: %v", len(out), err)
	}
	return out
}

// guides returns the pages with commands for readers to type.
func guides(t *testing.T) []page {
	return pages(t, func(path string) bool {
		return path == "README.md" || path == "CONTRIBUTING.md" || isIn(path, "docs") ||
			strings.HasPrefix(path, "packaging/") && strings.HasSuffix(path, "/README.md")
	})
}

// isIn reports whether a file is directly in a folder, not in one below it.
func isIn(path, folder string) bool { return filepath.ToSlash(filepath.Dir(path)) == folder }

// nodes calls the function see with each node of type N in the page.
func nodes[N ast.Node](p page, see func(N)) {
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if of, ok := n.(N); ok && entering {
			see(of)
		}
		return ast.WalkContinue, nil
	})
}

type block struct{ language, code string }

func (p page) blocks() (out []block) {
	nodes(p, func(n *ast.FencedCodeBlock) {
		out = append(out, block{string(n.Language(p.source)), string(n.Lines().Value(p.source))})
	})
	return out
}

func (p page) spans() (out []string) {
	nodes(p, func(n *ast.CodeSpan) {
		out = append(out, strings.ReplaceAll(string(n.Text(p.source)), "\n", " ")) //nolint:staticcheck // a span has nothing but text
	})
	return out
}

// anchors returns the names of the page's headings, as GitHub makes them.
func (p page) anchors() (out []string) {
	drop := regexp.MustCompile(`[^\p{L}\p{N}_-]`)
	nodes(p, func(n *ast.Heading) {
		name := strings.ReplaceAll(strings.ToLower(string(n.Text(p.source))), " ", "-") //nolint:staticcheck // what stands in a heading is text and code
		name = drop.ReplaceAllString(name, "")
		unique := name
		for n := 1; slices.Contains(out, unique); n++ {
			unique = fmt.Sprintf("%s-%d", name, n)
		}
		out = append(out, unique)
	})
	return out
}

func (p page) links() (out []string) {
	nodes(p, func(n *ast.Link) { out = append(out, string(n.Destination)) })
	nodes(p, func(n *ast.Image) { out = append(out, string(n.Destination)) })
	return out
}

// Every link of a page leads to an existing file or heading of the repository, to another site over TLS, or into VS
// Code or Cursor; and docs/README.md links to every page of docs.
func TestDocsLinks(t *testing.T) {
	all := pages(t, func(path string) bool {
		return !strings.Contains(path, "/testdata/") && !strings.HasPrefix(path, "prompts/")
	})
	linked := map[string]bool{}
	for _, p := range all {
		for _, link := range p.links() {
			target, err := p.resolve(link, all)
			if err != nil {
				t.Errorf("%s: %s: %v", p.path, link, err)
			}
			linked[p.path+" → "+target] = true
		}
	}
	for _, p := range all {
		if isIn(p.path, "docs") && p.path != "docs/README.md" && !linked["docs/README.md → "+p.path] {
			t.Errorf("docs/README.md does not lead to %s", p.path)
		}
	}
}

// resolve returns the file to which a link leads; empty for another site.
func (p page) resolve(link string, all []page) (path string, err error) {
	u, err := url.Parse(link)
	if err != nil {
		return "", err
	}
	if u.IsAbs() {
		if u.Scheme != "https" && u.Scheme != "vscode" && u.Scheme != "cursor" {
			return "", fmt.Errorf("the scheme %s", u.Scheme)
		}
		return "", nil
	}
	path = p.path
	if u.Path != "" {
		path = filepath.ToSlash(filepath.Join(filepath.Dir(p.path), u.Path))
	}
	if _, err := os.Stat(filepath.Join(repository, path)); err != nil || strings.HasPrefix(path, "..") {
		return "", errors.New("there is no such file")
	}
	i := slices.IndexFunc(all, func(p page) bool { return p.path == path })
	if u.Fragment != "" && (i < 0 || !slices.Contains(all[i].anchors(), u.Fragment)) {
		return "", errors.New("there is no such heading")
	}
	return path, nil
}

// Every page of docs begins by saying what its reader can do afterwards. README has at most 80 lines of 100 columns
// above "## More"; they state how many clients exist and which tools set dependencies. Its JSON is in docs/clients.md too.
func TestDocsBeginForTheirReader(t *testing.T) {
	for _, p := range guides(t) {
		if _, body, _ := strings.Cut(string(p.source), "\n\n"); isIn(p.path, "docs") && !strings.HasPrefix(body, "After this page you can ") {
			t.Errorf("%s does not begin with what its reader can do", p.path)
		}
		if p.path != "README.md" {
			continue
		}
		first, _, found := strings.Cut(string(p.source), "\n## More\n")
		lines := 0
		for line := range strings.Lines(first) {
			lines += 1 + (len([]rune(line))-2)/100
		}
		if !found || lines > 80 {
			t.Errorf("README has %d lines before its details", lines)
		}
		checktest.Has(t, "README does not say", first, fmt.Sprintf("[%d clients]", len(install.Clients())))
		var setting []string
		for _, tool := range tools.New(tools.Defaults()) {
			if bytes.Contains(tool.InputSchema(), []byte("lockedBy")) {
				setting = append(setting, "`"+tool.Name+"`")
			}
		}
		checktest.Has(t, "README does not say that", first, "only its tools "+strings.Join(setting, " and ")+" set dependencies")
		clients := checktest.Must(os.ReadFile(filepath.Join(repository, "docs", "clients.md")))(t)
		for _, b := range p.blocks() {
			if entry := strings.NewReplacer(" ", "", "\n", "").Replace(b.code); b.language == "json" && !bytes.Contains(clients, []byte("`"+entry+"`")) {
				t.Errorf("no client of docs/clients.md is written %s", entry)
			}
		}
	}
}

// Every code block has a fence that names its language. A block of JSON, TOML or YAML can be parsed, and a block of
// text has no command: only blocks of sh are run.
func TestDocsBlocks(t *testing.T) {
	readers := map[string]func([]byte, any) error{
		"json": json.Unmarshal,
		"toml": toml.Unmarshal,
		"yaml": func(data []byte, v any) error { return yaml.Unmarshal(data, v) },
		"text": func(data []byte, _ any) error {
			if command := regexp.MustCompile(`(?m)^\s*(todo-mcp|npx|make|go|docker|sudo) .*`).Find(data); command != nil {
				return fmt.Errorf("in a block of text stands the command %q", command)
			}
			return nil
		},
	}
	for _, p := range guides(t) {
		nodes(p, func(n *ast.CodeBlock) {
			t.Errorf("%s: put a fence and its language around\n%s", p.path, n.Lines().Value(p.source))
		})
		for _, b := range p.blocks() {
			read, known := readers[b.language]
			if !known && !slices.Contains([]string{"sh", "sql", "caddyfile", "html", "jsx", "dart"}, b.language) { // run elsewhere: sh, sql (internal/faults), caddyfile (packaging), the rest (server/api)
				t.Errorf("%s: a block in %q, which no test reads:\n%s", p.path, b.language, b.code)
			}
			var v any
			if known && read([]byte(b.code), &v) != nil {
				t.Errorf("%s: %v:\n%s", p.path, read([]byte(b.code), &v), b.code)
			}
		}
	}
}

// Commands and flags that a page names in its text exist, and so do the commands in configuration for hosts.
func TestDocsNameCommandsThatExist(t *testing.T) {
	ours := flags(t)
	others := map[string]string{"--resume": "Claude Code", "--omit=optional": "npm"} // flags of other programs
	quoted := regexp.MustCompile(`["(]todo-mcp ([^"')\n]+)`)
	found := 0
	for _, p := range guides(t) {
		code := p.spans()
		for _, b := range p.blocks() {
			for _, m := range quoted.FindAllStringSubmatch(b.code, -1) {
				code = append(code, "todo-mcp "+m[1])
			}
		}
		for _, c := range code {
			for _, m := range quoted.FindAllStringSubmatch(c, -1) {
				c = "todo-mcp " + m[1]
			}
			var err error
			if program, _, _ := strings.Cut(c, " "); slices.Contains([]string{"todo-mcp", "make", "go"}, program) {
				found++
				err = checkLine(c)
			} else if strings.HasPrefix(c, "--") && others[program] == "" {
				if name, _, _ := strings.Cut(strings.TrimPrefix(program, "--"), "="); !ours[name] {
					err = errors.New("no command has this flag")
				}
			}
			if err != nil {
				t.Errorf("%s: `%s`: %v", p.path, c, err)
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d commands were found", found)
	}
}

func flags(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{"help": true, "version": true}
	for _, c := range cli.Tree(cli.Env{Getenv: os.Getenv}).Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) { names[f.Name] = true })
	}
	return names
}

// checkLine checks the commands of a line as far as possible without running them.
func checkLine(line string) error {
	plain := strings.NewReplacer("[", `\[`, "#{", `\#{`).Replace(line) // [LIST] and tmux's #{ are no shell syntax
	file, err := syntax.NewParser().Parse(strings.NewReader(plain), "")
	if err != nil {
		return err
	}
	var errs []error
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			args, err := expand.Fields(&expand.Config{Env: expand.FuncEnviron(os.Getenv)}, call.Args...)
			if err == nil && len(args) > 0 {
				err = check(args)
			}
			errs = append(errs, err)
		}
		return true
	})
	return errors.Join(errs...)
}

// check checks a command that is not run. Names from this repository must exist: targets of the Makefile, packages for
// Go, and files in packaging. If the command starts todo-mcp, as in `docker run`, its arguments must be valid.
func check(args []string) error {
	rest := args[1:]
	switch args[0] {
	case "make":
		return checkTargets(rest)
	case "go":
		if len(rest) > 1 && rest[0] == "run" && rest[1] == "." {
			return checkArguments(rest[2:])
		}
	}
	folder := repository
	if at := slices.Index(args, "-C"); args[0] == "go" && at > 0 && at+1 < len(args) {
		folder = filepath.Join(repository, args[at+1])
	}
	for i, arg := range args {
		if strings.HasPrefix(arg, "packaging/") || args[0] == "go" && strings.HasPrefix(arg, "./") {
			if _, err := os.Stat(filepath.Join(folder, strings.TrimSuffix(arg, "/..."))); err != nil {
				return err
			}
		}
		if filepath.Base(arg) == "todo-mcp" && (i == 0 || slices.Contains(args[:i], "run")) { // todo-mcp or its image
			return checkArguments(args[i+1:])
		}
	}
	return nil
}

func checkTargets(args []string) error {
	makefile, err := os.ReadFile(filepath.Join(repository, "Makefile"))
	for _, arg := range args {
		if !strings.Contains(arg, "=") && !regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(arg)+`:`).Match(makefile) {
			return fmt.Errorf("the Makefile has no %s (%w)", arg, err)
		}
	}
	return nil
}

// checkArguments checks the command and the flags in arguments of todo-mcp without running it.
func checkArguments(args []string) error {
	root := cli.Tree(cli.Env{Getenv: os.Getenv})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	if len(args) == 0 || slices.Contains([]string{"--help", "--version"}, args[0]) {
		return nil
	}
	if strings.HasPrefix(args[0], "-") {
		args = append([]string{"stdio"}, args...) // the default command
	}
	command, rest, err := root.Find(args)
	if err != nil || command == root {
		return cmp.Or(err, fmt.Errorf("there is no command %s", args[0]))
	}
	if command.Name() == "help" && len(rest) > 0 && rest[0] != strings.ToUpper(rest[0]) {
		return checkArguments(rest)
	}
	if err := command.ParseFlags(rest); !errors.Is(err, pflag.ErrHelp) {
		return err
	}
	return nil
}
