CREATE TABLE history (
	seq       INTEGER PRIMARY KEY,                -- the order of commits
	list      TEXT    NOT NULL,
	revision  INTEGER NOT NULL,
	operation TEXT    NOT NULL,                   -- id of the write
	updated   INTEGER NOT NULL,                   -- Unix nanoseconds
	body      TEXT    NOT NULL,                   -- record, JSON
	sum       INTEGER NOT NULL,                   -- of what is in the row, as in each table
	UNIQUE (list, revision)
);
CREATE UNIQUE INDEX history_operation ON history (operation) WHERE operation <> '';
-- The largest seq of what was removed: none is given again. AUTOINCREMENT would write that with
-- each save.
CREATE TABLE removed (seq INTEGER NOT NULL);
INSERT INTO removed VALUES (0);
CREATE TRIGGER history_removed AFTER DELETE ON history WHEN old.seq > (SELECT coalesce(max(seq), 0) FROM history) BEGIN
	UPDATE removed SET seq = max(seq, old.seq);
END;
CREATE TABLE lists (
	id                  TEXT    PRIMARY KEY,
	principal           TEXT    NOT NULL,
	client              TEXT    NOT NULL,
	workspace           TEXT    NOT NULL,
	parent              TEXT    NOT NULL,  -- of a list without parent_conversation
	parent_conversation TEXT    NOT NULL,  -- the chat whose current list of the kind is the parent
	mirrored            INTEGER NOT NULL,  -- the kind: 1 where it mirrors one of its host's own
	conversation        TEXT    NOT NULL,  -- began the list
	begun               INTEGER NOT NULL,  -- by the store's clock, Unix nanoseconds
	meta                TEXT    NOT NULL,  -- todo.List, JSON, as it began
	sum                 INTEGER NOT NULL,
	revision            INTEGER NOT NULL,  -- the newest, and of it:
	seq                 INTEGER NOT NULL REFERENCES history (seq),
	updated             INTEGER NOT NULL,  -- Unix nanoseconds
	deleted             INTEGER NOT NULL,
	bytes               INTEGER NOT NULL,  -- the size of the bodies of its revisions
	spare               INTEGER NOT NULL,  -- why it may make room (todo.Spare); 0: it may not
	excerpt             TEXT    NOT NULL   -- record of todo.Snapshot.Excerpt, JSON
) WITHOUT ROWID;
CREATE INDEX lists_seq ON lists (seq);
CREATE INDEX lists_principal ON lists (principal, seq);
CREATE INDEX lists_workspace ON lists (workspace, seq);
CREATE INDEX lists_parent ON lists (parent) WHERE parent <> '';
CREATE INDEX lists_parent_conversation ON lists (parent_conversation) WHERE parent_conversation <> '';
CREATE INDEX lists_conversation ON lists (conversation, begun);
CREATE INDEX lists_spare ON lists (principal, spare, updated) WHERE spare > 0;
CREATE INDEX lists_deleted ON lists (updated) WHERE deleted;
-- What each chat has seen of which lists (board.Seen).
CREATE TABLE seen (
	principal TEXT    NOT NULL,
	chat      TEXT    NOT NULL,
	mirrors   INTEGER NOT NULL,  -- 1: in a todo tool of its host's own
	list      TEXT    NOT NULL,
	revision  INTEGER NOT NULL,  -- the newest shown to its agent
	process   TEXT    NOT NULL,  -- by which it was shown that
	held      INTEGER NOT NULL,  -- orders a chat's rows by when they became current; 0: never
	current   INTEGER NOT NULL,  -- 1: its current list
	at        INTEGER NOT NULL,  -- of the last use, Unix nanoseconds
	sum       INTEGER NOT NULL,
	PRIMARY KEY (principal, chat, mirrors, list)
) WITHOUT ROWID;
CREATE INDEX seen_list ON seen (list, principal);
CREATE INDEX seen_at ON seen (at);
CREATE INDEX seen_current ON seen (principal, chat, mirrors) WHERE current;
-- Which list has a name that a user gave.
CREATE TABLE names (
	principal TEXT NOT NULL,
	name      TEXT NOT NULL,
	list      TEXT NOT NULL,
	PRIMARY KEY (principal, name)
) WITHOUT ROWID;
CREATE INDEX names_list ON names (list);
-- What agents and their users do together (todo.Chat). Its seq is of the same order as that of
-- history.
CREATE TABLE chats (
	id        TEXT    PRIMARY KEY,
	principal TEXT    NOT NULL,
	member    TEXT    NOT NULL,  -- todo.Chat.User
	used      INTEGER NOT NULL,  -- Unix nanoseconds
	ended     INTEGER NOT NULL,  -- Unix nanoseconds; 0: it goes on
	body      TEXT    NOT NULL,  -- record, JSON
	sum       INTEGER NOT NULL,
	seq       INTEGER NOT NULL,
	held      INTEGER NOT NULL DEFAULT 0 -- 1: it held a list
) WITHOUT ROWID;
CREATE UNIQUE INDEX chats_seq ON chats (seq);
CREATE INDEX chats_member ON chats (principal, member, used);
CREATE INDEX chats_bare ON chats (principal, member, used) WHERE NOT held;
CREATE INDEX chats_used ON chats (used);
CREATE INDEX chats_over ON chats (ended) WHERE ended > 0 AND NOT held;
CREATE TRIGGER chats_removed AFTER DELETE ON chats WHEN old.seq > (SELECT coalesce(max(seq), 0) FROM chats) BEGIN
	UPDATE removed SET seq = max(seq, old.seq);
END;
-- To which chat a key leads whose digest is not the chat's id, or when a notice was
-- given (board.ChatKey).
CREATE TABLE keys (
	principal TEXT    NOT NULL,
	member    TEXT    NOT NULL,
	kind      TEXT    NOT NULL,
	text      TEXT    NOT NULL,
	chat      TEXT    NOT NULL,
	until     INTEGER NOT NULL,  -- Unix nanoseconds
	PRIMARY KEY (principal, member, kind, text)
) WITHOUT ROWID;
CREATE INDEX keys_until ON keys (until);
-- The key that signs the ids of sessions; NULL until the first.
CREATE TABLE store (session_key BLOB);
INSERT INTO store VALUES (NULL);
-- How many lists each principal has, apart from deleted ones.
CREATE TABLE list_counts (principal TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
CREATE TRIGGER lists_begun AFTER INSERT ON lists WHEN NOT new.deleted BEGIN
	INSERT INTO list_counts VALUES (new.principal, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER lists_gone AFTER DELETE ON lists WHEN NOT old.deleted BEGIN
	UPDATE list_counts SET n = n - 1 WHERE principal = old.principal;
END;
CREATE TRIGGER lists_moved AFTER UPDATE OF deleted ON lists WHEN new.deleted <> old.deleted BEGIN
	INSERT INTO list_counts VALUES (new.principal, 0) ON CONFLICT DO NOTHING;
	UPDATE list_counts SET n = n + old.deleted - new.deleted WHERE principal = new.principal;
END;
