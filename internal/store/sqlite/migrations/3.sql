-- Which conversations hold which lists, and what they have seen of them.
CREATE TABLE bindings (
	principal    TEXT    NOT NULL,
	conversation TEXT    NOT NULL,
	list         TEXT    NOT NULL,  -- '' when the conversation let go of its list
	seen         INTEGER NOT NULL,  -- the newest revision shown to its agent
	process      TEXT    NOT NULL,  -- '' when it can outlive a process
	moved        INTEGER NOT NULL,  -- of a conversation's rows the largest is the list it holds
	at           INTEGER NOT NULL,  -- of the last use, Unix nanoseconds
	PRIMARY KEY (principal, conversation, list)
) WITHOUT ROWID;
CREATE INDEX bindings_list ON bindings (list, principal);
CREATE INDEX bindings_at ON bindings (at);
-- What hooks of hosts said about calls before these arrived.
CREATE TABLE host_calls (
	principal TEXT    NOT NULL,
	id        TEXT    NOT NULL,
	session   TEXT    NOT NULL,
	agent     TEXT    NOT NULL,
	folder    TEXT    NOT NULL,
	at        INTEGER NOT NULL,     -- Unix nanoseconds
	PRIMARY KEY (principal, id)
) WITHOUT ROWID;
CREATE INDEX host_calls_at ON host_calls (at);
-- A list belonged to a scope until version 2. Its conversation becomes the
-- holder of the list, and has seen the newest revision that no person wrote.
INSERT INTO bindings (principal, conversation, list, seen, process, moved, at)
	SELECT principal, json_extract(meta, '$.scope.conversation'), id, coalesce((
		SELECT max(revision) FROM history
		WHERE list = lists.id AND json_extract(body, '$.writer.person') IS NOT 1), 0),
		-- A key that chats shared is that of a process that has ended.
		iif(json_extract(meta, '$.scope.exclusive') IS 1, '', 'version 2'), seq, updated
	FROM lists WHERE json_extract(meta, '$.scope.conversation') <> '';
CREATE TABLE new_lists (
	id                  TEXT    PRIMARY KEY,
	principal           TEXT    NOT NULL,
	client              TEXT    NOT NULL,
	workspace           TEXT    NOT NULL,
	parent              TEXT    NOT NULL,  -- of a list without parent_conversation
	parent_conversation TEXT    NOT NULL,  -- the parent is the list that it holds
	meta                TEXT    NOT NULL,  -- todo.List, JSON, as it began
	revision            INTEGER NOT NULL,  -- the newest
	seq                 INTEGER NOT NULL REFERENCES history (seq),
	updated             INTEGER NOT NULL   -- of the newest, Unix nanoseconds
) WITHOUT ROWID;
INSERT INTO new_lists (id, principal, client, workspace, parent, parent_conversation, meta, revision, seq, updated)
	SELECT id, principal, first.client, coalesce(json_extract(meta, '$.workspace'), ''), parent, '',
		json_set(meta, '$.client', first.client), lists.revision, lists.seq, updated
	FROM lists JOIN (
		SELECT list, coalesce(json_extract(body, '$.writer.client'), '') AS client, min(revision) FROM history GROUP BY list
	) AS first ON first.list = lists.id;
DROP TABLE lists;
ALTER TABLE new_lists RENAME TO lists;
CREATE INDEX lists_seq ON lists (seq);
CREATE INDEX lists_principal ON lists (principal, seq);
CREATE INDEX lists_workspace ON lists (workspace, seq);
CREATE INDEX lists_parent ON lists (parent) WHERE parent <> '';
CREATE INDEX lists_parent_conversation ON lists (parent_conversation) WHERE parent_conversation <> '';
CREATE INDEX lists_updated ON lists (updated);
