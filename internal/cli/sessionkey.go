package cli

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// sessionKey returns the key that signs session ids: the user's secret, or one
// that is made when it is first needed and kept beside the lists, so that
// sessions outlive a restart.
func (a *app) sessionKey() []byte {
	if a.secret != "" {
		sum := sha256.Sum256([]byte(a.secret))
		return sum[:]
	}
	key := newKey()
	place, err := a.place()
	if err == nil && !place.Memory() {
		var kept []byte
		if kept, err = keepKey(place.KeyFile(), key); err == nil {
			return kept
		}
	}
	if err != nil {
		fmt.Fprintln(a.Stderr, "todo-mcp: sessions will not outlive this process:", err)
	}
	return key
}

func newKey() []byte {
	key := make([]byte, 32)
	rand.Read(key) //nolint:errcheck // never fails
	return key
}

// keepKey writes a key to a file that does not exist yet, and returns the key
// that is in the file then: of several processes that start at once, one wins.
func keepKey(path string, key []byte) ([]byte, error) {
	if data, err := os.ReadFile(path); err == nil {
		kept, err := hex.DecodeString(strings.TrimSpace(string(data)))
		if err != nil || len(kept) < 32 {
			return nil, fmt.Errorf("read session key: %s is damaged, delete it", path)
		}
		return kept, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make folder for session key: %w", err)
	}
	own := path + "." + hex.EncodeToString(key[:4])
	if err := os.WriteFile(own, []byte(hex.EncodeToString(key)+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write session key: %w", err)
	}
	defer os.Remove(own)
	if err := os.Link(own, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("write session key: %w", err)
	} else if err != nil {
		return keepKey(path, key)
	}
	return key, nil
}
