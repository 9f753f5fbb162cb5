package run

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

// BAD-INPUT 67: the session key is made once, kept, and shared by who comes later;
// a place that cannot be read is said to be, left as it is, and not tried for ever.
func TestSessionKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "session.key")
	first, err := loadOrStoreKey(path)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := loadOrStoreKey(path); err != nil || !bytes.Equal(first, again) {
		t.Errorf("the second time: %x, %v", again, err)
	}
	file := func(text string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }
	}
	for name, c := range map[string]struct {
		make func(path string) error
		good bool
	}{
		"a folder":         {func(path string) error { return os.Mkdir(path, 0o700) }, false},
		"a dangling link":  {func(path string) error { return os.Symlink(path+"-nowhere", path) }, false},
		"empty":            {file(""), false},
		"short":            {file(strings.Repeat("ab", 31)), false},
		"no hexadecimal":   {file(strings.Repeat("zz", 32)), false},
		"a zero byte":      {file(" \x00"), false},
		"long, upper case": {file(strings.Repeat("AB", 40) + "\n"), true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "session.key")
			if err := c.make(path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(path)
			tried := make(chan error, 1)
			go func() {
				_, err := loadOrStoreKey(path)
				tried <- err
			}()
			select {
			case err := <-tried:
				if (err == nil) != c.good {
					t.Errorf("it says %v", err)
				}
				if err != nil {
					programtest.CheckPrintable(t, err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("it is tried for ever")
			}
			left, _ := filepath.Glob(path + ".*")
			if after, _ := os.ReadFile(path); left != nil || !bytes.Equal(before, after) {
				t.Errorf("left behind: %v, %q", left, after)
			}
		})
	}
}
