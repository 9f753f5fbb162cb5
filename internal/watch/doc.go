// Package watch shows lists in a terminal while agents work on them.
//
// It promises four things. What is on the screen is what the source said last,
// and a lost source is told, not hidden. However the viewer ends (a key, a
// signal, an error, a panic), the terminal is as it was before: screen, cursor
// and line mode. Nothing a list holds reaches the terminal unless
// [todo-mcp/internal/render.Safe] let it through. And where there is no
// terminal, or a dumb one, it writes plain lines until the reader goes away.
//
// It may drop what nobody could see: revisions that came and went between two
// drawings (the history has them), and lists that do not fit, which "+N more"
// tells.
//
// It draws by itself, line by line at absolute places: a viewer with a dozen
// keys needs no library for that, and a character whose width the terminal sees
// otherwise than we do spoils its own line only.
//
// model holds the state and does no input or output; [Run] feeds it keys, time
// and what the [Source] says.
package watch
