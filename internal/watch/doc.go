// Package watch shows lists in a terminal while agents work on them.
//
// It guarantees four things. The screen shows the newest state received from the
// source, and shows when the source is lost. However the viewer ends (a key, a
// signal, an error, a panic), it restores the terminal: screen, cursor and line
// mode. Every text of a list passes through [todo-mcp/internal/render.Safe]
// before it reaches the terminal. And [Plain], for output that is not a terminal
// or a dumb one, writes plain lines until the reader closes its end.
//
// The viewer may omit revisions that were replaced before they could be drawn
// (the history has them), and lists that do not fit, which "+N more" counts.
//
// It draws without a library, line by line at absolute positions. If a terminal
// shows a character in another width than computed, only that line is spoiled.
//
// model is the state of the viewer and does no input or output; [Run] passes it
// keys, the time and what it receives from the [Source].
package watch
