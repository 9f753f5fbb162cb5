package server

// Digest is the digest in the keys of conversations.
var Digest = digest
