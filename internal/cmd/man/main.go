// Command man writes manual pages (section 1) into a folder, from the command table.
//
//	man FOLDER
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra/doc"

	"github.com/todo-mcp/todo-mcp/internal/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: man FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(1)
	}
}

// write writes a page for the program and one for each command. Their date is SOURCE_DATE_EPOCH, so that a release can
// be built again with the same pages.
func write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	tree := cli.Tree(cli.Env{Getenv: os.Getenv})
	tree.DisableAutoGenTag = true
	return doc.GenManTree(tree, &doc.GenManHeader{Title: "TODO-MCP", Section: "1", Source: "todo-mcp"}, folder)
}
