package todo

import "strings"

// This file says how the keys of conversations are spelled.

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
