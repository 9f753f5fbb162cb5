-- Items that several revisions of a large list share: their bodies say how
-- they differ from them.
CREATE TABLE bases (
	id    INTEGER PRIMARY KEY AUTOINCREMENT,
	list  TEXT    NOT NULL,
	items TEXT    NOT NULL,                              -- record, JSON
	sum   INTEGER NOT NULL
);
CREATE INDEX bases_list ON bases (list);
-- sum is the checksum of what is in the row and not in the rows it refers to.
ALTER TABLE history ADD COLUMN base INTEGER NOT NULL DEFAULT 0;         -- 0: body has all items
ALTER TABLE history ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
CREATE INDEX history_base ON history (list, base) WHERE base > 0;
ALTER TABLE lists ADD COLUMN base INTEGER NOT NULL DEFAULT 0;           -- of the newest revision
ALTER TABLE lists ADD COLUMN drift INTEGER NOT NULL DEFAULT 0;          -- bytes of the differences to base so far
ALTER TABLE lists ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;        -- of the newest revision
ALTER TABLE lists ADD COLUMN conversation TEXT NOT NULL DEFAULT '';     -- began the list
ALTER TABLE lists ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;          -- by the store's clock, Unix nanoseconds
ALTER TABLE lists ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE bindings ADD COLUMN server TEXT NOT NULL DEFAULT '';        -- the process that was called last
ALTER TABLE bindings ADD COLUMN until INTEGER NOT NULL DEFAULT 0;       -- Unix nanoseconds; 0: while server is alive
ALTER TABLE bindings ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
UPDATE lists SET
	conversation = coalesce(CASE WHEN json_valid(meta) THEN coalesce(json_extract(meta, '$.conversation'), json_extract(meta, '$.scope.conversation')) END, ''),
	begun = coalesce(CASE WHEN json_valid(meta) THEN unixepoch(json_extract(meta, '$.created')) * 1000000000 END, 0);
CREATE INDEX lists_conversation ON lists (conversation, begun);
CREATE INDEX lists_abandoned ON lists (principal, updated) WHERE revision = 1;
CREATE INDEX lists_deleted ON lists (updated) WHERE deleted = 1;
UPDATE history SET sum = todo_sum(list, revision, operation, person, base, body);
UPDATE lists SET sum = todo_sum(id, principal, client, workspace, parent, parent_conversation, conversation, begun, meta);
UPDATE bindings SET sum = todo_sum(principal, conversation, list, seen, process, moved, at, server, until);
-- How many lists each principal has, apart from deleted ones.
CREATE TABLE list_counts (principal TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO list_counts SELECT principal, count(*) FROM lists GROUP BY principal;
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
