package todo

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// ChatKey returns the key of a chat by the host's own id of it.
func ChatKey(id string) string { return "chat:" + HostID(id) }

// AgentKey returns the key of a sub-agent by its main agent's key.
func AgentKey(main, agent string) string { return main + "/agent:" + HostID(agent) }

// AgentName returns the name of a sub-agent as lists have it.
func AgentName(agent string) string { return Cut(strings.ToValidUTF8(agent, "?"), 64) }

// HostID returns an id from a client unchanged if it has at most 128 bytes, all visible ASCII, else
// its digest.
func HostID(id string) string {
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

// The ids of chats begin with chatPrefix, or with severalPrefix if several chats may share the key.
const chatPrefix, severalPrefix = "chat-", "chats-"

// ChatID returns the id of the chat of a principal's user that was first known by a key: a digest. An
// id is returned unchanged.
func ChatID(principal, user, key string, isSeveral bool) string {
	if IsChatID(key) {
		return key
	}
	id := Digest(principal + "\x00" + user + "\x00" + key)
	if isSeveral {
		return severalPrefix + id
	}
	return chatPrefix + id
}

// IsChatID reports whether a key is an id of a chat. No key of a client begins so.
func IsChatID(key string) bool { return strings.HasPrefix(key, chatPrefix) || IsSeveral(key) }

// IsSeveral reports whether a chat's id is of a key that several chats may share.
func IsSeveral(id string) bool { return strings.HasPrefix(id, severalPrefix) }

// PersonChat stands for all people, as the chat that has seen a list and as the author of changes.
const PersonChat = "person"
