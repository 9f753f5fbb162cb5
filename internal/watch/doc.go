// Package watch shows lists in a terminal while agents work on them, and lets a
// person edit them there.
//
// It guarantees five things. The screen shows the newest state received from the
// source, and shows when the source is lost. The cursor and what is around it
// stay where they are when agents write. However the viewer ends (a key, a
// signal, an error, a panic), it restores the terminal: screen, cursor and line
// mode. Every text of a list passes through [github.com/todo-mcp/todo-mcp/internal/render.Safe]
// before it reaches the terminal. And [Plain], for output that is not a terminal
// or a dumb one, writes a line for each event until the reader closes its end.
//
// The viewer may omit revisions that were replaced before they could be drawn
// (the history has them).
//
// tcell reads the keys and draws what changed.
//
// model is the state of viewer and [Plain] and does no input or output. The viewer leaves
// every change of it to one loop, which passes it keys and the time, carries out the effects
// that it collects, and draws it. [Plain] prints what its [Source] calls it with. A pane is
// rows with a cursor: the board and a list are panes. A page is a text that scrolls: the keys
// and a list's history are pages. bindings is the table of keys: keys are dispatched by it,
// and the last line and the page of keys are drawn from it.
package watch
