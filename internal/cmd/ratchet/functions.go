package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/coverage"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Each call is made [warm] times uncounted and then [counted] times counted. A function counts only if it ran in every
// counted call, so that functions of the program's own timers do not count.
const (
	warm, counted = 4, 6
	made          = warm + counted
)

// function is a named function or method of the program, with the function literals in it.
type function struct{ pkg, name string }

// countCalls returns the functions that run in each call, by the call's name. It works only in a program that was built
// to count its functions (`make functions`).
func countCalls(root string) (passed map[string][]function, err error) {
	s, err := serve()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	passed = make(map[string][]function)
	p := &program{root: root, files: make(map[string][]extent)}
	for _, c := range s.calls() {
		every, err := p.passes(c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		passed[c.name] = slices.SortedFunc(maps.Keys(every), func(a, b function) int {
			return strings.Compare(a.pkg+" "+a.name, b.pkg+" "+b.name)
		})
	}
	return passed, nil
}

// passes makes a call [made] times, and returns the functions that ran in every counted call.
func (p *program) passes(c call) (every map[function]bool, err error) {
	for n := range made {
		if c.before != nil {
			err = c.before(n)
		}
		if err == nil {
			err = rest()
		}
		if err == nil {
			err = coverage.ClearCounters()
		}
		if err == nil {
			err = c.do(n)
		}
		if err == nil {
			err = rest()
		}
		if err != nil {
			return nil, err
		}
		if n < warm {
			continue
		}
		now, err := p.hit()
		if err != nil {
			return nil, err
		}
		if every == nil {
			every = now
		}
		maps.DeleteFunc(every, func(f function, _ bool) bool { return !now[f] })
	}
	return every, nil
}

// rest waits until the written counters have not grown for ten milliseconds. They grow when a function runs for the
// first time since they were cleared.
func rest() error {
	before := 0
	for range 100 {
		var counters bytes.Buffer
		if err := coverage.WriteCounters(&counters); err != nil {
			return err
		}
		if counters.Len() == before {
			return nil
		}
		before = counters.Len()
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("the program does not come to rest")
}

// program finds the function at a line of the code.
type program struct {
	root  string
	files map[string][]extent // by the path of a file
}

// extent is a function and the lines of its file that it takes.
type extent struct {
	function
	first, last int // lines
}

// hit returns the functions that ran since the counters were cleared.
func (p *program) hit() (map[function]bool, error) {
	folder, err := os.MkdirTemp("", "ratchet")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if err := errors.Join(coverage.WriteMetaDir(folder), coverage.WriteCountersDir(folder)); err != nil {
		return nil, err
	}
	profile := filepath.Join(folder, "profile")
	if said, err := exec.Command("go", "tool", "covdata", "textfmt", "-i="+folder, "-o="+profile).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go tool covdata: %w: %s", err, said)
	}
	f, err := os.Open(profile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	hit := make(map[function]bool)
	// The line github.com/todo-mcp/todo-mcp/server/call.go:12.34,15.2 3 1 means that the block from line 12 to line 15,
	// with 3 statements, ran once.
	for lines := bufio.NewScanner(f); lines.Scan(); {
		path, block, ok := strings.Cut(lines.Text(), ".go:")
		path, ours := strings.CutPrefix(path, "github.com/todo-mcp/todo-mcp/")
		if !ok || !ours || strings.HasPrefix(path, "internal/cmd/") || strings.HasSuffix(block, " 0") {
			continue
		}
		first, _, _ := strings.Cut(block, ".")
		line, err := strconv.Atoi(first)
		if err != nil {
			return nil, fmt.Errorf("the profile of Go has the line %q", lines.Text())
		}
		found, err := p.at(path+".go", line)
		if err != nil {
			return nil, err
		}
		hit[found] = true
	}
	return hit, nil
}

// at returns the function at a line of a file. A function literal outside of every function counts as a function.
func (p *program) at(path string, line int) (function, error) {
	if p.files[path] == nil {
		read, err := extents(p.root, path)
		if err != nil {
			return function{}, err
		}
		p.files[path] = read
	}
	for _, e := range p.files[path] {
		if e.first <= line && line <= e.last {
			return e.function, nil
		}
	}
	return function{filepath.Dir(path), fmt.Sprintf("%s:%d", filepath.Base(path), line)}, nil
}

// extents returns the functions of a file and their lines.
func extents(root, path string) (all []extent, err error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, filepath.Join(root, path), nil, 0)
	if err != nil {
		return nil, err
	}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := f.Name.Name
		if f.Recv != nil {
			name = receiver(f.Recv.List[0].Type) + "." + name
		}
		all = append(all, extent{function{filepath.Dir(path), name}, files.Position(f.Pos()).Line, files.Position(f.End()).Line})
	}
	return all, nil
}

// receiver returns the name of a method's receiver type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}
