// Package chats has only tests: which list a call means, for the chats of many clients.
//
// Every test runs the real binary, on stdio or over HTTP, in each protocol, without access to
// its internals. The tests need Linux. The rules are in docs/spec/architecture.md, "Who is
// calling"; internal/board tests them (testdata/chats.txtar). The tests of this package are
// about clients and processes: how each client identifies its chats, what becomes of a list
// when a process is killed, and an ordinary day.
package chats
