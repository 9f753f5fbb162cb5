package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// countTree counts the lines, packages, bytes and words of a repository, under the names that testdata/ratchet.txt has.
func countTree(root string) (map[string]int, error) {
	files, err := files(root)
	if err != nil {
		return nil, err
	}
	counts, packages := make(map[string]int), make(map[string]bool)
	for _, file := range files {
		if ext := path.Ext(file); ext != ".go" && ext != ".md" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) {
			continue // removed, but still in the index of git
		} else if err != nil {
			return nil, err
		}
		lines, words := bytes.Count(text, []byte("\n")), len(bytes.Fields(text))
		folder := path.Dir(file)
		switch {
		case strings.HasSuffix(file, "_test.go"):
			counts["tests"] += lines
		case path.Ext(file) == ".go" && ships(folder):
			counts["go"] += lines
			packages[folder] = true
		case path.Ext(file) == ".go":
			counts["helpers"] += lines
		case file == "CHANGELOG.md":
			counts["changelog"] = lines
		case file == "README.md" || file == "CONTRIBUTING.md":
			counts["entrances"] += len(text)
		case strings.HasPrefix(file, "docs/"):
			counts["docs"] += len(text)
		}
		if folder == "docs/spec" {
			counts["spec"] += words
		}
		if file == "docs/spec/architecture.md" {
			counts["architecture"] = words
		}
	}
	counts["packages"] = len(packages)
	return counts, nil
}

// ships reports whether the code in a folder is part of the program. Other code is for tests (a folder whose name ends
// in "test", and internal/windows) or for developers (internal/cmd).
func ships(folder string) bool {
	return !strings.HasSuffix(folder, "test") && folder != "internal/windows" && !strings.HasPrefix(folder+"/", "internal/cmd/")
}

// files returns the paths of the files in a repository that git does not ignore. Without git it returns the paths of
// all files but those in node_modules and hidden folders.
func files(root string) (all []string, err error) {
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	if out, err := list.Output(); err == nil {
		return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), nil
	}
	err = filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != root && (strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules"):
			return filepath.SkipDir
		case e.Type().IsRegular():
			relative, err := filepath.Rel(root, name)
			all = append(all, filepath.ToSlash(relative))
			return err
		}
		return nil
	})
	return all, err
}
