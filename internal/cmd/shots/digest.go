package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// digests is the file beside the pictures with the digests of their sources, see [drawnFrom].
const digests = "drawn-from.txt"

// drawnFrom returns a line for each kind of picture: the name of one such picture, and a digest of the kind's sources
// below root, the folder of the repository. The sources are the texts of [textsBelow]: a change of other code does not
// change a picture.
func drawnFrom(root string) (string, error) {
	var lines strings.Builder
	for _, p := range []struct {
		picture string
		folders []string
	}{
		{"card.png", []string{"server/card"}},
		{"list-history.png", []string{"server/panel", "server/card/palette.css"}},
		{"panel-light.png", []string{"server/panel", "server/card/palette.css"}},
		{"terminal.png", []string{"internal/watch"}},
	} {
		var texts []string
		for _, folder := range append(p.folders, "internal/cmd/shots") {
			more, err := textsBelow(filepath.Join(root, filepath.FromSlash(folder)))
			if err != nil {
				return "", err
			}
			texts = append(texts, more...)
		}
		slices.Sort(texts) // so that moved code changes nothing
		fmt.Fprintf(&lines, "%s %x\n", p.picture, sha256.Sum256([]byte(strings.Join(slices.Compact(texts), "\x00"))))
	}
	return lines.String(), nil
}

// textsBelow returns the style sheets, pages, SVG images, card.js and Go string literals of a folder or file.
func textsBelow(path string) (texts []string, err error) {
	err = filepath.WalkDir(path, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			if err == nil && e.Name() == "testdata" {
				return filepath.SkipDir
			}
			return err
		}
		data, err := os.ReadFile(path)
		switch name := e.Name(); {
		case err != nil || strings.HasSuffix(name, "_test.go"):
		case slices.Contains([]string{".css", ".html", ".svg"}, filepath.Ext(name)), name == "card.js":
			texts = append(texts, string(bytes.TrimSpace(data)))
		case filepath.Ext(name) == ".go":
			file, parseErr := parser.ParseFile(token.NewFileSet(), path, data, parser.SkipObjectResolution)
			if parseErr != nil {
				return parseErr
			}
			file.Imports, file.Decls = nil, slices.DeleteFunc(file.Decls, isImport)
			ast.Inspect(file, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
					texts = append(texts, text.Value)
				}
				return true
			})
		}
		return err
	})
	return texts, err
}

func isImport(d ast.Decl) bool {
	g, ok := d.(*ast.GenDecl)
	return ok && g.Tok == token.IMPORT
}
