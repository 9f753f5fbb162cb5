package todo

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// This file says how the keys of conversations are spelled.

// ChatKey returns the key of a chat by the host's own id for it, as hooks, the environment,
// status lines and fields of _meta tell it.
func ChatKey(id string) string { return "chat:" + HostID(id) }

// AgentKey returns the key of a sub-agent by its main agent's key.
func AgentKey(main, agent string) string { return main + "/agent:" + HostID(agent) }

// AgentName returns the name of a sub-agent as lists have it.
func AgentName(agent string) string { return Cut(strings.ToValidUTF8(agent, "?"), 64) }

// HostID returns an id from a client as chats, lists and keys have it: unchanged if it has at
// most 128 bytes, all visible ASCII, else its digest.
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

// The ids of chats begin with chatPrefix, or with severalPrefix where a key may be several chats
// at the same time: who reads lists has no call to ask.
const chatPrefix, severalPrefix = "chat-", "chats-"

// ChatID returns the id of the chat of a principal's user that is first known by a key, of any
// size. An id stays as it is.
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

// IsChatID reports whether a key is an id of a chat. The keys of clients all begin otherwise.
func IsChatID(key string) bool { return strings.HasPrefix(key, chatPrefix) || IsSeveral(key) }

// IsSeveral reports whether a chat's id is one of what may be several chats.
func IsSeveral(id string) bool { return strings.HasPrefix(id, severalPrefix) }

// PersonChat is the one chat that stands for all people: what any of them has seen, it has
// seen, and what any of them changes has it as its author.
const PersonChat = "person"
