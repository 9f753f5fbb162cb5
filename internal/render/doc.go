// Package render turns snapshots into text for people: a box for terminals,
// plain lines, Markdown, a status line, tables and the story of a change.
//
// It promises three things. Whatever a stored text holds, what is shown cannot
// control the terminal, reorder or hide other text, or break out of its line
// (see [Safe]); texts were cleaned on the way in, but nothing here relies on
// it. Columns and borders line up by display cells, also for CJK, emoji and
// combining marks. And every function is pure: the same snapshot, time and
// width give the same bytes, and an item with a status it does not know is
// shown as pending.
//
// It may drop the end of a text that has no room, which a "…" then tells.
//
// Widths are in display cells, with ambiguous characters one cell wide. Texts
// of several lines end in a line break, texts of one line do not.
//
// The package imports the standard library, internal/todo and displaywidth.
package render
