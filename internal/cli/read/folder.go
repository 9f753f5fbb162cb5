package read

import (
	"path/filepath"
	"strings"
)

// isWithin reports whether a folder is another one or below it.
func isWithin(folder, above string) bool {
	rel, err := filepath.Rel(above, folder)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
