// Package chats holds tests alone: which list a call means, for the chats of many clients.
//
// Every test runs the real binary: a process of the client's own on stdio, a session
// over HTTP, or the protocol without sessions. Persons use the command line and the
// panel. The tests know nothing of what is inside. They need Linux.
//
// The rules are those of docs/spec/architecture.md, "Who is calling". The tests of
// internal/board hold them, for every kind of key and at any time of day
// (testdata/chats.txt), and those of server and tools what an agent is told. Here is what
// is of a client and of a process: what each client tells of its chats, what becomes of a
// list when a process is killed, and the ordinary day.
package chats
