package cli

import (
	"path/filepath"
	"strings"
)

// absolute returns the whole path of a folder that is perhaps told from the
// working directory.
func absolute(folder string) string {
	path, err := filepath.Abs(folder)
	if err != nil {
		return folder
	}
	return path
}

// isWithin reports whether a folder is another one or below it.
func isWithin(folder, above string) bool {
	rel, err := filepath.Rel(above, folder)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
