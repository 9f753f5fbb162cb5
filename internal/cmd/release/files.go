package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// file is a file of an archive. Its name is the slash-separated path in the archive.
type file struct {
	name string
	data []byte
	// isProgram is whether the file is executable.
	isProgram bool
}

func (f file) mode() int64 {
	if f.isProgram {
		return 0o755
	}
	return 0o644
}

// modified returns the modification time of every file in an archive, the same that npm uses.
func modified() time.Time { return time.Date(1985, 10, 26, 8, 15, 0, 0, time.UTC) }

// read returns the file at a path in the repository, or the files of the folder at this path. In the archive their
// paths begin with into instead of from.
func (r release) read(from, into string) (files []file, err error) {
	from = filepath.Join(r.root, filepath.FromSlash(from))
	err = filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		below, relErr := filepath.Rel(from, name)
		files = append(files, file{name: path.Join(into, filepath.ToSlash(below)), data: data})
		return errors.Join(err, relErr)
	})
	return files, err
}

// license returns the file LICENSE and, if withBinary is true, the licences of the code in the binary.
func (r release) license(withBinary bool) ([]file, error) {
	files, err := r.read("LICENSE", "LICENSE")
	if err != nil || !withBinary {
		return files, err
	}
	others, err := r.read("LICENSES", "LICENSES")
	return append(files, others...), err
}

// binary returns the program that GoReleaser built for goos and goarch, as a file for an archive, where its path is
// name. GoReleaser writes it to the folder todo-mcp_GOOS_GOARCH with the processor's variant, and the universal program
// of macOS to todo-mcp-macos_darwin_all.
func (r release) binary(goos, goarch, name string) (file, error) {
	pattern := filepath.Join(r.dist, "todo-mcp*_"+goos+"_"+goarch+"*", path.Base(name))
	found, err := filepath.Glob(pattern)
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("%s: there are %d programs, and one is needed", pattern, len(found))
	}
	if err != nil {
		return file{}, err
	}
	data, err := os.ReadFile(found[0])
	return file{name, data, true}, err
}

// tarball returns a gzipped tar archive with files below a folder.
func tarball(folder string, files []file) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	t := tar.NewWriter(z)
	for _, f := range sorted(files) {
		header := tar.Header{Name: path.Join(folder, f.name), Mode: f.mode(), Size: int64(len(f.data)), ModTime: modified(), Format: tar.FormatUSTAR}
		if err := t.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.data); err != nil {
			return nil, err
		}
	}
	err = errors.Join(t.Close(), z.Close())
	return out.Bytes(), err
}

// zipped returns a zip archive with files, which keeps their executable bits.
func zipped(files []file) ([]byte, error) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, f := range sorted(files) {
		header := zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: modified()}
		header.SetMode(fs.FileMode(f.mode()))
		w, err := z.CreateHeader(&header)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return out.Bytes(), err
}

func sorted(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.name, b.name) })
}

// write writes a file below r.dist.
func (r release) write(name string, data []byte) error {
	name = filepath.Join(r.dist, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}
