package run

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/cli/clitest"
)

// A session key's file has a key of 32 bytes or more, or is said to be damaged; it
// is left as it is.
func FuzzSessionKey(f *testing.F) {
	for _, text := range []string{"", strings.Repeat("ab", 32), strings.Repeat("AB", 40) + "\n", strings.Repeat("ab", 31), strings.Repeat("zz", 32), " \x00"} {
		f.Add([]byte(text))
	}
	path := filepath.Join(f.TempDir(), "session.key")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		key, err := loadOrStoreKey(path, bytes.Repeat([]byte("n"), 32))
		if err != nil {
			if clitest.CheckPrintable(t, err); !strings.Contains(err.Error(), "damaged") {
				t.Fatal(err)
			}
		} else if len(key) < 32 || bytes.Equal(key, bytes.Repeat([]byte("n"), 32)) && !bytes.Contains(text, []byte("6e6e")) && !bytes.Contains(text, []byte("6E6E")) {
			t.Fatalf("key %x of %q", key, text)
		}
		left, err := os.ReadFile(path)
		if diff := cmp.Diff(text, left); err != nil || diff != "" && len(text)+len(left) > 0 {
			t.Fatalf("%v %s", err, diff)
		}
	})
}
