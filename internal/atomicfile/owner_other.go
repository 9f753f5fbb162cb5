//go:build !unix

package atomicfile

import "os"

// chownLike does nothing: these systems have no Unix owner and group.
func chownLike(*os.File, os.FileInfo) error { return nil }
