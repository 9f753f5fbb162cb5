package run

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BAD-INPUT 67: the session key is made once, kept, and shared by who comes later;
// a place that cannot be read is said to be, and not tried for ever.
func TestSessionKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "session.key")
	first, err := loadOrStoreKey(path, newKey())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := loadOrStoreKey(path, newKey()); err != nil || !bytes.Equal(first, again) {
		t.Errorf("the second time: %x, %v", again, err)
	}
	for name, spoil := range map[string]func(path string) error{
		"a folder":        func(path string) error { return os.Mkdir(path, 0o700) },
		"a dangling link": func(path string) error { return os.Symlink(path+"-nowhere", path) },
		"damaged":         func(path string) error { return os.WriteFile(path, []byte("short"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "session.key")
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			tried := make(chan error, 1)
			go func() {
				_, err := loadOrStoreKey(path, newKey())
				tried <- err
			}()
			select {
			case err := <-tried:
				if err == nil {
					t.Error("a key came of it")
				}
			case <-time.After(10 * time.Second):
				t.Fatal("it is tried for ever")
			}
			if left, _ := filepath.Glob(path + ".*"); left != nil {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
