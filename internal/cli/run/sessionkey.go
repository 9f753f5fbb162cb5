package run

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"todo-mcp/internal/cli/app"
)

// sessionKey returns the 32-byte or longer key that signs session ids. It is beside the
// lists, in a file or in the database that several servers share, and is made at first
// use, so that sessions survive a restart. For lists
// in memory, or when the file cannot be used, the key is new in each process.
func sessionKey(a *app.App) []byte {
	if a.SharedKey != nil {
		return a.SharedKey
	}
	key := newKey()
	place, err := a.Place()
	if err == nil && !place.Memory() {
		var stored []byte
		if stored, err = loadOrStoreKey(place.KeyFile(), key); err == nil {
			return stored
		}
	}
	if err != nil {
		fmt.Fprintln(a.Stderr, "todo-mcp: sessions will not outlive this process:", err)
	}
	return key
}

// readSharedKey reads the key of a database that several servers share. A server
// does that as it starts: one that came to make up a key, as the database did not
// answer just then, would not know the sessions of the others.
func readSharedKey(a *app.App) (err error) {
	if a.Sessions == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), sessionKeyTimeout)
	defer cancel()
	a.SharedKey, err = a.Sessions.SessionKey(ctx, newKey())
	return err
}

// sessionKeyTimeout bounds how long a database may take to return the key.
const sessionKeyTimeout = 10 * time.Second

func newKey() []byte {
	key := make([]byte, 32)
	rand.Read(key) //nolint:errcheck // never fails
	return key
}

// loadOrStoreKey returns the key in the file at path. If there is no file it
// writes key there and returns it. When several processes start at once, all
// return the key of the one that was first.
func loadOrStoreKey(path string, key []byte) ([]byte, error) {
	stored, err := loadKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return stored, err
	}
	if err := storeKey(path, key); !errors.Is(err, fs.ErrExist) {
		return key, err
	}
	return loadKey(path) // another process was first
}

func loadKey(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read session key: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(key) < 32 {
		return nil, fmt.Errorf("read session key: %s is damaged, delete it", path)
	}
	return key, nil
}

// storeKey writes a key to a file that does not exist yet; the error wraps
// [fs.ErrExist] when it does. The file has its name only once it is whole, and on
// the disk: nobody would replace an empty one that a power loss left.
func storeKey(path string, key []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make folder for session key: %w", err)
	}
	temporary := path + "." + hex.EncodeToString(key[:4])
	f, err := os.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write session key: %w", err)
	}
	defer os.Remove(temporary)
	_, err = f.WriteString(hex.EncodeToString(key) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write session key: %w", err)
	}
	if err := os.Link(temporary, path); err != nil {
		return fmt.Errorf("write session key: %w", err)
	}
	return nil
}
