// Command types checks the types of a module and of its tests, as compilers for other systems do. It takes seconds
// where compiling takes minutes: it makes no code, and in other modules it checks only declarations.
//
//	types FOLDER [SYSTEM/PROCESSOR...]
//
// FOLDER is a module's folder, such as ../.. or . from internal/cmd. types prints all errors and, if any, exits with 1.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: types FOLDER [SYSTEM/PROCESSOR...]")
		os.Exit(2)
	}
	failed := false
	for _, target := range os.Args[2:] {
		checked, err := check(os.Args[1], target)
		if err != nil {
			failed = true
			fmt.Fprintf(os.Stderr, "%s: %v\n", target, err)
			continue
		}
		fmt.Printf("   %s: %d packages\n", target, checked)
	}
	if failed {
		os.Exit(1)
	}
}

// listed has the fields that go list prints of one package.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct {
		Main      bool
		GoVersion string
	}
	Error *struct{ Err string }
}

// check checks a module for a system and a processor, as in "linux/arm", and returns how many packages of the module it
// checked. A package that go list names again, built for a test, is counted again.
func check(folder, target string) (checked int, err error) {
	system, processor, ok := strings.Cut(target, "/")
	if !ok {
		return 0, errors.New("want SYSTEM/PROCESSOR")
	}
	cmd := exec.Command("go", "list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,ImportMap,Module,Error", "./...")
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	c := &checker{packages: map[string]*types.Package{"unsafe": types.Unsafe}, sizes: types.SizesFor("gc", processor)}
	for list := json.NewDecoder(out); ; {
		var p listed
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return 0, err
		}
		own := p.Module != nil && p.Module.Main
		if p.ImportPath == "unsafe" || own && strings.HasSuffix(p.ImportPath, ".test") { // go test generates x.test
			continue
		}
		if own {
			checked++
		}
		c.check(p, own)
	}
	return checked, errors.Join(append(c.wrong, cmd.Wait())...)
}

// checker checks packages one after the other, each after the packages that it imports.
type checker struct {
	packages map[string]*types.Package
	sizes    types.Sizes
	wrong    []error
}

func (c *checker) check(p listed, own bool) {
	if p.Error != nil {
		c.wrong = append(c.wrong, errors.New(p.Error.Err))
	}
	files, parsed := token.NewFileSet(), []*ast.File{}
	for _, name := range p.GoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			c.wrong = append(c.wrong, err)
			return
		}
		parsed = append(parsed, file)
	}
	config := types.Config{IgnoreFuncBodies: !own, Sizes: c.sizes, FakeImportC: true, Importer: importer{c.packages, p.ImportMap},
		Error: func(err error) { c.wrong = append(c.wrong, err) }}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	path, _, _ := strings.Cut(p.ImportPath, " ")                         // "x [x.test]" is the package x with its tests
	c.packages[p.ImportPath], _ = config.Check(path, files, parsed, nil) // config.Error keeps the errors
}

// importer finds packages that were checked before.
type importer struct {
	packages map[string]*types.Package
	names    map[string]string // a package's path in packages, by its path in imports if that differs
}

// Import implements types.Importer.
func (i importer) Import(path string) (*types.Package, error) {
	if name, other := i.names[path]; other {
		path = name
	}
	if p := i.packages[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not there", path)
}
