// Package chats holds tests alone: which list a call means, what may be in progress
// at a time, and what becomes of a person's edits, for the chats of many clients.
//
// Every test runs the real binary: a process of the client's own on stdio, a session
// over HTTP, or the protocol without sessions. Persons use the command line and the
// panel. The tests know nothing of what is inside. They need Linux.
//
// Comments cite the rules. Which list a call means ("lists"):
//
//  1. A conversation is certain when its key is proof, and for as long as a
//     connection lasts in which it has already written, unless its client puts
//     several chats into one connection.
//  2. There a whole-list write replaces the list held, and the answer names what it
//     dropped while open.
//  3. If the list held is settled, or the write has nothing in common with it, the
//     next list begins, and the earlier one is put away. A list with a name of its
//     own is always replaced in place.
//  4. Else a call goes on with an earlier list only if no live conversation holds it,
//     the host's ids of the chats do not differ, and the write has four fifths of its
//     items and at least two. The answer says so.
//  5. [] clears: every view of the chat shows an empty list. It is refused where
//     several chats with open lists could have sent it.
//  6. create_todos appends unless all is completed. A number means one step in a chat
//     for ever.
//  7. A front end that follows a list goes on with the next one of its chat.
//
// "One at a time": a call that puts an item in progress is refused if another one
// would be, unless a person or another conversation put that in progress.
//
// A person's hand ("hand"):
//
//  1. What a person changed is told whole, or so that copying what was told gives the
//     right item.
//  2. An agent's habit does not undo it: it is told again, at most three times.
//  3. What a person does is no sign that the agent works.
package chats
