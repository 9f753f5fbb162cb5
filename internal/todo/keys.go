package todo

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// This file says how the keys of conversations are spelled.

// ChatKey returns the key of a chat by the host's own id for it, as hooks, the
// environment and status lines tell it.
func ChatKey(id string) string { return chatKind + opaque(id) }

const chatKind = "chat:"

// IsChatKey reports whether a key is one that [ChatKey] returns.
func IsChatKey(key string) bool { return strings.HasPrefix(key, chatKind) }

// FieldKey returns the key of a chat by the id that a client sends in a field of _meta.
func FieldKey(field, id string) string { return "conversation:" + field + ":" + opaque(id) }

// MirrorKey returns the key under which a chat has the list that mirrors its host's
// own todo list: a chat may use both tools.
func MirrorKey(id string) string { return "mirror:" + opaque(id) }

// AgentKey returns the key of a sub-agent by its main agent's key.
func AgentKey(main, agent string) string { return main + "/agent:" + opaque(agent) }

// AgentName returns the name of a sub-agent as lists have it.
func AgentName(agent string) string { return Cut(strings.ToValidUTF8(agent, "?"), 64) }

// ChatID returns what conversations and lists have as the host's id of a chat.
func ChatID(id string) string { return opaque(id) }

// opaque returns an id from a client in a form that fits into a key: unchanged
// if it has at most 128 bytes, all visible ASCII, else its digest.
func opaque(id string) string {
	if len(id) <= 128 && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return id
	}
	return Digest(id)
}

// Digest returns half of the text's SHA-256 in hexadecimal, 32 characters.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// NameKey returns the key whose cursor says which list has a name.
func NameKey(name string) string { return "name:" + name }

// SharedKey returns the key of a conversation that several chats may be at the same
// time.
func SharedKey(key string) string { return sharedKind + key }

const sharedKind = "shared:"

// IsSharedKey reports whether a key is one that [SharedKey] returns.
func IsSharedKey(key string) bool { return strings.HasPrefix(key, sharedKind) }

// PersonKey is whose cursors say that a person looked at a list.
const PersonKey = "person"
