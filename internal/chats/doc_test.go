// Package chats holds tests alone: which list a call means, for the chats of many clients.
//
// Every test runs the real binary, on stdio or over HTTP, in each protocol, and knows nothing
// of what is inside. They need Linux. The rules are those of docs/spec/architecture.md, "Who is
// calling", which internal/board holds (testdata/chats.txt). Here is what is of a client and of
// a process: what each client tells of its chats, what becomes of a list when a process is
// killed, and the ordinary day.
package chats
