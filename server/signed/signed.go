// Package signed signs texts that clients keep for the server, such as session ids and cookies: anybody can read
// them, and only the owner of the key can make them.
package signed

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/go-json-experiment/json"
)

// Key signs texts with the secret that it returns, of 32 bytes or more. It must be safe for concurrent use.
type Key func() []byte

const maxLength = 4096 // bytes of the longest text that Open reads

// Sign returns a value as a signed text of letters, digits, "-", "_" and a dot, which [Key.Open] accepts only for the
// same purpose. It panics if the value cannot be JSON.
func (k Key) Sign(purpose string, value any) string {
	data, err := json.Marshal(value) // "<" takes one byte here, but six in encoding/json
	if err != nil {
		panic(err)
	}
	payload := base64.RawURLEncoding.EncodeToString(data)
	return payload + "." + k.sum(purpose, payload)
}

// Open decodes a value, and reports whether [Key.Sign] returned its text for this purpose.
func (k Key) Open(purpose, text string, value any) bool {
	payload, sum, ok := strings.Cut(text, ".")
	if !ok || len(text) > maxLength || !hmac.Equal([]byte(sum), []byte(k.sum(purpose, payload))) {
		return false
	}
	data, err := base64.RawURLEncoding.DecodeString(payload)
	return err == nil && json.Unmarshal(data, value) == nil
}

func (k Key) sum(purpose, payload string) string {
	mac := hmac.New(sha256.New, k())
	mac.Write([]byte("todo-mcp " + purpose + "\x00" + payload))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:24])
}
